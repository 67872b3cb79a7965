import type { ServiceName } from '../api/operation.ts';
import { chooseAlgorithm, type Signer } from './signer.ts';

/** Headers that make a request a signed one. */
export interface SignedHeaders {
  date: string;
  authorization: string;
}

/** Signs requests. The two services sign nothing but the time, so requests of the same second share one signature. */
export interface Authorizer {
  headers(): Promise<SignedHeaders>;
  /** Operations of the private key so far. */
  signatures(): number;
}

/** The specification's form of compute, or the later draft's, which storage has always used. */
export type AuthorizationForm = 'legacy' | 'draft';

export interface AuthorizerOptions {
  signer: Signer;
  service: ServiceName;
  /** Full path, as `writeKeyId` gives it. */
  keyId: string;
  /** Milliseconds since the epoch; corrected by the caller when the service's clock is known to differ. */
  now: () => number;
  /** Seconds that a signature is kept for keys that want a touch or a PIN; 0: for the second that its date names. */
  window?: number;
  /** Of compute only; `legacy` when absent. */
  form?: AuthorizationForm;
}

type Writer = (date: string) => Promise<string>;

function createWriter({ signer, service, keyId, form = 'legacy' }: AuthorizerOptions): Writer {
  const { algorithm, hash } = chooseAlgorithm(signer);
  const start = `Signature keyId="${keyId}",algorithm="${algorithm}"`;
  const signText = async (text: string): Promise<string> => Buffer.from(await signer.sign(text, hash)).toString('base64');
  if (service === 'storage') return async (date) => `${start},signature="${await signText(`date: ${date}`)}"`;
  if (form === 'draft') return async (date) => `${start},headers="date",signature="${await signText(`date: ${date}`)}"`;
  return async (date) => `${start} ${await signText(date)}`;
}

/**
 * Makes the `Date` and `Authorization` headers of requests (section 5 of both specifications).
 * @throws {KeyError} when the key's type signs for no service
 */
export function createAuthorizer(options: AuthorizerOptions): Authorizer {
  const write = createWriter(options);
  const kept = Math.max(options.window ?? 0, 1);
  let signatures = 0;
  let latest: { second: number; headers: Promise<SignedHeaders> } | undefined;

  const signSecond = (second: number): Promise<SignedHeaders> => {
    const date = new Date(second * 1000).toUTCString();
    signatures += 1;
    const headers = write(date).then((authorization) => ({ date, authorization }));
    const entry = { second, headers };
    latest = entry;
    headers.catch(() => {
      // A refusal is not remembered: the user may unlock the agent and try again.
      if (latest === entry) latest = undefined;
    });
    return headers;
  };
  const giveHeaders = (): Promise<SignedHeaders> => {
    const second = Math.floor(options.now() / 1000);
    const age = latest === undefined ? -1 : second - latest.second;
    return latest !== undefined && age >= 0 && age < kept ? latest.headers : signSecond(second);
  };
  return { headers: giveHeaders, signatures: () => signatures };
}
