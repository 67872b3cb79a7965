import type { KeyObject } from 'node:crypto';
import { AuthorizationSyntaxError, parseAuthorization, signedDate, signedText } from '../../auth/authorization-header.ts';
import { listKeyNames, parseKeyId, type KeyId } from '../../auth/key-id.ts';
import { isPresignedTarget, parsePresigned, type PresignedSignature } from '../../auth/presign.ts';
import { readPublicKey } from '../../auth/public-key.ts';
import { isAcceptedAlgorithm, verifySignature } from '../../auth/verify.ts';
import { ApiError } from '../../base/errors.ts';
import type { Request } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import { findAccount, findAhead, findKeys, findUser, type FoundAhead, type Key } from './accounts.ts';
import type { Caller } from '../http/handler.ts';
import { assertEnabled } from './account-status.ts';
import { isCheap } from './key-strength.ts';
import { limitOf } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';
import { signatureRefusals, type SignatureRefusals } from './signature-refusals.ts';
import { isPostgres } from '../store/engine-of.ts';
import type { DirectoryKey } from '../store/counts.ts';
import type { AccountRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** Maximum difference in seconds between the date of a request and the service's clock. */
const allowedSkew = 300;

/** Compiled keys; compiling one costs more than verifying a signature. */
const compiledKeys = new Map<string, KeyObject>();
const compiledLimit = 1000;

/** A verified signature: everything that its verification depends on. */
interface Verified {
  readonly key: KeyObject;
  readonly algorithm: string;
  readonly text: string;
}

/** By signature. Clients sign once for all requests of the same second, and verifying a signature costs as much as several queries. */
const verifiedSignatures = new Map<string, Verified>();
const verifiedLimits = { signatures: 1000, characters: 2048 } as const;

/**
 * The key that signed last, by its keyId. This proves nothing, as the key may have been revoked since. But a request signed by it is likely
 * to be allowed, so more is looked up together with the key. For any other request, only the key is looked up.
 */
const likelyKeys = new Map<string, KeyObject>();

function rememberLikely(keyId: string, key: KeyObject): void {
  if (likelyKeys.get(keyId) === key) return;
  if (likelyKeys.size >= compiledLimit) likelyKeys.clear();
  likelyKeys.set(keyId, key);
}

/** True if the key signed one of the texts. Results of `verifySignature` are cached by key, algorithm, text and signature. */
function isSignedBy(key: KeyObject, { algorithm, texts, signature }: Claim): boolean {
  return texts.some((text) => isSignatureOf(key, { algorithm, text, signature }));
}

function isSignatureOf(key: KeyObject, { algorithm, text, signature }: Omit<Claim, 'keyId' | 'texts'> & { text: string }): boolean {
  const known = verifiedSignatures.get(signature);
  if (known?.key === key && known.algorithm === algorithm && known.text === text) return true;
  if (!isCheap(key) || !verifySignature(key, algorithm, text, signature)) return false;
  if (verifiedSignatures.size >= verifiedLimits.signatures) verifiedSignatures.clear();
  if (text.length + signature.length <= verifiedLimits.characters) verifiedSignatures.set(signature, { key, algorithm, text });
  return true;
}

/** What a request claims about its sender, before anything is verified. */
type Claim = Omit<PresignedSignature, 'user'>;

/** True if a request is authenticated by its query: a pre-signed URL. */
export function isPresigned({ target }: Request): boolean {
  return isPresignedTarget(target);
}

function compileKey({ key }: Key): KeyObject {
  const known = compiledKeys.get(key);
  if (known !== undefined) return known;
  if (compiledKeys.size >= compiledLimit) compiledKeys.clear();
  const { keyObject } = readPublicKey(key);
  compiledKeys.set(key, keyObject);
  return keyObject;
}

/** An HTTP date or ISO 8601 date. `Date.parse` alone finds dates in almost any text, such as one that was signed for another purpose. */
const dateForm = /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? |\d{4}-)/u;

function checkDate(date: string, now: number, refusals: SignatureRefusals): void {
  const time = dateForm.test(date) ? Date.parse(date) : NaN;
  if (Number.isNaN(time)) throw refusals.syntax(`the date "${date}" is not a date`);
  // Dates of requests have whole seconds, so the clock is rounded down to whole seconds too.
  const skew = Math.floor(time / 1000) - Math.floor(now / 1000);
  if (Math.abs(skew) <= allowedSkew) return;
  const direction = skew > 0 ? 'ahead of' : 'behind';
  throw refusals.skew(
    `the date of the request is ${Math.abs(skew)} seconds ${direction} the clock of the service; ${allowedSkew} are allowed`,
  );
}

function readHeaderClaim(service: ServiceName, request: Request, header: string, now: number): Claim {
  const parsed = parseAuthorization(header);
  const text = signedText(parsed, service, request);
  checkDate(signedDate(parsed, request), now, signatureRefusals[service]);
  return { keyId: parsed.keyId, algorithm: parsed.algorithm, signature: parsed.signature, texts: [text] };
}

/** Milliseconds since the epoch: the time of the service, and the time that the dates of requests are compared with. */
interface Times {
  readonly now: number;
  readonly requestTime: number;
}

