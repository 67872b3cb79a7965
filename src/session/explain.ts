import { withFirstHint, withHint } from '../base/error-copies.ts';
import {
  ApiError,
  CloudError,
  describeSystemError,
  isMissing,
  isSystemError,
  LocalError,
  NotFoundError,
  quietly,
  unlessMissing,
  UsageError,
} from '../base/errors.ts';
import { adviseOnFile } from '../base/absent-file.ts';
import { quoteShell } from '../base/quote.ts';
import { storage as operations } from '../api/storage.ts';
import type { Context } from '../cli/command.ts';
import { findFirstWord } from '../cli/tree.ts';
import { homeVariable } from '../config/paths.ts';
import { adviseOnUnusedKey, NoProfileError } from './endpoints.ts';

/** The service's message when a sub-user lacks a permission: the path as the request has it, percent-encoded, and the action. */
const refusal = /to access (\/\S+) \((\w+)\)/;

/** What the connections of a command know about its errors. */
export interface Origin {
  /** True if the compute service responded with the error. */
  readonly isOfCompute: (error: ApiError) => boolean;
  /** Login of the account whose key, or whose sub-user's key, signs. */
  readonly signer: () => string | undefined;
  /** True if `--glob` would make brackets and braces in the command's paths a pattern. */
  readonly canGlob: boolean;
}

/** Decodes a path; undefined if that is impossible, or has characters that a command line cannot show. */
function decodePath(path: string): string | undefined {
  const decoded = quietly(() => decodeURIComponent(path), undefined);
  return decoded === undefined || /\p{C}/u.test(decoded) ? undefined : decoded;
}

/** The hint for the 403 of a sub-user: the question to which the account gets the same answer, with its reason. */
function adviseOnRefusal(message: string, user: string, role: string | undefined, signer: string | undefined): string | undefined {
  const [, written = '', action = ''] = refusal.exec(message) ?? [];
  const path = decodePath(written);
  if (action === '' || path === undefined || signer === undefined) return undefined;
  const [, login = ''] = path.split('/');
  if (!['my', '--ping', signer].includes(login))
    return `a sub-user of ${signer} has permissions in that account only, whatever roles ${login} has`;
  // The service shows no role tags of these.
  if (/^\/[^/]+\/(?:(?:machines|networks|fwrules)(?:\/|$)|services\/)/.test(path)) return undefined;
  const roles = role === undefined ? '' : ` --with-role ${quoteShell(role)}`;
  return `the account finds the reason with: cloud policies simulate ${quoteShell(user)} ${action} ${quoteShell(path)}${roles}`;
}

/** Adds hints to errors; to the 403 of a sub-user, the command that tells the account the reason. Returns other errors unchanged. */
function explainRefusal(
  error: unknown,
  context: Pick<Context, 'settings' | 'profiles' | 'paths' | 'world'>,
  { isOfCompute, signer }: Origin,
): unknown {
  if (error instanceof NoProfileError) return explainNoProfile(error, context.profiles.list());
  if (error instanceof CloudError && error.hint !== undefined) return completeHint(error, context.world.argv);
  if (!(error instanceof ApiError)) return explainFile(error, context);
  const known = adviseOnCode(error) ?? (isOfCompute(error) ? undefined : adviseOnPath(error));
  if (known !== undefined) return withHint(error, known);
  const settings = context.settings();
  const { user: subUser, role, account, keyFile } = settings;
  const user = subUser?.value ?? '';
  const [, login] = /^the account (\S+) does not exist/.exec(error.message) ?? [];
  if (error.status === 404 && login !== undefined) return explainRoot(error, login, context.world.argv);
  if (user === '' && (error.status === 401 || error.code === 'KeyDoesNotExist')) {
    const file = keyFile === undefined ? 'FILE.pub' : quoteShell(`${keyFile.value}.pub`);
    const register = `register its public key, signed with a registered key: cloud keys create ${file} --key-file OTHER`;
    return withHint(error, [
      ...adviseOnUnusedKey(settings, context.world.env),
      `the account ${account?.value ?? ''} may lack this key; ${register}`,
      'the keys of this machine: cloud keys local',
    ]);
  }
  if (user === '') return error;
  if (error.status === 401) {
    const line = `cloud users keys list ${quoteShell(user)}`;
    return withHint(error, `sign with a key of ${user}: --key-file FILE or --key-id FINGERPRINT; the account lists them with: ${line}`);
  }
  if (error.status !== 403) return error;
  const hint = adviseOnRefusal(error.message, user, role?.value, signer());
  return hint === undefined ? error : withHint(error, hint);
}

