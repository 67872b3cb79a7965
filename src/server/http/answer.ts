import type { Headers, HttpResponse, Request } from '../../api/message.ts';
import type { Handlers } from './handler.ts';
import type { Operation, Operations, ServiceName } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { assertEnabled } from '../access/account-status.ts';
import { findAccount } from '../access/accounts.ts';
import { authenticate, isPresigned, type EntryAhead } from '../access/authenticate.ts';
import type { AdmitAccount } from '../access/request-rate.ts';
import {
  authorise,
  createAnonymousError,
  isAdministrator,
  readNamedRoles,
  readsPublic,
  requireSecure,
  type Attempt,
} from '../access/authorise.ts';
import { findImage } from '../compute/image-shape.ts';
import { withRoleTags } from '../compute/tags.ts';
import { applyLag, injectFaults } from '../faults/disturb-request.ts';
import type { Common } from './common-headers.ts';
import type { Exchange } from './exchange.ts';
import type { Call, Caller, FindImage, Handler } from './handler.ts';
import { limitOf } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';
import { chooseByEntry, type createMatcher, type Match, type Matches } from './match.ts';
import { bufferBody, readBodyParameters } from './read-parameters.ts';
import { assertUrlCovers } from '../access/presigned.ts';
import { addHeaders, writeEmpty, writeResult } from './response.ts';
import { showAddress } from './request-log.ts';
import type { AccountRow, EntryRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { RequestMemory } from './recorded-requests.ts';
import type { RequestObserver } from './request-observer.ts';
import type { Target } from './target.ts';
import { validate } from './validate.ts';

/** Configuration of a service. */
export interface ServiceOptions<T extends Operations> extends Common {
  readonly operations: T;
  readonly handlers: Handlers<T>;
  /** Compute: finds an image of this datacenter; in the database if omitted. */
  readonly findImage?: FindImage;
  readonly store: Store;
  /** Receives a line for each request, and the details of internal errors. */
  readonly log?: (line: string) => void;
  readonly settings?: ServiceSettings;
  /** Records requests for the control interface. */
  readonly memory?: RequestMemory;
  /** Receives every request, and replaces the lines in the log. */
  readonly observer?: RequestObserver | undefined;
  /** The error that every request gets at the moment, if there is one. */
  readonly refusal?: (() => ApiError | undefined) | undefined;
  /** Storage: the type of the entry at a path below an account. */
  readonly entryAt?: (store: Store, login: string, path: string) => Promise<EntryRow['type'] | undefined>;
  /** Storage: the place of the entry that a path names, and of its directory; undefined for a path without an entry. */
  readonly placeAt?: (inputs: Match['inputs']) => Pick<EntryAhead, 'place' | 'above'> | undefined;
  /** Storage: throws 404 if the account has no multipart upload with the id in the path. */
  readonly assertUpload?: (store: Store, account: AccountRow, inputs: Match['inputs']) => Promise<void>;
  /** Storage: handles `OPTIONS`, which browsers send unsigned before a cross-origin request. */
  readonly answerPreflight?: (store: Store, login: string, path: string, headers: Headers) => Promise<HttpResponse>;
}

/** The media ranges that contain JSON, the most specific first: it decides (RFC 9110, section 12.5.1). */
const jsonRanges = ['application/json', 'application/*', '*/*'] as const;

/** Compute responses are always JSON; storage responses have the stored type, which the handler checks. */
function checkAccept({ accept }: Headers): void {
  if (accept === undefined || accept.trim() === '') return;
  const types = accept.split(',').map((type) => type.trim().toLowerCase());
  const matching = jsonRanges.map((range) => types.filter((type) => type.split(';', 1)[0]?.trim() === range));
  const decisive = matching.find((ranges) => ranges.length > 0) ?? [];
  if (decisive.every((type) => /;\s*q=0(?:\.0*)?$/u.test(type)))
    throw new ApiError(406, 'NotAcceptable', `responses are application/json, which the header Accept: ${accept} excludes`);
}

/** The account that the path names; the caller's own if it names none, or `my`. */
async function resolveAccount(
  service: ServiceName,
  store: Store,
  login: string | undefined,
  { caller, path }: { caller: Caller; path: string },
): Promise<AccountRow> {
  const own = caller.kind === 'anonymous' ? undefined : caller.account;
  if (own !== undefined && (login === undefined || login === own.login || (service === 'compute' && login === 'my'))) return own;
  const account = login === undefined ? undefined : await findAccount(store.db, service, login);
  const missing = caller.kind === 'anonymous' ? path : `the account ${login ?? ''}`;
  if (account === undefined) throw new ApiError(404, 'ResourceNotFound', `${missing} does not exist`);
  // Before anything in the account is looked up.
  assertEnabled(account);
  return account;
}

/**
 * Finds the operation of a compute request whose body has the selecting parameter, and returns the request with its buffered body.
 * @throws {ApiError} 409 if the required parameter is missing or has an unknown value.
 */
async function selectByBody(
  match: ReturnType<typeof createMatcher>,
  target: Target,
  request: Request,
  { matches, selector, settings }: { matches: Matches; selector: string; settings: ServiceSettings },
): Promise<{ matches: Matches; request: Request }> {
  const limit = limitOf(settings, 'parameterBytes');
  const buffered = await bufferBody(request, 'compute', limit);
  const { [selector]: value } = await readBodyParameters(buffered, 'compute', limit);
  if (value === undefined) {
    if (matches.candidates[0].operation.when.query !== undefined)
      throw new ApiError(409, 'MissingParameter', `${selector} is a required parameter`);
    return { matches, request: buffered };
  }
  const query = new URLSearchParams(target.query);
  query.set(selector, typeof value === 'string' ? value : JSON.stringify(value));
  return { matches: match(request.method, { ...target, query }, request.headers), request: buffered };
}

/** The operation; if several match the path, the one for the type of its entry. */
async function resolveEntry<T extends Operations>(
  { store, entryAt }: ServiceOptions<T>,
  matches: Matches,
  account: AccountRow,
  ahead: EntryAhead | undefined,
): Promise<Match> {
  const [{ operation, inputs }] = matches.candidates;
  if (operation.when.entry === undefined || entryAt === undefined) return matches.candidates[0];
  return chooseByEntry(matches, ahead?.found?.entry?.type ?? (await entryAt(store, account.login, inputs['path'] ?? '')));
}

/** The login that the path of a request names; the path of a resource to be tagged begins with it. */
function nameAccount({ inputs }: Match): string | undefined {
  return inputs['account'] ?? inputs['resource']?.split('/', 1)[0];
}

/** The attempt that rules are evaluated against. */
function beginAttempt<T extends Operations>(
  { service, store, datacenter, findImage, now = Date.now, settings }: ServiceOptions<T>,
  { request, connection }: Exchange,
  { path, query }: Target,
  { operation, inputs }: Match,
  { account, caller }: Pick<Attempt, 'account' | 'caller'>,
): Attempt {
  const named = readNamedRoles(service, query, request);
  const context = {
    now: now(),
    method: request.method,
    sourceip: showAddress(connection),
    userAgent: request.headers['user-agent'],
    datacenter,
  };
  return { store, caller, operation, inputs, account, path, named, context, settings, findImage };
}

function findHandler<T extends Operations>({ handlers }: ServiceOptions<T>, { name }: Operation): Handler<Operation> {
  const handler = Object.hasOwn(handlers, name) ? (handlers as Readonly<Record<string, unknown>>)[name] : undefined;
  if (typeof handler === 'function') return handler as Handler<Operation>;
  throw new Error(`no handler for ${name}`);
}

/** Objects that a service creates once and uses for every request. */
export interface Tools {
  readonly match: ReturnType<typeof createMatcher>;
  /** Throws if a caller (an account or an address) sends too many requests. */
  readonly admit: (caller: string) => void;
  /** Throws if an account exceeds its rate over both services. */
  readonly admitAccount: AdmitAccount;
}

/** The steps of every request, in order: match, authenticate, authorise, validate, call the handler, respond. */
export async function answer<T extends Operations>(
  options: ServiceOptions<T>,
  { match, admit, admitAccount }: Tools,
  target: Target,
  exchange: Exchange,
): Promise<HttpResponse> {
  const { service, store, now = Date.now, requestTime = now, settings = {} } = options;
  const { connection, requestId, version } = exchange;
  if (service === 'compute' && !connection.secure)
    throw new ApiError(400, 'BadRequest', 'this port requires HTTPS: use https:// in the URL');
  let { request } = exchange;
  if (request.method === 'OPTIONS' && options.answerPreflight !== undefined) {
    const [login = '', ...path] = target.parts;
    const owner = await findAccount(store.db, service, login);
    if (owner) assertEnabled(owner);
    return options.answerPreflight(store, login, path.join('/'), request.headers);
  }
  let matches = match(request.method, target, request.headers);
  if (exchange.versionRefusal !== undefined) throw exchange.versionRefusal;
  const presigned = isPresigned(request);
  if (service === 'compute') checkAccept(request.headers);
  else requireSecure(connection, request.method, presigned);

  const place = options.placeAt?.(matches.candidates[0].inputs);
  const ahead: EntryAhead | undefined = place && { ...place, method: request.method };
  const caller = await authenticate(service, request, store, { now: now(), requestTime: requestTime() }, settings, ahead);
  exchange.caller = caller;
  if (caller.kind !== 'anonymous') {
    connection.authenticated?.();
    admit(caller.account.id);
    await admitAccount(service, caller.account);
  }
  // Before anything is looked up: the error does not reveal what exists.
  if (caller.kind === 'anonymous' && !readsPublic(matches.candidates[0])) throw createAnonymousError(target.path);
  const { selector } = matches;
  if (selector !== undefined) ({ matches, request } = await selectByBody(match, target, request, { matches, selector, settings }));
  const account = await resolveAccount(service, store, nameAccount(matches.candidates[0]), { caller, path: target.path });
  const found = await resolveEntry(options, matches, account, ahead);
  const { operation, inputs } = found;
  exchange.operation = operation;
  if (presigned) assertUrlCovers(operation, request.headers);
  const attempt = beginAttempt(options, exchange, target, found, { account, caller });
  await authorise(attempt);
  if (settings.faults?.isEmpty === false) request = await injectFaults(options, exchange, { operation, target, request });
  const applied = applyLag(settings, operation, exchange.injection);
  if (operation.needsUpload) await options.assertUpload?.(store, account, inputs);

  const handler = findHandler(options, operation);
  const input = await validate(found, request, target.query, { version, settings: applied, presigned });
  const requireAccess: Call['requireAccess'] = async (other, inputs) => {
    const named = other.service === 'storage' ? `${account.login}/${inputs['path'] ?? ''}` : (inputs['resource'] ?? '');
    // In the form of a request, like the paths in other messages.
    const path = `/${named.split('/').map(encodeURIComponent).join('/')}`;
    await authorise({ ...attempt, operation: other, inputs, path });
  };
  const call: Call = {
    operation,
    caller,
    account,
    store,
    named: attempt.named,
    requestId,
    method: request.method,
    path: target.path,
    connection,
    headers: request.headers,
    now,
    version,
    datacenter: options.datacenter,
    findImage: options.findImage ?? findImage,
    settings: applied,
    ahead: ahead?.found,
    requireAccess,
    isAdministrator: () => isAdministrator(attempt),
  };
  if (service === 'storage') {
    const result = await handler(input, call);
    return exchange.injection?.isEmpty === true ? writeEmpty(204) : writeResult(operation, result);
  }
  const answered = await withRoleTags(call, inputs, () => handler(input, call));
  return addHeaders(writeResult(operation, answered.result), answered.headers);
}
