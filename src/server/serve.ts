import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { headerAliases } from '../api/aliases.ts';
import type { Headers, Reply, Request } from '../api/message.ts';
import type { Handlers } from './handler.ts';
import type { Operation, Operations, ServiceName } from '../api/operation.ts';
import { ApiError } from '../errors.ts';
import { findAccount } from './accounts.ts';
import { authenticate, isPresigned } from './authenticate.ts';
import { authorise, readNamedRoles, requireSecure, type Attempt } from './authorise.ts';
import { withRoleTags } from './compute/tags.ts';
import { createThrottle, raiseFault } from './fidelity.ts';
import { notImplemented, type Call, type Caller, type Connection, type Handler } from './handler.ts';
import type { ServiceSettings } from './settings.ts';
import { chooseByEntry, createMatcher, isUuid, type Match, type Matches } from './match.ts';
import { addHeaders, dropBody, writeError, writeResult } from './reply.ts';
import { isDiskFull } from './store/disk-full.ts';
import type { AccountRow, EntryRow } from './store/schema.ts';
import type { Store } from './store/store.ts';
import { parseTarget, type Target } from './target.ts';
import { validate } from './validate.ts';
import { apiVersions, chooseVersion, codeVersion } from './version.ts';

/** One of the two services, as a function; a socket is one way to reach it. It never throws. */
export type Service = (request: Request, connection: Connection) => Promise<Reply>;

/** What a service consists of. */
export interface ServiceOptions<T extends Operations> {
  readonly service: ServiceName;
  readonly operations: T;
  readonly handlers: Handlers<T>;
  readonly store: Store;
  /** Name of the datacenter, shown in a header of every compute reply. */
  readonly datacenter: string;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Takes a line for each request, and the details of internal errors. */
  readonly log?: (line: string) => void;
  readonly settings?: ServiceSettings;
  /** Storage: what is at a path below an account. */
  readonly entryAt?: (store: Store, login: string, path: string) => Promise<EntryRow['type'] | undefined>;
  /** Storage: answers `OPTIONS`, which browsers send before a request of a page of another origin, without a signature. */
  readonly answerPreflight?: (store: Store, login: string, path: string, headers: Headers) => Promise<Reply>;
}

/** What is known of a request from its beginning to its end. */
interface Exchange {
  readonly request: Request;
  readonly connection: Connection;
  readonly requestId: string;
  /** API version; the newest where the request chose none. */
  readonly version: string;
  /** Why the version that the request asks for cannot be served. */
  readonly versionRefusal: ApiError | undefined;
}

const newestVersion = apiVersions[apiVersions.length - 1] ?? '';

/** An id that the client chose, so that it can find its request in the log, or a new one. */
function chooseRequestId({ 'x-request-id': first, 'request-id': second }: Headers): string {
  return [first, second].find((id) => id !== undefined && isUuid(id)) ?? randomUUID();
}

function beginExchange(service: ServiceName, request: Request, connection: Connection): Exchange {
  const begun = { request, connection, requestId: chooseRequestId(request.headers) };
  const range = request.headers['accept-version'] ?? request.headers['api-version'];
  if (service === 'storage') return { ...begun, version: '', versionRefusal: undefined };
  if (range === undefined && isPresigned(request)) return { ...begun, version: newestVersion, versionRefusal: undefined };
  try {
    return { ...begun, version: chooseVersion(range), versionRefusal: undefined };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { ...begun, version: newestVersion, versionRefusal: error };
  }
}

/** Compute replies are JSON only; storage replies are what was stored, which the handler compares. */
function checkAccept({ accept }: Headers): void {
  if (accept === undefined || accept.trim() === '') return;
  const types = accept.split(',').map((type) => type.trim().toLowerCase());
  const accepts = types.some((type) => /^(?:\*\/\*|application\/(?:\*|json))(?:\s*;|$)/u.test(type) && !/;\s*q=0(?:\.0*)?$/u.test(type));
  if (!accepts) throw new ApiError(406, 'NotAcceptable', `replies are application/json, which Accept: ${accept} excludes`);
}

/** The account that the path names; the caller's own where it names none, or `my`. */
async function resolveAccount(service: ServiceName, store: Store, login: string | undefined, caller: Caller): Promise<AccountRow> {
  const own = caller.kind === 'anonymous' ? undefined : caller.account;
  if (own !== undefined && (login === undefined || login === own.login || (service === 'compute' && login === 'my'))) return own;
  const account = login === undefined ? undefined : await findAccount(store.db, service, login);
  if (account === undefined) throw new ApiError(404, 'ResourceNotFound', `the account ${login ?? ''} does not exist`);
  return account;
}

/** Which operation it is, when that depends on what the path stands for in the store. */
async function resolveEntry<T extends Operations>(
  { store, entryAt }: ServiceOptions<T>,
  matches: Matches,
  account: AccountRow,
): Promise<Match> {
  const [{ operation, inputs }] = matches.candidates;
  if (operation.when.entry === undefined || entryAt === undefined) return matches.candidates[0];
  return chooseByEntry(matches, await entryAt(store, account.login, inputs['path'] ?? ''));
}

/** The login that the path of a request names; what is to be tagged is named with its account in front. */
function nameAccount({ inputs }: Match): string | undefined {
  return inputs['account'] ?? inputs['resource']?.split('/', 1)[0];
}

/** Who asks for what, as rules look at it. */
function beginAttempt<T extends Operations>(
  { service, store, datacenter, now = Date.now }: ServiceOptions<T>,
  { request, connection }: Exchange,
  { path, query }: Target,
  account: AccountRow,
  caller: Caller,
): Omit<Attempt, 'operation' | 'inputs'> {
  const named = readNamedRoles(service, query, request.headers);
  const context = {
    now: now(),
    method: request.method,
    // An address of the older kind in the newer one's writing.
    sourceip: connection.remoteAddress.replace(/^::ffff:(?=\d+\.)/u, ''),
    userAgent: request.headers['user-agent'],
    datacenter,
  };
  return { store, caller, account, path, named, context };
}

