import { viewAgent as viewAgentAt } from '../auth/find.ts';
import { compute } from '../api/compute.ts';
import { storage } from '../api/storage.ts';
import type { Context, GlobalValues, Voice } from '../cli/command.ts';
import { pickSettings } from '../cli/globals.ts';
import { findPaths, type Paths } from '../config/paths.ts';
import { collectInputs, openProfiles, type Profile } from '../config/profiles.ts';
import type { Entry } from '../config/journal-entry.ts';
import type { Journal } from '../config/journal.ts';
import { openState } from '../config/state.ts';
import { locateFiles, pickPreferences, resolveIdentity, resolveSettings, type SettingInputs, type Sources } from '../config/settings.ts';
import { createUnsetError } from './endpoints.ts';
import { createConnections } from './connect.ts';
import type { SigningOptions } from './sign.ts';
import { createNotices } from './voice.ts';
import { quietly } from '../base/errors.ts';
import { lazily } from '../base/lazily.ts';
import { writeNote, type NoteKind } from '../output/notes.ts';
import { describeUnused, type World } from '../base/world.ts';

/** Unused folders that were already reported; a command may work with several profiles. */
const refused = new WeakMap<World, Set<string>>();

/** Warns once that a folder is not used. */
function reportUnusedFolder(world: World, name: string, problem: string, asJson: boolean): void {
  const told = refused.get(world) ?? new Set(world.cacheProblem === undefined ? [] : ['cache']);
  refused.set(world, told);
  if (!told.has(name)) writeNote(world.stderr, 'warning', describeUnused(name, problem), asJson);
  told.add(name);
}

/** How a command reports on stderr. */
export interface Reporting {
  readonly fail: Context['fail'];
  /** Print notes as JSON lines, as errors are. */
  readonly notesAsJson: boolean;
  /** True if `--glob` would make brackets and braces in the command's paths a pattern. */
  readonly canGlob: boolean;
}

/** The values of the global options, by name. */
type Globals = Readonly<Record<string, unknown>>;

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

/** Where the settings come from. */
function chooseInputs(profiles: Context['profiles'], { env }: World, globals: Globals, given: Given): SettingInputs {
  const { profile } = given;
  const options = pickSettings(globals);
  if (given.isAlone === true) {
    const added = given.resumed ? options : pickPreferences(options);
    const source = given.env === undefined ? { env, isNamed: true } : { env: given.env };
    return { options: { ...given.options, ...added }, ...source, profile };
  }
  return profile === undefined ? collectInputs(profiles, { options, env }) : { options, env, profile, isNamed: true };
}

/** The journal of unfinished work, with the settings that its resumption needs. */
async function openJournalOf(context: Context, inputs: () => SettingInputs): Promise<Journal> {
  const { world, state, settings, resumed } = context;
  // Work whose paths are all whole needs no current directory.
  const cwd = (): string => quietly(() => world.cwd, '/');
  const [{ openJournal }, { describeConnection }] = await Promise.all([import('../config/journal.ts'), import('./resumed.ts')]);
  return openJournal({
    state,
    pid: world.pid,
    now: world.now,
    cwd,
    connection: () => describeConnection(inputs(), settings(), { account: context.account, cwd: cwd() }),
    resumed,
  });
}

/** The functions of a context for the keys of this machine. */
function createKeyFunctions({ env }: World, paths: Paths, settings: () => Sources) {
  const viewAgent: Context['viewAgent'] = lazily(() => viewAgentAt(env['SSH_AUTH_SOCK']));
  const localKeys: Context['localKeys'] = async (onProblem) => {
    const { listLocalKeys } = await import('../auth/local-keys.ts');
    const places = { agentSocket: env['SSH_AUTH_SOCK'], sshDir: paths.ssh, keyFile: settings().keyFile?.value };
    return await listLocalKeys(places, onProblem, viewAgent());
  };
  const makeKey: Context['makeKey'] = async (wish) => (await import('../auth/make-key.ts')).makeKeyFiles(wish);
  const listKeyNames: Context['listKeyNames'] = async (values) => (await import('../auth/local-keys.ts')).listKeyNames(values, localKeys);
  return { localKeys, viewAgent, makeKey, listKeyNames };
}

/** The functions of a context that create another one with other settings. */
function createSwitches(
  world: World,
  globals: Globals,
  given: Given,
  profiles: Context['profiles'],
  create: (world: World, globals: Globals, given: Given) => Context,
): Pick<Context, 'withProfile' | 'withOption' | 'goOn'> {
  return {
    withProfile: (profile, chosen) => create(world, globals, { profile, isAlone: chosen?.isAlone ?? false }),
    withOption: (name, value) => create(world, { ...globals, [name]: value }, { ...given, options: { ...given.options, [name]: value } }),
    goOn: async ({ connection, cwd }, resumed) => {
      const { findProfile } = await import('./resumed.ts');
      const { options, env } = connection;
      const there = Object.create(world, { cwd: { value: cwd } }) as World;
      const shown = { ...globals, output: undefined, json: false, jq: undefined };
      return create(there, shown, { profile: findProfile(profiles, connection), options, env, isAlone: true, resumed });
    },
  };
}

/** Creates the context of a command from the process and the global options, and a function that releases it. */
export function createContext(
  world: World,
  globals: Globals,
  reporting: Reporting,
  given: Given = {},
  signers: SigningOptions['signers'] = new Map(),
): { context: Context; close: () => void } {
  const paths = findPaths(world.env, world.home);
  const global = globals as unknown as GlobalValues;
  const { fail, notesAsJson, canGlob } = reporting;
  const write = (kind: NoteKind) => (message: string) => writeNote(world.stderr, kind, message, notesAsJson);
  const reportUnused = (name: string) => (problem: string) => reportUnusedFolder(world, name, problem, notesAsJson);
  const voice: Voice = { say: (message, kind = 'note') => write(kind)(message), retried: 0, isJson: notesAsJson };
  const profiles = openProfiles(paths.config, reportUnused('configuration'));
  const state = openState(paths.state, reportUnused('state folder'));

  const inputs = lazily(() => chooseInputs(profiles, world, globals, given));
  const settings = lazily((): Sources =>
    locateFiles(resolveSettings(inputs()), { home: world.home, cwd: () => world.cwd, profiles: `${paths.config}/profiles` }),
  );
  const identity = lazily(() => resolveIdentity(inputs()));
  const connections = createConnections({
    world,
    paths,
    state,
    reportUnusedCache: reportUnused('cache'),
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

  const others: (() => void)[] = [];
  const switches = createSwitches(world, globals, given, profiles, (there, shown, changed) => {
    const other = createContext(there, shown, reporting, changed, signers);
    others.push(other.close);
    return other.context;
  });
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
      if (target === undefined) throw createUnsetError(settings(), 'account', 'account');
      return target;
    },
    ...switches,
    journal: lazily(() => openJournalOf(context, inputs)),
    resumed: given.resumed,
    refine: async (error) => (await import('./explain.ts')).refine(error, context, { ...connections, canGlob }),
    ...createKeyFunctions(world, paths, settings),
    voice,
    note: (message) => {
      if (!global.quiet) voice.say(message);
    },
    warn: (message) => voice.say(message, 'warning'),
    fail,
  };
  return { context, close: () => [connections.close, ...others].forEach((each) => each()) };
}
