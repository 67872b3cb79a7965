import { compute } from '../api/compute.ts';
import { storage } from '../api/storage.ts';
import type { Context, GlobalValues, Voice } from '../cli/command.ts';
import { pickSettings } from '../cli/globals.ts';
import { findPaths } from '../config/paths.ts';
import { openProfiles, type Profile } from '../config/profiles.ts';
import type { Entry } from '../config/journal.ts';
import { openState } from '../config/state.ts';
import { locateFiles, resolveIdentity, resolveSettings, type SettingInputs, type Sources } from '../config/settings.ts';
import { explainMissing } from './endpoints.ts';
import { createConnections } from './connect.ts';
import type { SigningOptions } from './sign.ts';
import { createNotices } from './voice.ts';
import { lazily } from '../base/lazily.ts';
import { writeNote, type NoteKind } from '../output/notes.ts';
import { describeUnused, type World } from '../base/world.ts';

/** Unused folders that were already reported; a command may work with several profiles. */
const refused = new WeakMap<World, Set<string>>();

/** Warns once that a folder is not used. */
function refuseFolder(world: World, name: string, problem: string, asJson: boolean): void {
  const told = refused.get(world) ?? new Set(world.cacheProblem === undefined ? [] : ['cache']);
  refused.set(world, told);
  if (!told.has(name)) writeNote(world.stderr, 'warning', describeUnused(name, problem), asJson);
  told.add(name);
}

/** The settings on the command line that do not identify a service or user. */
function pickRequestLimits({ timeout, maxTime, retries }: SettingInputs['options']): SettingInputs['options'] {
  return {
    ...(timeout !== undefined && { timeout }),
    ...(maxTime !== undefined && { maxTime }),
    ...(retries !== undefined && { retries }),
  };
}

/** The profile that the user chose, or the current one. */
function readChosen(profiles: Context['profiles'], chosen: string | undefined): Profile | undefined {
  const name = chosen === undefined || chosen === '' ? profiles.current() : chosen;
  return name === undefined ? undefined : profiles.read(name);
}

/** How a command reports on stderr. */
export interface Reporting {
  readonly fail: Context['fail'];
  /** Print notes as JSON lines, as errors are. */
  readonly notesAsJson: boolean;
}

/** Inputs of a context that replace those of the command line. */
interface Given {
  readonly profile?: Profile | undefined;
  /** Ignore all other settings of service and user. */
  readonly isAlone?: boolean;
  /** Options and environment variables of an earlier run. */
  readonly options?: SettingInputs['options'];
  readonly env?: SettingInputs['env'];
  /** The journal entry that is resumed. */
  readonly resumed?: Entry;
}

