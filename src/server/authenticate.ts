import type { KeyObject } from 'node:crypto';
import { AuthorizationSyntaxError, parseAuthorization, signedDate, signedText } from '../auth/authorization-header.ts';
import { parseKeyId } from '../auth/key-id.ts';
import { parsePresigned } from '../auth/presign.ts';
import { readPublicKey } from '../auth/public-key.ts';
import { isAcceptedAlgorithm, verifySignature } from '../auth/verify.ts';
import type { Request } from '../api/message.ts';
import type { ServiceName } from '../api/operation.ts';
import { findAccount, findUser, listKeysOf, selectKeys, type Key } from './accounts.ts';
import type { Caller } from './handler.ts';
import { refuseAnonymous, signatureRefusals, type SignatureRefusals } from './signature-refusals.ts';
import type { Store } from './store/store.ts';

/** Seconds by which the date of a request may differ from the service's clock. */
const allowedSkew = 300;

/** Compiled keys; compiling one costs more than verifying a signature. */
const compiledKeys = new Map<string, KeyObject>();
const compiledLimit = 1000;

/** What a request says about who sent it, before anything is verified. */
interface Claim {
  readonly keyId: string;
  readonly algorithm: string;
  readonly signature: string;
  /** The text that the signature must be of. */
  readonly text: string;
}

/** Whether a request is authenticated by its query: a pre-signed URL. */
export function isPresigned({ target }: Request): boolean {
  return /[?&](?:signature|keyId)=/u.test(target);
}

function compileKey({ key }: Key): KeyObject {
  const known = compiledKeys.get(key);
  if (known !== undefined) return known;
  if (compiledKeys.size >= compiledLimit) compiledKeys.clear();
  const { keyObject } = readPublicKey(key);
  compiledKeys.set(key, keyObject);
  return keyObject;
}

/** A date of HTTP, or of ISO 8601. `Date.parse` alone finds dates in almost any text, such as one that was signed to say something else. */
const dateForm = /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? |\d{4}-)/u;

function checkDate(date: string, now: number, refusals: SignatureRefusals): void {
  const time = dateForm.test(date) ? Date.parse(date) : NaN;
  if (Number.isNaN(time)) throw refusals.syntax(`the date "${date}" is not a date`);
  // Dates of requests have whole seconds; so has the clock that they are compared with.
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
  return { keyId: parsed.keyId, algorithm: parsed.algorithm, signature: parsed.signature, text };
}

function readClaim(service: ServiceName, request: Request, now: number): Claim | undefined {
  const refusals = signatureRefusals[service];
  try {
    const { method, target, headers } = request;
    const presigned = isPresigned(request) ? parsePresigned({ method, target, host: headers['host'] ?? '' }, now) : undefined;
    if (presigned !== undefined) return presigned;
    const header = headers['authorization'];
    return header === undefined || header === '' ? undefined : readHeaderClaim(service, request, header, now);
  } catch (error) {
    if (!(error instanceof AuthorizationSyntaxError)) throw error;
    throw refusals[error.reason](error.message);
  }
}

async function verifyClaim(service: ServiceName, claim: Claim, store: Store): Promise<Caller> {
  const refusals = signatureRefusals[service];
  const { keyId, algorithm, text, signature } = claim;
  if (!isAcceptedAlgorithm(service, algorithm)) throw refusals.algorithm(algorithm);
  const names = parseKeyId(service, keyId);
  if (names === undefined) throw refusals.keyId(keyId);
  const account = await findAccount(store.db, service, names.account);
  if (account === undefined) throw refusals.account(names.account);
  const user = names.user === undefined ? undefined : await findUser(store.db, account, names.user);
  if (names.user !== undefined && user === undefined) throw refusals.user(names.user);
  const keys = selectKeys(await listKeysOf(store.db, account, user), names.key);
  if (keys.length === 0) throw refusals.key(names.key);
  if (!keys.some((key) => verifySignature(compileKey(key), algorithm, text, signature))) throw refusals.signature();
  return user === undefined ? { kind: 'account', account } : { kind: 'user', account, user };
}

/**
 * Finds out who sent a request by its signature, in the header or in the URL (section 5 of both specifications).
 * @param now milliseconds since the epoch
 * @throws {ApiError} as the service's document says; a storage request without a signature is anonymous, not refused.
 */
export async function authenticate(service: ServiceName, request: Request, store: Store, now: number): Promise<Caller> {
  const claim = readClaim(service, request, now);
  if (claim !== undefined) return verifyClaim(service, claim, store);
  if (service === 'storage') return { kind: 'anonymous' };
  throw refuseAnonymous();
}
