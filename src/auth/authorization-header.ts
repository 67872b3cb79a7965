import type { ServiceName } from '../api/operation.ts';
import type { AuthorizationForm } from './authorization.ts';

/** A parsed `Authorization` header; only its grammar has been checked. */
export interface ParsedSignature {
  keyId: string;
  /** In lower case. */
  algorithm: string;
  /** Names of the signed headers in lower case; absent when the header does not list them. */
  headers?: string[];
  /** Base64. */
  signature: string;
  /** `legacy`: the signature follows the parameters; `draft`: it is one of them. */
  form: AuthorizationForm;
}

/** The reason why a request's signature cannot be read. */
export type SyntaxReason =
  /** Another scheme than `Signature`. */
  | 'scheme'
  /** The header, or a header that it lists as signed, is missing or malformed. */
  | 'syntax'
  /** A pre-signed URL that is incomplete, expired or for another method. */
  | 'presigned';

/** An invalid `Authorization` header or pre-signed URL. The message is sent to the client. */
export class AuthorizationSyntaxError extends Error {
  override readonly name = 'AuthorizationSyntaxError';
  readonly reason: SyntaxReason;

  constructor(message: string, reason: SyntaxReason = 'syntax') {
    super(message);
    this.reason = reason;
  }
}

/** The parts of a request that a signature may cover. */
export interface SignableRequest {
  method: string;
  /** Path and query as in the request line. */
  target: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
}

const parameter = /\s*([A-Za-z]+)=(?:"([^"]*)"|([^",\s]+))(,?)/y;
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Reads `name="value"` pairs, quoted or not, and returns the text that follows the last pair. */
function readParameters(text: string): { parameters: Map<string, string>; rest: string } {
  const parameters = new Map<string, string>();
  let offset = 0;
  let more = true;
  while (more) {
    parameter.lastIndex = offset;
    const match = parameter.exec(text);
    if (match === null)
      throw new AuthorizationSyntaxError('the Authorization header is malformed: expected name="value" pairs separated by commas');
    const [whole, name = '', quoted, bare = '', comma] = match;
    if (parameters.has(name)) throw new AuthorizationSyntaxError(`the Authorization header has the parameter ${name} twice`);
    parameters.set(name, quoted ?? bare);
    offset += whole.length;
    more = comma === ',';
  }
  return { parameters, rest: text.slice(offset) };
}

/**
 * Parses an `Authorization` header in the forms of both services: `Signature keyId=...,algorithm="..." <base64>` and
 * `Signature keyId="...",algorithm="...",headers="...",signature="<base64>"`.
 * @throws {AuthorizationSyntaxError}
 */
export function parseAuthorization(header: string): ParsedSignature {
  const [, scheme = '', text = ''] = /^\s*(\S+)\s*(.*)$/s.exec(header) ?? [];
  if (scheme.toLowerCase() !== 'signature') throw new AuthorizationSyntaxError('the only authorization scheme is Signature', 'scheme');
  const { parameters, rest } = readParameters(text);
  const trailing = rest.trim();
  const inside = parameters.get('signature');
  const signature = inside ?? trailing;
  if (inside !== undefined && trailing !== '')
    throw new AuthorizationSyntaxError('the Authorization header is malformed: text follows its parameters');
  const missing = ['keyId', 'algorithm'].find((name) => (parameters.get(name) ?? '') === '');
  if (missing !== undefined) throw new AuthorizationSyntaxError(`the Authorization header lacks ${missing}`);
  if (signature === '') throw new AuthorizationSyntaxError('the Authorization header lacks the signature');
  // In the `draft` form, a signature that is not Base64 is an invalid signature, which is reported after errors of account, user and key.
  if (inside === undefined && !base64.test(signature)) throw new AuthorizationSyntaxError('the signature is not base64');
  const headers = (parameters.get('headers') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  return {
    keyId: parameters.get('keyId') ?? '',
    algorithm: (parameters.get('algorithm') ?? '').toLowerCase(),
    ...(headers.length > 0 && { headers }),
    signature,
    form: inside === undefined ? 'legacy' : 'draft',
  };
}

/** Names of the signed headers. The default is `date`, or `x-date` if only that was sent: browsers cannot set `Date`. */
function listSigned(parsed: ParsedSignature, request: SignableRequest): string[] {
  const names = parsed.headers ?? [request.headers['date'] === undefined && request.headers['x-date'] !== undefined ? 'x-date' : 'date'];
  if (!names.includes('date') && !names.includes('x-date')) throw new AuthorizationSyntaxError('date must be among the signed headers');
  return names;
}

function readSigned(name: string, { method, target, headers }: SignableRequest): string {
  if (name === '(request-target)') return `${method.toLowerCase()} ${target}`;
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (value === undefined) throw new AuthorizationSyntaxError(`the header ${name} is signed but missing`);
  return value;
}

/** The signed `date` or `x-date` header, whose clock skew is checked. @throws {AuthorizationSyntaxError} when it is missing. */
export function signedDate(parsed: ParsedSignature, request: SignableRequest): string {
  return readSigned(listSigned(parsed, request).includes('date') ? 'date' : 'x-date', request);
}

/**
 * The text that must have been signed. The `legacy` form of compute: bare values, one a line; the `draft` form and storage: `name: value`
 * lines.
 * @throws {AuthorizationSyntaxError} when a signed header is missing, or no date is signed
 */
export function signedText(parsed: ParsedSignature, service: ServiceName, request: SignableRequest): string {
  if (service === 'storage' && parsed.form === 'legacy')
    throw new AuthorizationSyntaxError('the Authorization header lacks the parameter signature');
  const names = listSigned(parsed, request);
  const values = names.map((name) => readSigned(name, request));
  return (parsed.form === 'legacy' ? values : values.map((value, index) => `${names[index]}: ${value}`)).join('\n');
}