function readClaim(service: ServiceName, request: Request, { now, requestTime }: Times): Claim | undefined {
  const refusals = signatureRefusals[service];
  try {
    const { method, target, headers } = request;
    const presigned = isPresigned(request) ? parsePresigned({ method, target, host: headers['host'] ?? '' }, now) : undefined;
    if (presigned !== undefined) return presigned;
    const header = headers['authorization'];
    return header === undefined || header === '' ? undefined : readHeaderClaim(service, request, header, requestTime);
  } catch (error) {
    if (!(error instanceof AuthorizationSyntaxError)) throw error;
    throw refusals[error.reason](error.message);
  }
}

/** The same error with the reason as a hint for the log: the client must not find out which accounts and keys exist. */
function withReason({ status, code, message }: ApiError, reason: string): ApiError {
  return new ApiError(status, code, message, { hint: reason });
}

/** Describes which text should have been signed, and with which key. */
function explainSignature({ texts, algorithm, keyId }: Claim): string {
  const [text = '', ...others] = texts.map((each) => JSON.stringify(each));
  const either = others.length === 0 ? '' : ` or ${others.join(' or ')}`;
  return `the signature does not match ${text}${either}, signed with ${algorithm} and the private key of ${keyId}`;
}

/** The entry that a request is likely to be about, and what was found at its place when the sender was looked up. */
export interface EntryAhead {
  readonly place: DirectoryKey & { readonly login: string };
  /** The directory that holds it. */
  readonly above: DirectoryKey;
  readonly method: string;
  /** Undefined if no lookup took place. */
  found?: FoundAhead | undefined;
}

/** Finds the sender of a request and its likely entry together, if one query for both is worthwhile. */
async function lookAhead(
  store: Store,
  { account: login, user, key }: KeyId,
  ahead: EntryAhead | undefined,
  isLikely: () => boolean,
): Promise<{ account: AccountRow; key: Key } | undefined> {
  if (ahead === undefined || user !== undefined || !isPostgres(store.db)) return undefined;
  const { place, above, method } = ahead;
  const more = { GET: 'bytes', PUT: 'directory' } as const;
  const wanted = (method === 'GET' || method === 'PUT') && place.login === login && isLikely() ? more[method] : 'entry';
  const looked = await findAhead(store.db, { login, fingerprint: key, parent: place.parent, name: place.name, above }, wanted);
  ahead.found = looked?.found;
  return looked;
}

/** Returns a function that checks whether a key signed a request; each key is tried at most once. */
function createVerifier(claim: Claim): (key: KeyObject) => boolean {
  const tried = new Map<KeyObject, boolean>();
  return (key) => {
    const isSigned = tried.get(key) ?? isSignedBy(key, claim);
    tried.set(key, isSigned);
    return isSigned;
  };
}

async function verifyClaim(
  service: ServiceName,
  claim: Claim,
  store: Store,
  { keysTried, ahead }: { keysTried: number; ahead: EntryAhead | undefined },
): Promise<Caller> {
  const refusals = signatureRefusals[service];
  const { keyId, algorithm } = claim;
  if (!isAcceptedAlgorithm(service, algorithm)) throw refusals.algorithm(algorithm);
  const names = parseKeyId(service, keyId);
  if (names === undefined) throw withReason(refusals.keyId(keyId), `${keyId} is not a valid keyId for this service`);
  const hasSigned = createVerifier(claim);
  const likely = likelyKeys.get(keyId);
  const known = await lookAhead(store, names, ahead, () => likely !== undefined && hasSigned(likely));
  const account = known?.account ?? (await findAccount(store.db, service, names.account));
  if (account === undefined) throw withReason(refusals.account(names.account), `there is no account ${names.account}`);
  const user = names.user === undefined ? undefined : await findUser(store.db, account, names.user);
  if (names.user !== undefined && user === undefined)
    throw withReason(refusals.user(names.user), `the account ${names.account} has no user ${names.user}`);
  const keys = known ? [known.key] : [];
  const keyNames = service === 'compute' ? listKeyNames(names.key) : [names.key];
  if (!known)
    for (const name of keyNames)
      if (keys.length < keysTried) keys.push(...(await findKeys(store.db, account, user, name, keysTried - keys.length)));
  if (keys.length === 0) throw withReason(refusals.key(names.key), `${names.user ?? names.account} has no key ${names.key}`);
  const signer = keys.find((key) => hasSigned(compileKey(key)));
  if (signer === undefined) throw withReason(refusals.signature(), explainSignature(claim));
  if (known !== undefined) rememberLikely(keyId, compileKey(signer));
  // Checked last: only someone who has a key of the account may learn that it is disabled.
  assertEnabled(account);
  const { fingerprint: key } = signer;
  return user === undefined ? { kind: 'account', account, key } : { kind: 'user', account, user, key };
}

/**
 * Identifies the sender of a request by the signature in its header or URL (section 5 of both specifications).
 * @param settings of the service: how many keys with the same name are tried
 * @param ahead storage only: the entry that may be looked up together with the key
 * @throws {ApiError} as the service's document says; a storage request without a signature is anonymous, not an error.
 */
export async function authenticate(
  service: ServiceName,
  request: Request,
  store: Store,
  times: Times,
  settings: ServiceSettings,
  ahead?: EntryAhead,
): Promise<Caller> {
  const claim = readClaim(service, request, times);
  if (claim !== undefined) return verifyClaim(service, claim, store, { keysTried: limitOf(settings, 'keysTried'), ahead });
  if (service === 'storage') return { kind: 'anonymous' };
  throw signatureRefusals.compute.scheme('the request has no Authorization header; sign it with a key of the account');
}
