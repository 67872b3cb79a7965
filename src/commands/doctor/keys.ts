import { existsSync } from 'node:fs';
import { quoteShell } from '../../base/quote.ts';
import type { ServiceName } from '../../api/operation.ts';
import type { Context } from '../../cli/command.ts';
import { readCount, readFlag } from '../../config/settings.ts';
import type { Finding } from './finding.ts';

type LocalKey = Awaited<ReturnType<Context['localKeys']>>[number];

function matches({ md5, sha256 }: LocalKey, id: string): boolean {
  return id.replace(/^MD5:/i, '').toLowerCase() === md5 || id.replace(/=+$/, '') === sha256;
}

function checkAgent({ world }: Context, keys: readonly LocalKey[]): Finding {
  const socket = world.env['SSH_AUTH_SOCK'];
  const held = keys.filter(({ source }) => source === 'ssh-agent').length;
  if (socket === undefined || socket === '') return { check: 'agent', status: 'ok', detail: 'none: SSH_AUTH_SOCK is not set' };
  if (!existsSync(socket)) {
    return {
      check: 'agent',
      status: 'warning',
      detail: `SSH_AUTH_SOCK names ${socket}, which does not exist`,
      fix: 'start an agent: eval "$(ssh-agent)"',
    };
  }
  return { check: 'agent', status: 'ok', detail: `${held} ${held === 1 ? 'key' : 'keys'}` };
}

/** A finding if a service does not accept keys of this type; else none. */
function checkUse(context: Context, key: LocalKey, service: ServiceName): Finding[] {
  const takesCurve = service === 'storage' && key.type === 'ecdsa' && context.settings().storEcdsa !== undefined;
  if (key.usableFor.includes(service) || (takesCurve && readFlag(context.settings().storEcdsa ?? { value: '', source: '' }))) return [];
  const types = service === 'compute' ? 'RSA and ECDSA' : 'RSA and DSA';
  return [
    {
      check: 'key',
      status: 'failed',
      detail: `the ${service} service takes ${types} keys, and this one is ${key.type}`,
      fix: `make one: ssh-keygen -t rsa -b 3072${service === 'storage' ? '\nor name another for the storage: the setting storKeyId' : ''}`,
    },
  ];
}

function describeKey(key: LocalKey): Finding {
  const detail = `${key.type} ${key.bits}, ${key.md5}, ${key.source}${key.encrypted ? ', encrypted' : ''}`;
  if (key.problem !== undefined) return { check: 'key', status: 'warning', detail, fix: key.problem };
  if (key.encrypted) return { check: 'key', status: 'ok', detail, fix: `to give its passphrase once: ssh-add ${quoteShell(key.source)}` };
  return { check: 'key', status: 'ok', detail };
}

function findWindow({ settings }: Context): Finding[] {
  const { signWindow } = settings();
  const seconds = signWindow === undefined ? 0 : readCount(signWindow);
  return seconds === 0
    ? []
    : [{ check: 'key', status: 'ok', detail: `one signature is used for ${Math.min(240, seconds)} s (${signWindow?.source ?? ''})` }];
}

function checkChosen(context: Context, keys: readonly LocalKey[], id: string, services: readonly ServiceName[]): Finding[] {
  const found = keys.find((key) => matches(key, id));
  if (found) return [describeKey(found), ...services.flatMap((service) => checkUse(context, found, service))];
  const usable = keys.filter(({ usableFor }) => usableFor.includes('compute'));
  return [
    {
      check: 'key',
      status: 'failed',
      detail: `no private key with the fingerprint ${id} is in the ssh-agent or in ~/.ssh`,
      fix:
        usable.length === 0
          ? 'cloud keys local shows the keys of this machine'
          : usable.map(({ md5, source }) => `cloud profile edit --key-id ${md5}  (${source})`).join('\n'),
    },
  ];
}

/** Checks the agent and the keys that sign requests. */
export async function* checkKeys(context: Context, services: readonly ServiceName[]): AsyncGenerator<Finding> {
  const keys = await context.localKeys();
  const { keyId, keyFile, storKeyId } = context.settings();
  yield checkAgent(context, keys);
  if (keyFile !== undefined) {
    const isThere = existsSync(keyFile.value);
    const detail = `${keyFile.value} (${keyFile.source})${isThere ? '' : ' does not exist'}`;
    yield {
      check: 'key',
      status: isThere ? 'ok' : 'failed',
      detail,
      ...(!isThere && { fix: 'give another with --key-file, or a fingerprint with --key-id' }),
    };
    const found = keys.find(({ source }) => source === keyFile.value);
    if (found) {
      yield describeKey(found);
      yield* (storKeyId === undefined ? services : (['compute'] as const)).flatMap((service) => checkUse(context, found, service));
    }
  } else if (keyId === undefined) {
    yield {
      check: 'key',
      status: 'failed',
      detail: 'no key is named',
      fix: 'cloud keys local shows the keys of this machine\ncloud profile edit --key-id FINGERPRINT',
    };
  } else yield* checkChosen(context, keys, keyId.value, storKeyId === undefined ? services : ['compute']);
  if (storKeyId !== undefined) yield* checkChosen(context, keys, storKeyId.value, ['storage']);
  yield* findWindow(context);
}
