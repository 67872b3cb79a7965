import type { Headers } from '../../../api/message.ts';
import type { At } from '../at.ts';
import { section } from '../check.ts';
import { Skip } from '../outcome.ts';
import { askUntilOther, makeKey, makeKeyPair, makeOtherPair, makeRole, makeUser, makeUserKey } from '../compute/steps.ts';
import type { Response, Wanted } from '../response.ts';
import { signDate, signUrl, type Signing } from '../sign.ts';
import { makeHome, putText } from './directories.ts';

type Change = Partial<Pick<Signing, 'isWrong' | 'algorithm' | 'user' | 'key' | 'account'>> & { readonly skew?: number };

const refused = { status: [401, 403] };

/** An object that these checks read. */
async function makeSecret(at: At): Promise<string> {
  const path = `${await at.need(makeHome)}/secret`;
  at.expect(await putText(at, path), { status: 204 });
  return path;
}

async function send(at: At, { skew = 0, ...change }: Change = {}, headers: Headers = {}): Promise<Response> {
  const path = await at.need(makeSecret);
  const signed = signDate({ service: 'storage', account: at.account, key: await at.need(makeKeyPair), now: at.now() + skew, ...change });
  return at.storage('GET', path, { headers: { ...signed, ...headers }, isBare: true });
}

/** Waits for a new key: the object storage may not know it for a while. */
async function waitForKey(at: At, change: Change = {}): Promise<void> {
  await at.until('the object storage accepts the key', async () => {
    const { status, body } = await send(at, change);
    return status === 403 && /(?:Key|User)DoesNotExist/u.test(body.toString()) ? undefined : true;
  });
}

async function makeKnown(at: At): Promise<void> {
  await at.need(makeKey);
  await waitForKey(at);
}

async function sendKnown(at: At, change: Change = {}): Promise<Response> {
  await at.need(makeKnown);
  return send(at, change);
}

async function getByUrl(at: At, given: { method?: string; lifetime?: number; spoil?: true; isPlain?: true }): Promise<Response> {
  await at.need(makeKnown);
  const { host = '' } = at.requests.urls.storage ?? {};
  const prefix = at.requests.prefix('storage');
  const signed = signUrl({
    service: 'storage',
    key: await at.need(makeKeyPair),
    account: at.account,
    host,
    path: prefix + (await at.need(makeSecret)),
    method: given.method ?? 'GET',
    expires: Math.floor(at.now() / 1000) + (given.lifetime ?? 300),
  });
  const target = signed.slice(prefix.length);
  const [path = '', search = ''] = (given.spoil ? target.replace('expires=', 'expires=9') : target).split('?');
  const query = Object.fromEntries(new URLSearchParams(search));
  return at.storage('GET', path, { query, ...(given.isPlain ? { isPlain: true } : { isBare: true }) });
}

export const authentication = section('storage', '5 Authentication', {
  'rsa-sha256': {
    states: 'A request is authenticated by a signature of date: and the value of Date, with rsa-sha256 (rules 1 to 3)',
    run: async (at) => at.expect(await sendKnown(at), { status: 200 }),
  },
  'rsa-sha1': {
    states: 'The algorithm rsa-sha1 is accepted (rule 2)',
    run: async (at) => at.expect(await sendKnown(at, { algorithm: 'rsa-sha1' }), { status: 200 }),
  },
  'no-authorization': {
    states: 'A request without Authorization is rejected (rule 1)',
    reads: true,
    run: async (at) => at.expect(await at.storage('GET', '~~/stor', { isBare: true }), refused),
  },
  'wrong-signature': {
    states: 'A signature of another text is rejected (rule 3)',
    run: async (at) => at.expect(await sendKnown(at, { isWrong: true }), refused),
  },
  'unknown-key': {
    states: 'An unknown key is rejected (rule 1)',
    run: async (at) => at.expect(await sendKnown(at, { key: await at.need(makeOtherPair) }), refused),
  },
  'sub-user': {
    states: 'A sub-user signs with keyId /<login>/<subuser_login>/keys/<fingerprint>, and selects a role with the header Role (rule 4)',
    run: async (at) => {
      await at.need(makeUserKey);
      const [{ login }, { name }] = [await at.need(makeUser), await at.need(makeRole)];
      const change = { user: String(login) };
      await waitForKey(at, change);
      const path = await at.need(makeSecret);
      at.expect(await send(at, change, { role: String(name) }), { status: 403 });
      at.expect(await putText(at, path, 'a text\n', { 'role-tag': String(name) }), { status: 204 });
      const ask = (): Promise<Response> => send(at, change, { role: String(name) });
      at.expect(await askUntilOther(at, 'the role is active', [403, 409], ask), { status: 200 });
    },
  },
  'signed-url': {
    states: 'A signed URL needs no Authorization (rule 5)',
    run: async (at) => at.expect(await getByUrl(at, {}), { status: 200, body: 'a text\n' }),
  },
  'signed-url-expired': {
    states: 'A signed URL is invalid after expires (rule 5)',
    run: async (at) => at.expect(await getByUrl(at, { lifetime: -10 }), refused),
  },
  'signed-url-changed': {
    states: 'A modified signed URL is rejected (rule 5)',
    run: async (at) => at.expect(await getByUrl(at, { spoil: true }), refused),
  },
  'signed-url-method': {
    states: 'A signed URL works only for the signed method (rule 5)',
    run: async (at) => at.expect(await getByUrl(at, { method: 'DELETE' }), refused),
  },
  'plain-http': {
    states: 'Plain HTTP works only for GET with a signed URL (section 1; rule 5)',
    run: async (at) => {
      if (at.requests.urls.storage?.protocol === 'http:') throw new Skip('the profile uses plain HTTP');
      const signed = await getByUrl(at, { isPlain: true }).catch(() => undefined);
      if (!signed) throw new Skip('the service does not accept plain HTTP on its port, which is allowed');
      at.expect(signed, { status: 200 }, { status: 400, decision: 'the TLS port does not accept plain HTTP' });
      const wanted: Wanted = { status: [301, 400, 401, 403] };
      at.expect(await at.storage('GET', await at.need(makeSecret), { isPlain: true }), wanted);
    },
  },
});