/** Creates the context of a command from the process and the global options, and a function that releases it. */
export function createContext(
  world: World,
  globals: Readonly<Record<string, unknown>>,
  reporting: Reporting,
  given: Given = {},
  signers: SigningOptions['signers'] = new Map(),
): { context: Context; close: () => void } {
  const paths = findPaths(world.env, world.home);
  const global = globals as unknown as GlobalValues;
  const { fail, notesAsJson } = reporting;
  const write = (kind: NoteKind) => (message: string) => writeNote(world.stderr, kind, message, notesAsJson);
  const refuse = (name: string) => (problem: string) => refuseFolder(world, name, problem, notesAsJson);
  const voice: Voice = { say: (message, kind = 'note') => write(kind)(message), retried: 0 };
  const profiles = openProfiles(paths.config, refuse('configuration'));
  const state = openState(paths.state, refuse('state folder'));

  const inputs = lazily((): SettingInputs => {
    const options = pickSettings(globals);
    if (given.isAlone === true)
      return {
        options: { ...given.options, ...(given.resumed ? options : pickRequestLimits(options)) },
        env: given.env ?? {},
        profile: given.profile,
      };
    return { options, env: world.env, profile: given.profile ?? readChosen(profiles, options.profile ?? world.env['CLOUD_PROFILE']) };
  });
  const settings = lazily((): Sources =>
    locateFiles(resolveSettings(inputs()), { home: world.home, cwd: world.cwd, profiles: `${paths.config}/profiles` }),
  );
  const identity = lazily(() => resolveIdentity(inputs()));
  const connections = createConnections({
    world,
    paths,
    state,
    refuseCache: refuse('cache'),
    settings,
    signer: () => identity().signer,
    signers,
    verbose: global.verbose,
    curl: global.curl,
    warn: write('warning'),
    trace: write('trace'),
    notices: createNotices(voice, { now: world.now, isSilent: global.quiet || global.verbose > 0 }),
  });
  const computeClient = lazily(() => connections.client(compute, 'compute'));
  const storageClient = lazily(() => connections.client(storage, 'storage'));

  const journal = lazily(async () => {
    const [{ openJournal }, { describeConnection }] = await Promise.all([import('../config/journal.ts'), import('./resumed.ts')]);
    return openJournal({
      state,
      pid: world.pid,
      now: world.now,
      cwd: () => world.cwd,
      connection: () => describeConnection(inputs(), settings(), { account: context.account, cwd: world.cwd }),
      resumed: given.resumed,
    });
  });

  const others: (() => void)[] = [];
  function createOther(...[otherWorld, otherGlobals, otherGiven]: [World, Readonly<Record<string, unknown>>, Given]): Context {
    const other = createContext(otherWorld, otherGlobals, reporting, otherGiven, signers);
    others.push(other.close);
    return other.context;
  }
  const context: Context = {
    world,
    paths,
    profiles,
    state,
    settings,
    settingGiven: (name) => pickSettings(globals)[name],
    global,
    get compute() {
      return computeClient();
    },
    get storage() {
      return storageClient();
    },
    bulk: (most) => connections.client(storage, 'storage', most),
    forward: connections.forward,
    presign: connections.presign,
    inspectUrl: async (question) => (await import('./inspect-url.ts')).inspectUrl(question, { world, paths, settings }),
    remember: connections.remember,
    get account() {
      const target = identity().target;
      if (target === undefined) throw explainMissing(settings(), 'account', 'account');
      return target;
    },
    withProfile: (profile, chosen) => createOther(world, globals, { profile, isAlone: chosen?.isAlone ?? false }),
    withUrl: (url) => createOther(world, { ...globals, url }, { ...given, options: { ...given.options, url } }),
    journal,
    resumed: given.resumed,
    goOn: async ({ connection, cwd }, resumed) => {
      const { findProfile } = await import('./resumed.ts');
      const { options, env } = connection;
      const there = Object.create(world, { cwd: { value: cwd } }) as World;
      const shown = { ...globals, output: undefined, json: false, jq: undefined };
      return createOther(there, shown, { profile: findProfile(profiles, connection), options, env, isAlone: true, resumed });
    },
    refine: async (error) => {
      const { explainRefusal, nameNearestDirectory } = await import('./explain.ts');
      return await nameNearestDirectory(explainRefusal(error, context), context);
    },
    localKeys: async () => {
      const { listLocalKeys } = await import('../auth/local-keys.ts');
      return await listLocalKeys({ agentSocket: world.env['SSH_AUTH_SOCK'], sshDir: paths.ssh, keyFile: settings().keyFile?.value });
    },
    makeKey: async (wish) => (await import('../auth/make-key.ts')).makeKeyFiles(wish),
    listKeyNames: async (values) => {
      const { listKeyNames } = await import('../auth/local-keys.ts');
      return await listKeyNames(values, context.localKeys);
    },
    voice,
    note: (message) => {
      if (!global.quiet) voice.say(message);
    },
    warn: (message) => voice.say(message, 'warning'),
    fail,
  };
  const close = (): void => [connections.close, ...others].forEach((each) => each());
  return { context, close };
}
