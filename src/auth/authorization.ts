import type { ServiceName } from '../api/operation.ts';
import { chooseAlgorithm, type Signer } from './signer.ts';

/** The headers that authenticate a request. */
export interface SignedHeaders {
  date: string;
  authorization: string;
}

/** Signs requests. Both services sign only the date, so that requests of the same second share one signature. */
export interface Authorizer {
  headers(): Promise<SignedHeaders>;
  /** Number of private-key operations so far. */
  signatures(): number;
}

/** `legacy`: the form of the compute specification; `draft`: that of the later draft, which storage has always used. */
export type AuthorizationForm = 'legacy' | 'draft';

export interface AuthorizerOptions {
  signer: Signer;
  service: ServiceName;
  /** Full path, as `writeKeyId` gives it. */
  keyId: string;
  /** Milliseconds since the epoch; the caller corrects it when the service's clock is known to differ. */
  now: () => number;
  /** Seconds that a signature is reused, for keys that need a touch or a PIN; 0: only within the second of its date. */
  window?: number;
  /** For compute only; `legacy` when absent. */
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
 * Creates the `Date` and `Authorization` headers of requests (section 5 of both specifications).
 * @throws {KeyError} when no service accepts the key's type
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
      // A failed signature is not cached: the user may unlock the agent and retry.
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
