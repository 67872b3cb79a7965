import type { Headers } from '../../../api/message.ts';
import type { At } from '../at.ts';
import { section } from '../check.ts';
import { Skip } from '../outcome.ts';
import { listOf, objectOf, type Response, type Wanted } from '../response.ts';
import { signDate, signUrl, type Signing } from '../sign.ts';
import { askUntilOther, makeKey, makeKeyPair, makeOtherPair, makePolicy, makeRole, makeUser, makeUserKey } from './steps.ts';

type Change = Partial<Pick<Signing, 'keyName' | 'isBare' | 'isWrong' | 'algorithm' | 'user' | 'key' | 'account'>> & {
  readonly skew?: number;
};

const versioned: Headers = { accept: 'application/json', 'accept-version': '*' };
const refused: Wanted = { status: 401, code: ['InvalidCredentials', 'InvalidSignature', 'InvalidKeyId'] };
const forbidden: Wanted = { status: 403, code: 'NotAuthorized' };

async function authorize(at: At, { skew = 0, ...change }: Change = {}): Promise<Headers> {
  const key = await at.need(makeKeyPair);
  return { ...signDate({ service: 'compute', account: at.account, key, now: at.now() + skew, ...change }) };
}

/** Sends a GET that the check signs itself. */
async function get(at: At, path: string, change: Change = {}, headers: Headers = versioned): Promise<Response> {
  await at.need(makeKey);
  return at.compute('GET', path, { headers: { ...headers, ...(await authorize(at, change)) }, isBare: true });
}

/** Repeats a request until the service knows its key: replicated data may lag. */
function expectTaken(at: At, what: string, ask: () => Promise<Response>): Promise<Response> {
  return askUntilOther(at, what, [401], ask);
}

/** Sends a GET as the sub-user. */
async function getAsUser(at: At, path: string): Promise<Response> {
  await at.need(makeUserKey);
  const { login } = await at.need(makeUser);
  const headers = async (): Promise<Headers> => ({ ...versioned, ...(await authorize(at, { user: String(login) })) });
  return expectTaken(at, 'the key of the sub-user is known', async () =>
    at.compute('GET', path, { headers: await headers(), isBare: true }),
  );
}

async function getByUrl(at: At, given: { method?: string; methods?: string[]; lifetime?: number; spoil?: true }): Promise<Response> {
  await at.need(makeKey);
  const { host = '' } = at.requests.urls.compute ?? {};
  const prefix = at.requests.prefix('compute');
  const signed = signUrl({
    service: 'compute',
    key: await at.need(makeKeyPair),
    account: at.account,
    host,
    path: `${prefix}/my`,
    method: given.method ?? 'GET',
    ...(given.methods && { methods: given.methods }),
    expires: Math.floor(at.now() / 1000) + (given.lifetime ?? 300),
  });
  const target = signed.slice(prefix.length);
  return at.compute('GET', given.spoil ? target.replace('expires=', 'expires=9') : target, { isBare: true });
}