/** Explains a common mistake: `/x` is the account x, not a path below one's own directory. */
function explainRoot(error: ApiError, login: string, argv: readonly string[]): ApiError {
  const word = argv.find((each) => each.replace(/^stor:/, '').startsWith(`/${login}`));
  if (word === undefined) return error;
  const own = word.replace(/^(?:stor:)?\//, '');
  const line = `cloud ${argv.map((each) => quoteShell(each === word ? own : each)).join(' ')}`;
  return withHint(error, `a path that begins with / is /LOGIN/...; below your own directory: ${line}`);
}

/** The error when profiles exist but none of them is current. */
function explainNoProfile(error: NoProfileError, names: readonly string[]): UsageError {
  const [first] = names;
  if (first === undefined) return error;
  return new UsageError(error.message.replace('there is no profile yet', `no profile is current; there are: ${names.join(', ')}`), {
    hint: `cloud profile use ${first}`,
  });
}

/**
 * Completes a hint that ends with a command and an option, such as `cloud stor put -r`, by the typed arguments, so that it can be copied.
 * `cp` does what `put` and `get` do, and has their options.
 */
function completeHint(error: CloudError, argv: readonly string[]): CloudError {
  const [whole = '', command, option] = /cloud ((?:[a-z]+ )+)(-[a-z])$/.exec(error.hint ?? '') ?? [];
  if (command === undefined || option === undefined) return error;
  const start = findFirstWord(argv);
  const words = command.trim().split(' ');
  const typed = argv.slice(start, start + words.length);
  const isCopy = typed.join(' ') === 'stor cp' && /^stor (?:put|get)$/.test(words.join(' '));
  if (start < 0 || (!isCopy && words.some((word, at) => typed[at] !== word))) return error;
  const line = ['cloud', ...argv.slice(0, start), ...typed, option, ...argv.slice(start + words.length)].map(quoteShell).join(' ');
  return withFirstHint(error, `${error.hint?.slice(0, -whole.length)}${line}`);
}

/** Hints for errors that are the same for every command. */
function adviseOnCode({ code, message }: ApiError): string | undefined {
  if (code === 'InvalidRoleTag') return 'list the roles: cloud roles list';
  const [, noun] = /there is no (user|policy|role) "/.exec(message) ?? [];
  return noun === undefined ? undefined : `cloud ${noun === 'policy' ? 'policies' : `${noun}s`} list`;
}

/** The hint for a missing path of the object storage. */
function adviseOnPath({ status, message }: ApiError): string | undefined {
  const [, above] = status === 404 ? (/^(\/[^/\s]+\/(?:[^/]+\/)*)[^/]+ does not exist/.exec(message) ?? []) : [];
  return above === undefined ? undefined : `cloud stor ls ${quoteShell(above.replace(/\/$/, ''))}`;
}

/** The start of the hint for a missing path. */
const listing = 'cloud stor ls ';

/** A missing path or pattern in a message: the account, and the path below it. */
const missingPath = /^\/([^/]+)\/(.+) (?:does not exist|matches nothing)/s;

/** Brackets or braces that `--glob` expands. */
const globbed = /\[[^/]+\]|\{[^/]*,[^/]*\}/;

/** Adds the hint how to use a missing path as a pattern, if it was typed and has brackets or braces. */
function addGlob(error: CloudError, path: string, argv: readonly string[]): CloudError {
  const isTyped = argv.some((word) => globbed.test(word) && path.endsWith(word.replaceAll(/^(?:stor:|~~)|\/$/g, '')));
  if (!isTyped) return error;
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const line = ['cloud', ...argv.slice(0, end), '--glob', ...argv.slice(end)].map(quoteShell).join(' ');
  return withHint(error, [`to use it as a pattern: ${line}`, ...error.hints]);
}

/**
 * Replaces the hint for a missing path by one that lists its nearest existing directory, so that it works. If the service does not tell,
 * the hint is unchanged.
 */
async function nameNearestDirectory(error: CloudError, account: string, path: string, storage: Context['storage']): Promise<CloudError> {
  const names = path.split('/').slice(0, -1);
  try {
    for (; names.length > 0; names.pop())
      if (await isThere(storage, account, names.join('/')))
        return withFirstHint(error, `${listing}${quoteShell(['', account, ...names].join('/'))}`);
  } catch (failure) {
    if (!(failure instanceof CloudError)) throw failure;
  }
  return error;
}

/** Adds to the hint for a missing path what else may have been meant. */
async function explainAbsent(error: unknown, context: Pick<Context, 'storage' | 'world'>, { canGlob }: Origin): Promise<unknown> {
  const isAbsent = error instanceof NotFoundError || isMissing(error);
  if (!isAbsent || error.hint?.startsWith(listing) !== true) return error;
  const [, account, path] = missingPath.exec(error.message) ?? [];
  if (account === undefined || path === undefined) return error;
  const placed = await nameNearestDirectory(error, account, path, context.storage);
  return canGlob ? addGlob(placed, `/${account}/${path}`, context.world.argv) : placed;
}

/** Adds what helps to resolve an error: a better message or hint. Other errors are returned as they are. */
export async function refine(
  error: unknown,
  context: Pick<Context, 'settings' | 'profiles' | 'paths' | 'world' | 'storage'>,
  origin: Origin,
): Promise<unknown> {
  return await explainAbsent(explainRefusal(error, context, origin), context, origin);
}

async function isThere(storage: Context['storage'], account: string, path: string): Promise<boolean> {
  return (await unlessMissing(storage.answer(operations.getObject, { account, path }, { head: true }))) !== undefined;
}

/** Codes of the system for a file that exists, or could, and must not be used by this user or changed by anybody. */
const noRights: readonly (string | undefined)[] = ['EACCES', 'EPERM', 'EROFS'];

/** True for a path in one of the program's folders, or above it. */
function isOwn(path: string, { config, state, cache, data }: Context['paths']): boolean {
  return [config, state, cache, data].some((folder) => `${path}/`.startsWith(`${folder}/`) || folder.startsWith(`${path}/`));
}

/**
 * Adds a hint to the error for a missing local file: the file that was probably meant, or the command that lists its directory; and to the
 * error for a folder of the program that cannot be used: how to choose another.
 */
function explainFile(error: unknown, { paths }: Pick<Context, 'paths'>): unknown {
  const failure = isSystemError(error) ? error : error instanceof CloudError && isSystemError(error.cause) ? error.cause : undefined;
  if (failure?.path === undefined) return error;
  const isClosed = noRights.includes(failure.code) && isOwn(failure.path, paths);
  const own = isClosed ? `use a folder of your own: export ${homeVariable}=DIR` : undefined;
  const hint = failure.code === 'ENOENT' ? adviseOnFile(failure.path) : own;
  if (hint === undefined) return error;
  return error instanceof CloudError ? withFirstHint(error, hint) : new LocalError(describeSystemError(failure), { hint, cause: error });
}
