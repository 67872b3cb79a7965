import { adviseOnUnusedKey, createUnsetError, readUrl } from './endpoints.ts';
import type { ServiceName } from '../api/operation.ts';
import { findSigner } from '../auth/find.ts';
import { writeKeyId } from '../auth/key-id.ts';
import { assertUsable, type Signer } from '../auth/signer.ts';
import type { PresignedRequest } from '../cli/command.ts';
import { askSecret, canAsk } from '../cli/prompt.ts';
import type { Paths } from '../config/paths.ts';
import type { State } from '../config/state.ts';
import { readCount, readFlag, type Sources } from '../config/settings.ts';
import { withHint } from '../base/error-copies.ts';
import { isSystemError, KeyError, type ApiError } from '../base/errors.ts';
import type { World } from '../base/world.ts';

/** Name of the remembered header forms in `State`. */
const memory = 'signing';

export interface SigningOptions {
  world: World;
  paths: Paths;
  /** Remembers which hosts require the later form of the header. */
  state: State;
  settings: () => Sources;
  /** Login of the account that signs. */
  signer: () => string | undefined;
  /** Unlocked keys, shared by all contexts of one run: a passphrase is asked for once. */
  signers: Map<string, Promise<Signer>>;
}

/** Signs the requests to one service. */
export interface Signing {
  /** The headers of a request that is sent now. */
  authorize(): Promise<{ date: string; authorization: string }>;
  /** Called with the refused `authorization` header: true if another form of it should be tried. */
  tryOtherForm(error: ApiError, authorization: string): boolean;
  /** Called when a signature was accepted: remembers its form. */
  remember(): void;
}

/** The signatures of one run. Keys are loaded for the first signature. */
export interface Signings {
  /** The signing of a service, shared by all its clients: one signature serves all requests of a second. */
  find(service: ServiceName): Signing;
  /** Creates a pre-signed URL. */
  presign(service: ServiceName, request: PresignedRequest): Promise<string>;
}

/** The identity that signs for a service: the key, and its `keyId` there. */
interface Identified {
  readonly login: string;
  readonly signer: Signer;
  readonly keyId: string;
}

/** Signs for one service. With an ECDSA key, the later header form is tried when the first is refused, and remembered for the host. */
function createSigning(service: ServiceName, identify: () => Promise<Identified>, { settings, state, world }: SigningOptions): Signing {
  const host = (): string => readUrl(settings(), service).host;
  let form: 'legacy' | 'draft' | undefined;
  let usesCurve = false;
  let making: Promise<{ headers: () => Promise<{ date: string; authorization: string }> }> | undefined;

  async function make() {
    const values = settings();
    const [{ signer, keyId }, { createAuthorizer }] = await Promise.all([identify(), import('../auth/authorization.ts')]);
    usesCurve = signer.publicKey.type === 'ecdsa';
    if (usesCurve && service === 'compute') form ??= state.read(memory)?.[host()] === 'draft' ? 'draft' : 'legacy';
    const window = values.signWindow === undefined ? 0 : Math.min(240, readCount(values.signWindow));
    return createAuthorizer({ signer, service, keyId, now: world.now, window, form: form ?? 'legacy' });
  }

  function tryOtherForm(error: ApiError, authorization: string): boolean {
    // The response to a HEAD has no body, and so no error code.
    const refused = error.status === 401 || (error.status === 400 && ['InvalidHeader', 'Status400'].includes(error.code));
    if (!refused || service !== 'compute' || !usesCurve || authorization.includes('signature="')) return false;
    // With concurrent requests, the first refusal changes the form for all.
    if (form === 'legacy') [form, making] = ['draft', undefined];
    return true;
  }

  /** Remembers the form that a host accepted after refusing the other. */
  function remember(): void {
    if (form !== 'draft' || state.read(memory)?.[host()] === 'draft') return;
    try {
      state.update(memory, (known) => ({ ...known, [host()]: 'draft' }));
    } catch (error) {
      // If it cannot be stored, the next run finds it out again.
      if (!isSystemError(error)) throw error;
    }
  }

  return { authorize: async () => (await (making ??= make())).headers(), tryOtherForm, remember };
}

/** Creates the signatures of one run of the program. */
export function createSignings(options: SigningOptions): Signings {
  const { world, paths, settings, signer: signerLogin, signers } = options;

  function loadSigner(service: ServiceName): Promise<Signer> {
    const values = settings();
    const keyId = (service === 'storage' ? values.storKeyId : undefined) ?? values.keyId;
    const id = `${keyId?.value ?? ''} ${values.keyFile?.value ?? ''}`;
    const known = signers.get(id);
    if (known) return known;
    const loading = findSigner({
      sshDir: paths.ssh,
      ...(keyId && { keyId: keyId.value }),
      ...(values.keyFile && { keyFile: values.keyFile.value }),
      ...(world.env['SSH_AUTH_SOCK'] !== undefined && { agentSocket: world.env['SSH_AUTH_SOCK'] }),
      ...(canAsk(world) && {
        askPassphrase: (path: string, attempt: number) =>
          askSecret(world, `${attempt > 1 ? 'Wrong passphrase. ' : ''}Passphrase of ${path}`),
      }),
    }).catch((error: unknown) => {
      throw error instanceof KeyError ? withHint(error, [...adviseOnUnusedKey(values, world.env), ...error.hints]) : error;
    });
    signers.set(id, loading);
    return loading;
  }

  /** Finds the key that signs for a service and checks that the service accepts it. @returns also its `keyId` */
  async function identify(service: ServiceName): Promise<Identified> {
    const values = settings();
    const login = signerLogin();
    if (login === undefined) throw createUnsetError(values, 'account', 'account');
    const signer = await loadSigner(service);
    assertUsable(signer, service, { ecdsa: readFlag(values.storEcdsa) });
    // An empty value overrides the sub-user of a profile: the account itself signs.
    const user = values.user?.value ? { user: values.user.value } : undefined;
    return { login, signer, keyId: writeKeyId(service, { account: login, ...user, key: signer.publicKey.fingerprints.md5 }) };
  }

  async function presignUrl(service: ServiceName, { methods, path, query = [], lifetime }: PresignedRequest): Promise<string> {
    const [{ login, signer, keyId }, { presign }] = await Promise.all([identify(service), import('../auth/presign.ts')]);
    const { origin, host, pathname } = readUrl(settings(), service);
    const parameter = service === 'compute' ? 'as-role' : 'role';
    const roles = query.some(([name]) => name === parameter) ? undefined : settings().role?.value;
    const target = await presign({
      service,
      signer,
      keyId,
      methods,
      host,
      path: pathname.replace(/\/+$/, '') + path,
      user: login,
      expires: (world.now() + lifetime) / 1000,
      query: roles ? [...query, [parameter, roles]] : query,
    });
    return origin + target;
  }

  const signings = new Map<ServiceName, Signing>();

  return {
    find: (service) => {
      const signing = signings.get(service) ?? createSigning(service, () => identify(service), options);
      signings.set(service, signing);
      return signing;
    },
    presign: presignUrl,
  };
}
