import { acceptedAlgorithms } from '../../auth/verify.ts';
import type { ServiceName } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';

/** The error of a service for each way in which authentication can fail. */
export interface SignatureRefusals {
  /** A scheme other than `Signature`. */
  scheme(message: string): ApiError;
  /** A header that cannot be parsed, or a signed header that is missing. */
  syntax(message: string): ApiError;
  /** A pre-signed URL that is incomplete, expired or for another method. */
  presigned(message: string): ApiError;
  skew(message: string): ApiError;
  algorithm(name: string): ApiError;
  keyId(keyId: string): ApiError;
  account(login: string): ApiError;
  user(login: string): ApiError;
  key(name: string): ApiError;
  signature(): ApiError;
}

function createCredentialsError(message: string): ApiError {
  return new ApiError(401, 'InvalidCredentials', message);
}

/** The same error for all of these, so that nobody learns which accounts and keys exist. */
function createUnknownKeyError(): ApiError {
  return createCredentialsError('the signature does not match a known key');
}

function createHeaderError(message: string): ApiError {
  return new ApiError(400, 'InvalidHeader', message);
}

function describeAlgorithm(service: ServiceName, name: string): string {
  return `the algorithm ${name} is not supported; use one of ${acceptedAlgorithms[service].join(', ')}`;
}

const compute: SignatureRefusals = {
  scheme: createCredentialsError,
  syntax: createHeaderError,
  presigned: createCredentialsError,
  skew: createCredentialsError,
  algorithm: (name) => createCredentialsError(describeAlgorithm('compute', name)),
  keyId: createUnknownKeyError,
  account: createUnknownKeyError,
  user: createUnknownKeyError,
  key: createUnknownKeyError,
  signature: createUnknownKeyError,
};

const storage: SignatureRefusals = {
  scheme: (message) => new ApiError(403, 'AuthorizationSchemeNotAllowed', message),
  syntax: createHeaderError,
  presigned: (message) => new ApiError(403, 'InvalidQueryStringAuthentication', message),
  skew: createHeaderError,
  algorithm: (name) => new ApiError(401, 'InvalidAlgorithm', describeAlgorithm('storage', name)),
  keyId: (keyId) => new ApiError(403, 'InvalidKeyId', `the keyId ${keyId} is not of the form /login/keys/MD5 or /login/user/keys/MD5`),
  account: (login) => new ApiError(403, 'AccountDoesNotExist', `the account ${login} does not exist`),
  user: (login) => new ApiError(403, 'UserDoesNotExist', `the user ${login} does not exist`),
  key: (name) => new ApiError(403, 'KeyDoesNotExist', `the key ${name} does not exist`),
  signature: () => new ApiError(403, 'InvalidSignature', 'the signature does not match the request'),
};

/** The authentication errors of each service, as the authentication sections of the decisions define them. */
export const signatureRefusals: Readonly<Record<ServiceName, SignatureRefusals>> = { compute, storage };
