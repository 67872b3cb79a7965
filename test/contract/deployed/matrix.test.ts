import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  addUser,
  createTestService,
  signAs,
  signHeaders,
  signUrl,
  type Sending,
  type TestReply,
  type TestService,
} from '../../support/service.ts';
import { shareRsaKey } from '../../support/rsa-keys.ts';

/** Section 5 of the object storage and section 1 of the compute service, as tables: each way of sending with each outcome. */

let service: TestService;
const userKey = shareRsaKey('bob');
const secret = '/demo/stor/secret';
beforeAll(async () => {
  service = await createTestService();
  await addUser(service.store, service.account, 'bob', userKey);
  await service.storage('PUT', secret, { body: Buffer.from('the secret') });
  await service.compute('POST', '/my/policies', { json: { name: 'read', rules: ['CAN getobject'] } });
  const members = [{ type: 'subuser', login: 'bob' }];
  await service.compute('POST', '/my/roles', { json: { name: 'readers', policies: [{ name: 'read' }], members } });
  await service.compute('POST', '/my/roles', { json: { name: 'strangers' } });
  await service.storage('PUT', `${secret}?metadata=true`, { headers: { 'role-tag': 'readers' } });
});
afterAll(() => service.close());

type Way = 'header' | 'URL';
interface Case {
  readonly by?: 'demo' | 'bob';
  readonly keyId?: string;
  readonly role?: string;
  readonly secure?: boolean;
  /** Seconds from now: of the date of a header, of the end of a URL. */
  readonly at?: number;
  readonly damages?: boolean;
}

function send(way: Way, { by = 'demo', keyId, role, secure = true, at = 0, damages = false }: Case): Promise<TestReply> {
  const signer = {
    ...(by === 'demo' ? signAs('storage', service.key, 'demo') : signAs('storage', userKey, 'demo', 'bob')),
    ...(keyId && { keyId }),
  };
  if (way === 'URL') {
    const expires = Date.now() / 1000 + (at === 0 ? 60 : at);
    const target = signUrl('storage', { ...signer, expires }, secret, role === undefined ? {} : { role });
    return service.storage('GET', damages ? `${target}&x=1` : target, { signing: false, secure });
  }
  const date = new Date(Date.now() + at * 1000).toUTCString();
  const signed = signHeaders('storage', { ...signer, date });
  const later = new Date(Date.parse(date) + 1000).toUTCString();
  const headers = { ...signed, ...(damages && { date: later }), ...(role !== undefined && { role }) };
  return service.storage('GET', secret, { signing: false, headers, secure });
}

describe('section 5 of the object storage', () => {
  test.each<[string, Case, header: [number, string?], url: [number, string?]]>([
    ['the account', {}, [200], [200]],
    ['plain HTTP', { secure: false }, [403, 'SecureTransportRequired'], [200]],
    ['a sub-user without a role', { by: 'bob' }, [403, 'NoMatchingRoleTag'], [403, 'NoMatchingRoleTag']],
    ['a sub-user with its role', { by: 'bob', role: 'readers' }, [200], [200]],
    ['all roles', { by: 'bob', role: '*' }, [200], [200]],
    ['a role of others', { by: 'bob', role: 'strangers' }, [409, 'InvalidRole'], [409, 'InvalidRole']],
    ['a role that exists, the account itself', { role: 'strangers' }, [200], [200]],
    ['an unknown role', { role: 'nobody' }, [409, 'InvalidRole'], [409, 'InvalidRole']],
    ['an unknown account', { keyId: '/nobody/keys/a' }, [403, 'AccountDoesNotExist'], [403, 'AccountDoesNotExist']],
    ['an unknown user', { keyId: '/demo/nobody/keys/a' }, [403, 'UserDoesNotExist'], [403, 'UserDoesNotExist']],
    ['an unknown key', { keyId: '/demo/keys/a' }, [403, 'KeyDoesNotExist'], [403, 'KeyDoesNotExist']],
    ['a malformed keyId', { keyId: 'demo' }, [403, 'InvalidKeyId'], [403, 'InvalidKeyId']],
    ['a date of before', { at: -301 }, [400, 'InvalidHeader'], [403, 'InvalidQueryStringAuthentication']],
    ['what is signed was changed', { damages: true }, [403, 'InvalidSignature'], [403, 'InvalidSignature']],
  ])('%s', async (_, sent, byHeader, byUrl) => {
    for (const [way, expected] of [
      ['header', byHeader],
      ['URL', byUrl],
    ] as const) {
      const { status, code, text } = await send(way, sent);
      expect([way, status, code]).toEqual([way, expected[0], expected[1]]);
      expect(text === 'the secret').toBe(status === 200);
    }
  });
});

describe('section 1 of the compute service: parameters in four encodings', () => {
  type Parameters = Readonly<Record<string, string>>;
  const encodings: Readonly<Record<string, (parameters: Parameters) => { query: string; sending: Sending }>> = {
    query: (parameters) => ({ query: `?${new URLSearchParams(parameters).toString()}`, sending: {} }),
    JSON: (parameters) => ({ query: '', sending: { json: parameters } }),
    form: (parameters) => ({
      query: '',
      sending: {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: Buffer.from(new URLSearchParams(parameters).toString()),
      },
    }),
    multipart: (parameters) => ({
      query: '',
      sending: {
        headers: { 'content-type': 'multipart/form-data; boundary=edge' },
        body: Buffer.from(
          `${Object.entries(parameters)
            .map(([name, value]) => `--edge\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
            .join('')}--edge--\r\n`,
        ),
      },
    }),
  };
  const cases: [string, string, Parameters, number, object][] = [
    ['a text', '/my', { city: 'Göteborg & more' }, 200, { city: 'Göteborg & more' }],
    ['a boolean', '/my', { cloud_cns_enabled: 'true' }, 200, { cloud_cns_enabled: true }],
    ['a field of deployed services', '/my', { triton_cns_enabled: 'false' }, 200, { cloud_cns_enabled: false }],
    ['a bad value', '/my', { cloud_cns_enabled: 'maybe' }, 409, { code: 'InvalidArgument' }],
    [
      'a list as JSON text',
      '/my/policies',
      { name: 'listed', rules: '["CAN getkey","CAN listkeys"]' },
      201,
      { rules: ['CAN getkey', 'CAN listkeys'] },
    ],
    ['a list of one as text', '/my/policies', { name: 'single', rules: 'CAN getkey' }, 201, { rules: ['CAN getkey'] }],
    ['a missing field', '/my/policies', { name: 'without' }, 409, { code: 'MissingParameter' }],
  ];
  test.each(Object.keys(encodings).flatMap((encoding) => cases.map((each) => [encoding, ...each] as const)))(
    'by %s: %s',
    async (encoding, _, path, parameters, status, shown) => {
      const { query = '', sending = {} } = encodings[encoding]?.(parameters) ?? {};
      const response = await service.compute('POST', `${path}${query}`, sending);
      expect([response.status, response.json]).toEqual([status, expect.objectContaining(shown)]);
      if (status === 201) await service.compute('DELETE', `/my/policies/${(response.json as { id: string }).id}`);
    },
  );
});
