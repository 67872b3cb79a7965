import { existsSync } from 'node:fs';
import { quoteShell } from '../../base/quote.ts';
import type { ServiceName } from '../../api/operation.ts';
import type { Context } from '../../cli/command.ts';
import { readCount, readFlag } from '../../config/settings.ts';
import { failed, ok, warning, type Finding } from './finding.ts';
import { countOf } from '../../base/count.ts';

type LocalKey = Awaited<ReturnType<Context['localKeys']>>[number];

function matches({ md5, sha256 }: LocalKey, id: string): boolean {
  return id.replace(/^MD5:/i, '').toLowerCase() === md5 || id.replace(/=+$/, '') === sha256;
}

async function checkAgent({ world, viewAgent }: Context): Promise<Finding> {
  const socket = world.env['SSH_AUTH_SOCK'];
  if (socket === undefined || socket === '') return ok('agent', 'none: SSH_AUTH_SOCK is not set');
  if (existsSync(socket)) {
    const { keys, problem } = await viewAgent();
    if (problem !== undefined) return warning('agent', problem, 'check the agent: ssh-add -l');
    return ok('agent', keys.length === 0 ? 'no keys; it may be locked' : countOf(keys.length, 'key'));
  }
  return warning('agent', `SSH_AUTH_SOCK names ${socket}, which does not exist`, 'start an agent: eval "$(ssh-agent)"');
}

/** A finding if a service does not accept keys of this type; else none. */
function checkUse(context: Context, key: LocalKey, service: ServiceName): Finding[] {
  const takesCurve = service === 'storage' && key.type === 'ecdsa' && readFlag(context.settings().storEcdsa);
  if (takesCurve || key.usableFor.includes(service)) return [];
  const types = service === 'compute' ? 'RSA and ECDSA' : 'RSA and DSA';
  const fix = `create one: ssh-keygen -t rsa -b 3072${service === 'storage' ? '\nor set another key for the object storage: the setting storKeyId' : ''}`;
  return [failed('key', `the ${service} service accepts ${types} keys, but this one is ${key.type}`, fix)];
}

function describeKey(key: LocalKey): Finding {
  const detail = `${key.type} ${key.bits}, ${key.md5}, ${key.source}${key.encrypted ? ', encrypted' : ''}`;
  if (key.problem !== undefined) return warning('key', detail, key.problem);
  return ok('key', detail, key.encrypted ? `to enter its passphrase once: ssh-add ${quoteShell(key.source)}` : undefined);
}

function findWindow({ settings }: Context): Finding[] {
  const { signWindow } = settings();
  const seconds = signWindow === undefined ? 0 : readCount(signWindow);
  return seconds === 0 ? [] : [ok('key', `a signature is reused for ${Math.min(240, seconds)} s (${signWindow?.source ?? ''})`)];
}

function checkChosen(context: Context, keys: readonly LocalKey[], id: string, services: readonly ServiceName[]): Finding[] {
  const found = keys.find((key) => matches(key, id));
  if (found) return [describeKey(found), ...services.flatMap((service) => checkUse(context, found, service))];
  const usable = keys.filter(({ usableFor }) => usableFor.includes('compute'));
  const fixes = usable.map(({ md5, source }) => `cloud profile edit --key-id ${md5}  (${source})`);
  const fix = fixes.join('\n') || 'to list the keys of this machine: cloud keys local';
  return [failed('key', `no private key with the fingerprint ${id} in the ssh-agent or in ~/.ssh`, fix)];
}

/** Checks the agent and the keys that sign requests. */
export async function* checkKeys(context: Context, services: readonly ServiceName[]): AsyncGenerator<Finding> {
  const keys = await context.localKeys();
  const { keyId, keyFile, storKeyId } = context.settings();
  yield await checkAgent(context);
  if (keyFile !== undefined) {
    const isThere = existsSync(keyFile.value);
    const detail = `${keyFile.value} (${keyFile.source})${isThere ? '' : ' does not exist'}`;
    yield isThere ? ok('key', detail) : failed('key', detail, 'give another with --key-file, or a fingerprint with --key-id');
    const found = keys.find(({ source }) => source === keyFile.value);
    if (found) {
      yield describeKey(found);
      yield* (storKeyId === undefined ? services : (['compute'] as const)).flatMap((service) => checkUse(context, found, service));
    }
  } else if (keyId === undefined) {
    const fix = 'to list the keys of this machine: cloud keys local\ncloud profile edit --key-id FINGERPRINT';
    yield failed('key', 'no key is set', fix);
  } else yield* checkChosen(context, keys, keyId.value, storKeyId === undefined ? services : ['compute']);
  if (storKeyId !== undefined) yield* checkChosen(context, keys, storKeyId.value, ['storage']);
  yield* findWindow(context);
}