export const authentication = section('compute', '5 Authentication', {
  'key-by-fingerprint': {
    states: 'The key is named by its MD5 fingerprint; the signed string is the value of Date (rules 2 and 3)',
    run: async (at) => at.expect(await expectTaken(at, 'the key is known', () => get(at, '/my')), { status: 200 }),
  },
  'key-by-name': {
    states: 'The key may be named by its name (rule 2)',
    run: async (at) => at.expect(await get(at, '/my', { keyName: `${at.run}-k` }), { status: 200 }),
  },
  'key-bare': {
    states: 'keyId has no quotes (rule 2)',
    run: async (at) =>
      at.expect(await get(at, '/my', { isBare: true }), { status: 200 }, { status: [400, 401], decision: 'keyId must be quoted' }),
  },
  'api-version-header': {
    states: 'Api-Version may replace Accept-Version (section 1, rule 1)',
    run: async (at) => at.expect(await get(at, '/my', {}, { 'api-version': '*' }), { status: 200 }),
  },
  'no-version': {
    states: 'A request without Accept-Version and Api-Version is rejected (section 1, rule 1)',
    run: async (at) =>
      at.expect(
        await get(at, '/my', {}, {}),
        { status: [400, 449] },
        { status: 200, decision: 'a request without a version uses the latest' },
      ),
  },
  'no-authorization': {
    states: 'A request without Authorization returns 401 InvalidCredentials (rule 6)',
    reads: true,
    run: async (at) =>
      at.expect(await at.compute('GET', '/my', { headers: versioned, isBare: true }), { status: 401, code: 'InvalidCredentials' }),
  },
  'no-date': {
    states: 'Date is mandatory (rule 3)',
    run: async (at) => {
      await at.need(makeKey);
      const { authorization = '' } = await authorize(at);
      at.expect(await at.compute('GET', '/my', { headers: { ...versioned, authorization }, isBare: true }), { status: [400, 401] });
    },
  },
  'wrong-signature': {
    states: 'A signature of another text returns 401 InvalidCredentials (rule 6)',
    run: async (at) => at.expect(await get(at, '/my', { isWrong: true }), refused),
  },
  'unknown-key': {
    states: 'An unknown key returns 401 InvalidCredentials (rule 6)',
    run: async (at) => at.expect(await get(at, '/my', { key: await at.need(makeOtherPair) }), refused),
  },
  'skew-accepted': {
    states: 'A Date that differs by 240 s is accepted (rule 3)',
    run: async (at) => {
      for (const skew of [-240_000, 240_000]) at.expect(await get(at, '/my', { skew }), { status: 200 });
    },
  },
  'skew-refused': {
    states: 'A Date that differs by more than 300 s is rejected (rule 3)',
    run: async (at) => {
      for (const skew of [-400_000, 400_000])
        at.expect(await get(at, '/my', { skew }), refused, {
          status: 400,
          code: ['InvalidHeader', 'RequestExpired'],
          decision: 'a wrong Date returns 400 InvalidHeader',
        });
    },
  },
  'other-account': {
    states: 'The resources of another account are forbidden: 403 NotAuthorized (rule 6)',
    reads: true,
    run: async (at) => {
      // The owner of a public image is an account that certainly exists.
      const [{ id }, all] = [objectOf(await at.compute('GET', '/my')), listOf(await at.compute('GET', '/my/images'))];
      const foreign = all.find(({ owner }) => owner !== id);
      if (!foreign) throw new Skip('no other account is known: the account owns all images');
      at.expect(await at.compute('GET', `/${String(foreign['owner'])}/keys`), forbidden, {
        status: 404,
        decision: 'another account returns 404',
      });
    },
  },
  'signed-url': {
    states: 'A pre-signed URL needs no Authorization (rule 4)',
    run: async (at) => {
      at.expect(await getByUrl(at, {}), { status: 200 });
      at.expect(await getByUrl(at, { methods: ['GET', 'HEAD'] }), { status: 200 });
    },
  },
  'signed-url-expired': {
    states: 'A pre-signed URL is invalid after expires (rule 4)',
    run: async (at) => at.expect(await getByUrl(at, { lifetime: -10 }), { status: [401, 403] }),
  },
  'signed-url-method': {
    states: 'A pre-signed URL works only for the methods that it names (rule 4)',
    run: async (at) => at.expect(await getByUrl(at, { methods: ['DELETE'] }), { status: [401, 403] }),
  },
  'signed-url-changed': {
    states: 'A modified pre-signed URL is rejected (rule 4)',
    run: async (at) => at.expect(await getByUrl(at, { spoil: true }), { status: [400, 401, 403] }),
  },
});

export const access = section('compute', '2 Access-control rules', {
  'denied-by-default': {
    states: 'A sub-user without a role may do nothing (rule 1; section 5, rules 5 and 6)',
    run: async (at) => at.expect(await getAsUser(at, '/my/packages'), forbidden),
  },
  allowed: {
    states: 'A sub-user may do what a policy of an active role allows on a resource with the tag of the role (rules 2 and 3)',
    run: async (at) => {
      const { name } = await at.need(makeRole);
      // A tag on a collection of the account itself would be visible to others; the keys of the sub-user belong to this run.
      const { login } = await at.need(makeUser);
      const json = { name: `${at.run}-pa`, rules: ['CAN listuserkeys'] };
      const { id } = objectOf(at.expect(await at.compute('POST', '/my/policies', { json }), { status: 201 }));
      const role = { name: `${at.run}-ra`, policies: [{ id }], members: [{ type: 'subuser', login, default: true }] };
      const made = at.expect(await at.compute('POST', '/my/roles', { json: role, headers: { 'accept-version': '~9' } }), { status: 201 });
      at.assert(objectOf(made)['name'] !== name, 'the response has another role');
      const path = `/${at.account}/users/${String(login)}/keys`;
      at.expect(await getAsUser(at, path), forbidden);
      at.expect(await at.compute('PUT', path, { json: { 'role-tag': [role.name] } }), { status: 200 });
      at.expect(await askUntilOther(at, 'the tag counts', [403], () => getAsUser(at, path)), { status: 200 });
    },
  },
  'each-action': {
    states: 'A rule for one action does not allow another (rule 4)',
    run: async (at) => {
      await at.need(makeRole);
      const { login } = await at.need(makeUser);
      at.expect(await getAsUser(at, `/${at.account}/users/${String(login)}`), forbidden);
    },
  },
  'as-role': {
    states: 'as-role names roles of which the caller is a member (rule 3)',
    run: async (at) => {
      await at.need(makePolicy);
      const { login } = await at.need(makeUser);
      const path = `/${at.account}/users/${String(login)}/keys?as-role=conformance-of-nothing`;
      at.expect(await getAsUser(at, path), { status: [403, 409] });
    },
  },
});
