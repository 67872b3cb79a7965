import { section, type Rows } from '../check.ts';
import type { Shape } from '../shape.ts';
import { listOf, objectOf, type Json } from '../response.ts';
import type { At } from '../at.ts';
import { assertGone, assertShape, idOf, invalid, lacking, makeKey, makeOtherPair, makeUser, makeUserKey, missing } from './steps.ts';

const key: Shape = { name: 'text', fingerprint: 'text', key: 'text' };

/** The keys to check: those of the account or of a sub-user. */
interface Keys {
  /** Part of the ids of the checks; `word` is part of the names of the operations. */
  readonly prefix: string;
  readonly word: string;
  readonly make: (at: At) => Promise<Json>;
  readonly base: (at: At) => Promise<string>;
}

/** Checks of lists and creation. */
function creationRows({ prefix, word, make, base }: Keys): Rows {
  return {
    [`list-${prefix}keys`]: {
      states: `List${word}Keys returns 200 with a list of keys: name, fingerprint (MD5) and key (section 2)`,
      run: async (at) => {
        await at.need(make);
        const keys = listOf(at.expect(await at.compute('GET', await base(at)), { status: 200 }));
        assertShape(at, keys, key, { attested: 'flag', multifactor: 'list' });
        const md5 = /^[\da-f]{2}(?::[\da-f]{2}){15}$/u;
        const areMd5 = keys.every(({ fingerprint }) => md5.test(String(fingerprint)));
        at.assert(areMd5, 'a fingerprint is not an MD5 fingerprint');
      },
    },
    [`create-${prefix}key`]: {
      states: `Create${word}Key returns 201 with the key, whose name is the fingerprint by default`,
      run: async (at) => {
        const pair = await at.need(makeOtherPair);
        const path = await base(at);
        const made = objectOf(at.expect(await at.compute('POST', path, { json: { key: pair.openssh } }), { status: 201 }));
        try {
          at.assert(made['fingerprint'] === pair.md5 && made['name'] === pair.md5, `name and fingerprint are ${JSON.stringify(made)}`);
        } finally {
          await at.compute('DELETE', `${path}/${pair.md5}`);
        }
      },
    },
    [`create-${prefix}key-missing`]: {
      states: `Create${word}Key without a key returns MissingParameter`,
      run: async (at) => {
        at.expect(await at.compute('POST', await base(at), { json: { name: at.run } }), lacking);
      },
    },
    [`create-${prefix}key-invalid`]: {
      states: `Create${word}Key with an invalid key returns InvalidArgument`,
      run: async (at) => {
        at.expect(await at.compute('POST', await base(at), { json: { name: at.run, key: 'ssh-rsa AAAA' } }), invalid);
      },
    },
  };
}

function keyRows({ prefix, word, make, base }: Keys): Rows {
  return {
    [`get-${prefix}key`]: {
      states: `Get${word}Key returns 200 with the key, by its name or its fingerprint`,
      run: async (at) => {
        const { name, fingerprint } = await at.need(make);
        for (const id of [name, fingerprint]) {
          const shown = objectOf(at.expect(await at.compute('GET', `${await base(at)}/${String(id)}`), { status: 200 }));
          at.assert(shown['fingerprint'] === fingerprint, `${String(id)} is ${String(shown['fingerprint'])}`);
        }
      },
    },
    [`get-${prefix}key-missing`]: {
      states: `Get${word}Key of a key that does not exist returns 404 ResourceNotFound`,
      run: async (at) => {
        at.expect(await at.compute('GET', `${await base(at)}/conformance-of-nothing`), missing);
      },
    },
    [`delete-${prefix}key`]: {
      states: `Delete${word}Key returns 204 with an empty body, and the key no longer exists`,
      run: async (at) => {
        const pair = await at.need(makeOtherPair);
        const path = await base(at);
        at.expect(await at.compute('POST', path, { json: { name: `${at.run}-gone`, key: pair.openssh } }), { status: 201 });
        at.expect(await at.compute('DELETE', `${path}/${pair.md5}`), { status: 204, empty: true });
        await assertGone(at, `${path}/${pair.md5}`);
      },
    },
  };
}

const rowsOf = (kind: Keys): Rows => ({ ...creationRows(kind), ...keyRows(kind) });

export const keys = section('compute', '4 Keys', {
  ...rowsOf({
    prefix: '',
    word: '',
    make: makeKey,
    base: async () => '/my/keys',
  }),
  ...rowsOf({
    prefix: 'user-',
    word: 'User',
    make: makeUserKey,
    base: async (at) => `/my/users/${idOf(await at.need(makeUser))}/keys`,
  }),
});
