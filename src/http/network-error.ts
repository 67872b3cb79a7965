import { exitCodes, NetworkError, SilentServiceError } from '../base/errors.ts';

interface Words {
  message: (host: string) => string;
  hint?: string;
  /** True if the same request may soon succeed. */
  transient?: true;
}

const trustHint = 'trust the certificate authority with --ca FILE; --insecure accepts any certificate and gives no protection';
const untrusted: Words = { message: (host) => `the certificate of ${host} is not signed by a trusted authority`, hint: trustHint };
const cut: Words = { message: (host) => `${host} closed the connection before the response was complete`, transient: true };
const timeHint = 'check the URL, or allow more time with --timeout';
const slow: Words = { message: (host) => `${host} did not respond in time`, hint: timeHint, transient: true };
const idle: Words = { message: (host) => `${host} sent no data for too long`, hint: 'allow more time with --timeout', transient: true };
const notTls: Words = { message: (host) => `${host} does not speak TLS`, hint: 'check the URL and its port' };
const largeHeaders: Words = { message: (host) => `${host} responded with headers that are too large` };

/** Messages for the error codes of Node.js. */
const words: Readonly<Record<string, Words>> = {
  ECONNREFUSED: {
    message: (host) => `nothing is listening at ${host}: connection refused`,
    hint: 'check the URL; for the local service: cloud local start',
    transient: true,
  },
  ENOTFOUND: {
    message: (host) => `host ${host} does not exist: its name does not resolve`,
    hint: 'check the URL: cloud profile get --explain',
  },
  EAI_AGAIN: {
    message: (host) => `the name of ${host} cannot be resolved at the moment`,
    hint: 'check the network connection and the URL: cloud profile get --explain',
    transient: true,
  },
  EHOSTUNREACH: { message: (host) => `${host} cannot be reached: no route to host`, transient: true },
  ENETUNREACH: { message: (host) => `${host} cannot be reached: network unreachable`, transient: true },
  ETIMEDOUT: slow,
  IDLE: idle,
  ECONNRESET: cut,
  EPIPE: cut,
  TruncatedReply: cut,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  CERT_HAS_EXPIRED: { message: (host) => `the certificate of ${host} has expired` },
  CERT_NOT_YET_VALID: { message: (host) => `the certificate of ${host} is not valid yet`, hint: 'check the clock of this machine' },
  ERR_TLS_CERT_ALTNAME_INVALID: { message: (host) => `the certificate is for another host than ${host}`, hint: 'check the URL' },
  EPROTO: notTls,
  ERR_SSL_WRONG_VERSION_NUMBER: notTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: notTls,
  HPE_HEADER_OVERFLOW: largeHeaders,
};

/** A connection error in the form of Node.js. @param code a code from the table above, or one that begins with `HPE_` */
export function createFailure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const code: unknown = 'code' in at ? at.code : undefined;
    if (typeof code === 'string' && (code in words || code.startsWith('HPE_'))) return code;
    if (at instanceof AggregateError && at.errors.length > 0) return codeOf(at.errors[0]);
  }
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'NetworkError';
}

/**
 * Converts an error of a socket to a `NetworkError`; returns other errors unchanged.
 * @param isUnsent true for an error of opening a connection. The code does not tell: systems report ETIMEDOUT and EHOSTUNREACH of open
 * connections too.
 */
export function toNetworkError(error: unknown, url: URL, isUnsent = false): unknown {
  if (error instanceof NetworkError || !(error instanceof Error) || error.name === 'AbortError') return error;
  const code = codeOf(error);
  const known = words[code];
  if (known) return new NetworkError(known.message(url.host), { code, hint: known.hint, isUnsent, cause: error });
  if (code.startsWith('HPE_')) {
    return new NetworkError(`${url.host} sent a response that is not HTTP`, {
      code,
      hint: 'check the URL and its port',
      isUnsent,
      cause: error,
    });
  }
  return new NetworkError(`the request to ${url.host} failed: ${error.message}`, { code, isUnsent, cause: error });
}

/** True for connection errors after which a retry may succeed. */
export function isTransient(error: unknown): boolean {
  return error instanceof NetworkError && !(error instanceof SilentServiceError) && words[error.code]?.transient === true;
}

/** True if the service received nothing of the request, which may therefore be sent again even if it is not idempotent. */
export function isUnsent(error: unknown): boolean {
  return error instanceof NetworkError && error.isUnsent;
}

/** True if the service did not respond in time. */
export function timedOut(error: unknown): boolean {
  return error instanceof NetworkError && error.exitCode === exitCodes.timedOut;
}

/** The error of a request that must not be retried, with a warning if only its response may have been lost. */
export function warnOfEffect(error: unknown): unknown {
  if (!(error instanceof NetworkError) || words[error.code]?.transient !== true || error.isUnsent) return error;
  const details = { code: error.code, hint: 'the change may have been applied; check before retrying', cause: error };
  return error instanceof SilentServiceError ? new SilentServiceError(error.message, details) : new NetworkError(error.message, details);
}
