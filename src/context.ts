import { compute } from './api/compute.ts';
import { storage } from './api/storage.ts';
import type { Context, GlobalValues } from './cli/command.ts';
import { pickSettings } from './cli/globals.ts';
import { findPaths } from './config/paths.ts';
import { openProfiles, type Profile } from './config/profiles.ts';
import { resolveIdentity, resolveSettings, type SettingInputs, type Sources } from './config/settings.ts';
import { ApiError } from './errors.ts';
import { explainMissing } from './addresses.ts';
import { createConnections } from './connect.ts';
import { lazily } from './lazily.ts';
import { escapeControl } from './output/escape.ts';
import { quoteShell } from './quote.ts';
import type { World } from './world.ts';

/** What the service says when a sub-user may not do something: the path and the action. */
const refusal = /to access (\/\S+) \((\w+)\)/;

/** The refusal of a sub-user's request, with the command that says why, which the account can run. Everything else as it is. */
export function explainRefusal(error: unknown, { settings }: Pick<Context, 'settings'>): unknown {
  if (!(error instanceof ApiError) || error.hint !== undefined) return error;
  const { user: signer, role } = settings();
  const user = signer?.value ?? '';
  if (user === '') return error;
  if (error.status === 401) {
    const line = `cloud users keys list ${quoteShell(user)}`;
    return withHint(error, `a key of ${user} must sign: --key-file FILE or --key-id FINGERPRINT; the account sees which: ${line}`);
  }
  if (error.status !== 403) return error;
  const [, path = '', action = ''] = refusal.exec(error.message) ?? [];
  if (action === '') return error;
  const roles = role === undefined ? '' : ` --with-role ${quoteShell(role.value)}`;
  const line = `cloud policies simulate ${quoteShell(user)} ${action} ${quoteShell(path)}${roles}`;
  return withHint(error, `the account sees why with: ${line}`);
}

function withHint(error: ApiError, hint: string): ApiError {
  const { status, code, message, requestId, errors } = error;
  return new ApiError(status, code, message, { requestId, errors, cause: error, hint });
}

/** What a command works with, made from the process and the global options; and how to let go of it. */
export function createContext(
  world: World,
  globals: Readonly<Record<string, unknown>>,
  fail: Context['fail'],
  given?: Profile,
): { context: Context; close: () => void } {
  const paths = findPaths(world.env, world.home);
  const profiles = openProfiles(paths.config);
  const global = globals as unknown as GlobalValues;
  const write = (message: string): void => void world.stderr.stream.write(`${escapeControl(message)}\n`);

  const inputs = lazily((): SettingInputs => {
    const options = pickSettings(globals);
    if (given) return { options, env: world.env, profile: given };
    const chosen = options.profile ?? world.env['CLOUD_PROFILE'];
    const name = chosen === undefined || chosen === '' ? profiles.current() : chosen;
    return { options, env: world.env, profile: name === undefined ? undefined : profiles.read(name) };
  });
  const settings = lazily((): Sources => resolveSettings(inputs()));
  const identity = lazily(() => resolveIdentity(inputs()));
  const connections = createConnections({
    world,
    paths,
    settings,
    signer: () => identity().signer,
    verbose: global.verbose,
    curl: global.curl,
    warn: write,
  });
  const computeClient = lazily(() => connections.client(compute, 'compute'));
  const storageClient = lazily(() => connections.client(storage, 'storage'));

  const others: (() => void)[] = [];
  const context: Context = {
    world,
    paths,
    profiles,
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
    presign: connections.presign,
    remember: connections.remember,
    get account() {
      const target = identity().target;
      if (target === undefined) throw explainMissing(settings(), 'account', 'account');
      return target;
    },
    withProfile: (profile) => {
      const other = createContext(world, globals, fail, profile);
      others.push(other.close);
      return other.context;
    },
    localKeys: async () => {
      const { listLocalKeys } = await import('./auth/local-keys.ts');
      return await listLocalKeys({ agentSocket: world.env['SSH_AUTH_SOCK'], sshDir: paths.ssh });
    },
    note: (message) => {
      if (!global.quiet) write(message);
    },
    warn: write,
    fail,
  };
  const close = (): void => [connections.close, ...others].forEach((each) => each());
  return { context, close };
}
