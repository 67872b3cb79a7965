import { randomBytes, randomUUID } from 'node:crypto';
import { openStore } from '../../src/server/store/open.ts';

/** Puts one row after the other where the statement allows only so many values at once. */
const batch = 500;

const empty = {
  company_name: null,
  first_name: 'Somebody',
  last_name: null,
  address: null,
  postal_code: null,
  city: null,
  state: null,
  country: null,
  phone: null,
};

function makeFingerprint(): string {
  return [...randomBytes(16)].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}

/**
 * Fills the data of a local service that is stopped: the account gets keys, users, policies and roles, each role with one member and one
 * policy, numbered `from` to below `to`. Requests would take minutes, most of them for the hashing of passwords.
 */
export async function addCrowd(dir: string, from: number, to: number): Promise<void> {
  const store = await openStore(dir);
  try {
    const { id: account } = await store.db.selectFrom('accounts').select('id').where('login', '=', 'demo').executeTakeFirstOrThrow();
    for (let start = from; start < to; start += batch) {
      const numbers = Array.from({ length: Math.min(batch, to - start) }, (_, at) => start + at);
      const rows = numbers.map((number) => ({ number, created: number, user: randomUUID(), policy: randomUUID(), role: randomUUID() }));
      await store.write(async (transaction) => {
        for (const { number, created, user, policy, role } of rows) {
          const login = `user${number}`;
          const person = { ...empty, id: user, account, login, login_key: login, email: `${login}@example.com`, password: '' };
          await transaction
            .insertInto('users')
            .values({ ...person, created, updated: created })
            .execute();
          const key = {
            name: `key${number}`,
            fingerprint: makeFingerprint(),
            key: `ssh-rsa ${randomBytes(279).toString('base64')} ${login}`,
          };
          await transaction
            .insertInto('keys')
            .values({ account, user: null, attestation: null, multifactor: null, created, ...key })
            .execute();
          const rules = JSON.stringify(['CAN listkeys AND getkey', 'CAN getimage WHEN sourceip = 10.0.0.0/8']);
          await transaction
            .insertInto('policies')
            .values({ id: policy, account, name: `policy${number}`, rules, description: null, created })
            .execute();
          await transaction
            .insertInto('roles')
            .values({ id: role, account, name: `role${number}`, created })
            .execute();
          await transaction.insertInto('role_policies').values({ role, policy, position: 0 }).execute();
          await transaction
            .insertInto('role_members')
            .values({ role, type: 'subuser', member: user, is_default: 1, position: 0 })
            .execute();
        }
      });
    }
  } finally {
    await store.close();
  }
}
