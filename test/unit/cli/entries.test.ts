import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storage } from '../../../src/api/storage.ts';
import { createClient, type StorageClient } from '../../../src/client/client.ts';
import type { Context } from '../../../src/cli/command.ts';
import type { Candidate } from '../../../src/commands/complete/candidate.ts';
import { listPaths } from '../../../src/commands/complete/entries.ts';
import { createTestService, signHeaders, type TestService } from '../../support/service.ts';

const count = 100_000;
const folder = '/demo/stor/many';

/** A client of the storage in this process that tells which listings it asked for, and how many records came. */
function createCountingClient(service: TestService): { client: StorageClient; requests: string[]; records: () => number } {
  const requests: string[] = [];
  let lines = 0;
  const keyId = `/demo/keys/${service.key.fingerprint}`;
  const client = createClient(storage, {
    endpoint: {
      service: 'storage',
      url: new URL('https://storage.test'),
      authorize: async () => {
        const { date = '', authorization = '' } = signHeaders('storage', { key: service.key, keyId });
        return { date, authorization };
      },
      roles: [],
      apiVersion: '*',
    },
    send: async ({ method, url, headers }) => {
      requests.push(url.pathname + url.search);
      const request = { method, target: url.pathname + url.search, headers: { host: url.host, ...headers } };
      const response = await service.handlers.storage(request, { remoteAddress: '127.0.0.1', secure: true });
      async function* counted() {
        for await (const piece of response.body) {
          lines += Buffer.from(piece).toString().split('\n').length - 1;
          yield piece;
        }
      }
      return { ...response, body: counted() };
    },
    retry: { retries: 0, base: 1, most: 1, sleep: () => Promise.resolve(), random: Math.random },
    now: Date.now,
  });
  return { client, requests, records: () => lines };
}

/** What a shell would complete of what is offered. */
function findCommon(candidates: readonly Candidate[]): string {
  const [first = '', ...others] = candidates.map(({ value }) => value);
  return others.reduce((common, value) => {
    let at = 0;
    while (at < common.length && common[at] === value[at]) at += 1;
    return common.slice(0, at);
  }, first);
}

describe('paths of a large directory', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await createTestService();
    await service.storage('PUT', folder, { headers: { 'content-type': 'application/json; type=directory' } });
    // Made by the database: a hundred thousand rows of the query builder take ten times as long.
    const numbers = sql`with recursive numbers(n) as (select 0 union all select n + 1 from numbers where n + 1 < ${count})`;
    const shared = sql`${folder}, 'object', 0, '{}', '[]', 0, 1, 2, ''`;
    await service.store.write(async (transaction) => {
      await sql`${numbers}
        insert into entries (parent, type, mtime, headers, role_tags, children, size, copies, md5, name, etag)
        select ${shared}, printf('n%06d', n), printf('n%06d', n) from numbers`.execute(transaction);
    });
  });
  afterAll(async () => await service.close());

  async function complete(typed: string) {
    const { client, requests, records } = createCountingClient(service);
    const context = { storage: client } as Context;
    const ask = async <T>(_name: string, fetch: (context: Context) => Promise<T>): Promise<T> => await fetch(context);
    const candidates = await listPaths({ typed, words: [], nouns: [], account: 'demo', ask, open: async () => context });
    return { candidates, requests, records: records() };
  }

  it.each([
    ['many/', 'many/n0'],
    ['many/n', 'many/n0'],
    ['many/n0', 'many/n0'],
    ['many/n01', 'many/n01'],
    ['many/n01234', 'many/n01234'],
    ['many/n012345', 'many/n012345'],
    ['~~/stor/many/n09999', '~~/stor/many/n09999'],
    ['stor:/demo/stor/many/n0777', 'stor:/demo/stor/many/n0777'],
    ['many/x', ''],
  ])('after "%s" all have "%s" in common, found in a few short requests', async (typed, common) => {
    const { candidates, requests, records } = await complete(typed);
    expect(findCommon(candidates)).toBe(common);
    expect(candidates.every(({ value }) => value.startsWith(typed))).toBe(true);
    expect(requests.length).toBeLessThan(8);
    expect(records).toBeLessThan(300);
    if (typed !== 'many/') expect(requests[0]).toContain('marker=');
  });

  it('offers all of a small number', async () => {
    const { candidates, requests } = await complete('many/n01234');
    expect(candidates.map(({ value }) => value)).toEqual(Array.from({ length: 10 }, (_, at) => `many/n01234${at}`));
    expect(requests).toHaveLength(1);
  });
});