function findHandler<T extends Operations>({ handlers }: ServiceOptions<T>, { name, summary }: Operation): Handler<Operation> {
  const handler = Object.entries(handlers).find(([key]) => key === name)?.[1];
  if (typeof handler === 'function') return handler as Handler<Operation>;
  if (handler === notImplemented) throw new ApiError(501, 'NotImplemented', `this service does not implement ${name} (${summary}) yet`);
  throw new Error(`no handler for ${name}`);
}

/** The order of work on every request: match, authenticate, authorise, validate, handler, reply. */
async function answer<T extends Operations>(
  options: ServiceOptions<T>,
  match: ReturnType<typeof createMatcher>,
  target: Target,
  exchange: Exchange,
): Promise<Reply> {
  const { service, store, now = Date.now, settings = {} } = options;
  const { request, connection, requestId, version } = exchange;
  if (request.method === 'OPTIONS' && options.answerPreflight !== undefined) {
    const [login = '', ...path] = target.parts;
    return options.answerPreflight(store, login, path.join('/'), request.headers);
  }
  const matches = match(request.method, target, request.headers);
  if (exchange.versionRefusal !== undefined) throw exchange.versionRefusal;
  if (service === 'compute') checkAccept(request.headers);
  else requireSecure(connection, request.method, isPresigned(request), target.parts.slice(1).join('/'));

  const caller = await authenticate(service, request, store, now());
  const account = await resolveAccount(service, store, nameAccount(matches.candidates[0]), caller);
  const found = await resolveEntry(options, matches, account);
  const { operation, inputs } = found;
  const attempt = beginAttempt(options, exchange, target, account, caller);
  await authorise({ ...attempt, operation, inputs });
  raiseFault(settings.faults, operation.action);

  const handler = findHandler(options, operation);
  const input = await validate(found, request, target.query, version);
  const { headers } = request;
  const requireAccess: Call['requireAccess'] = async (other, inputs) => {
    const path = other.service === 'storage' ? `/${account.login}/${inputs['path'] ?? ''}` : target.path;
    await authorise({ ...attempt, operation: other, inputs, path });
  };
  const told = { requestId, connection, headers, now, version, datacenter: options.datacenter, settings };
  const call: Call = { operation, caller, account, store, ...told, requireAccess };
  if (service === 'storage') return writeResult(operation, await handler(input, call));
  const answered = await withRoleTags(call, inputs, () => handler(input, call));
  return addHeaders(writeResult(operation, answered.result), answered.headers);
}

/** Any error as a refusal; what nobody foresaw is logged and shown without its details. */
function explainFailure(error: unknown, requestId: string, log: (line: string) => void): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof Error && 'code' in error && error.code === 'ECONNRESET')
    return new ApiError(400, 'BadRequest', 'the connection ended before the body did');
  if (isDiskFull(error)) return new ApiError(507, 'NotEnoughSpace', 'the disk of the service is full');
  log(`${requestId} internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return new ApiError(500, 'InternalError', `an internal error occurred; the log of the service has more under ${requestId}`);
}

function writeBoth(name: string, value: string): Headers {
  const deployed = headerAliases.find(({ specified }) => specified === name)?.deployed;
  return deployed === undefined ? { [name]: value } : { [name]: value, [deployed]: value };
}

function writeCommonHeaders<T extends Operations>(options: ServiceOptions<T>, { requestId, version }: Exchange, started: number): Headers {
  const duration = String(Math.round(performance.now() - started));
  const date = new Date((options.now ?? Date.now)()).toUTCString();
  if (options.service === 'storage') {
    return {
      date,
      server: `storage/${codeVersion}`,
      'x-request-id': requestId,
      'x-response-time': duration,
      'x-server-name': options.datacenter,
    };
  }
  return {
    date,
    server: `cloudapi/${codeVersion}`,
    'api-version': version,
    'request-id': requestId,
    'response-time': duration,
    ...writeBoth('cloud-datacenter-name', options.datacenter),
  };
}

/**
 * A target that can be shown: whoever has the signature of a pre-signed URL can use it; passwords may come in a query too. Bytes that a
 * terminal may take for orders are percent-encoded.
 */
function redactTarget(target: string): string {
  return target
    .replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent)
    .replace(/([?&](?:signature|password|password_confirmation)=)[^&]*/giu, '$1...');
}

/** Makes a service of its operations and their handlers. */
export function createService<T extends Operations>(options: ServiceOptions<T>): Service {
  const { service, log = () => undefined } = options;
  const { throttle, latency = 0 } = options.settings ?? {};
  const match = createMatcher(options.operations);
  const admit = createThrottle(service === 'compute' ? throttle : undefined);
  const attempt = async (exchange: Exchange): Promise<Reply> => {
    try {
      if (latency > 0) await sleep(latency);
      admit();
      return await answer(options, match, parseTarget(service, exchange.request.target), exchange);
    } catch (error) {
      return writeError(explainFailure(error, exchange.requestId, log));
    }
  };
  return async (request, connection) => {
    const started = performance.now();
    const exchange = beginExchange(service, request, connection);
    const reply = await attempt(exchange);
    const common = writeCommonHeaders(options, exchange, started);
    log(`${service} ${request.method} ${redactTarget(request.target)} ${reply.status} ${exchange.requestId}`);
    const whole = { ...reply, headers: { ...common, ...reply.headers } };
    return request.method === 'HEAD' ? dropBody(whole) : whole;
  };
}
