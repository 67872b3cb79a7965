import type { Headers } from '../../api/message.ts';
import type { Operation } from '../../api/operation.ts';
import type { Parameters } from '../http/read-parameters.ts';
import { signatureRefusals } from './signature-refusals.ts';

/**
 * A pre-signed URL covers method, path and query, but neither headers nor body. Everything that decides what its request does must
 * therefore be in these three. What the URL stores (the bytes of an object or a part) is up to whoever has the URL.
 */

/** Headers that grant access: the source of a link, and the roles that may act on what is written. */
const givingAway = ['location', 'role-tag'] as const;

/**
 * Rejects a request by pre-signed URL whose meaning depends on headers or on lines of its body.
 * @throws {ApiError} 403 `InvalidQueryStringAuthentication` (storage), 401 `InvalidCredentials` (compute).
 */
export function assertUrlCovers({ service, name, method, summary, body }: Operation, headers: Headers): void {
  const { presigned: refusal } = signatureRefusals[service];
  // The lines are paths of objects, which would be read with the permissions of the signer.
  if (body === 'lines')
    throw refusal(`a pre-signed URL does not sign the lines of a body: ${name} needs a signature in the Authorization header`);
  // Headers decide whether a PUT is anything other than an object or a part.
  if (service === 'storage' && method === 'PUT' && body !== 'bytes')
    throw refusal(
      `a pre-signed URL for PUT stores an object or a part; ${name} (${summary}) needs a signature in the Authorization header`,
    );
  const header = givingAway.find((each) => headers[each] !== undefined);
  if (header !== undefined) throw refusal(`a pre-signed URL does not sign the header ${header}: remove the header`);
}

/**
 * Rejects parameters in the body of a request by pre-signed URL unless its query, which is signed, contains them too.
 * @throws {ApiError} as `assertUrlCovers`.
 */
export function assertQueryHas({ service }: Operation, body: Parameters, query: URLSearchParams): void {
  const added = Object.entries(body).find(([name, value]) => query.get(name) !== value);
  if (added === undefined) return;
  throw signatureRefusals[service].presigned(`a pre-signed URL does not sign the body: put "${added[0]}" into the query`);
}
