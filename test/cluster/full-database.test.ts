import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import { lacksSmallDisk, startSmallPostgres, type SmallPostgres } from '../support/full-postgres.ts';
import { createTestService, type TestService } from '../support/service.ts';

/** The disk of PostgreSQL is full: 507, nothing acknowledged is lost, nothing is half there, and all goes on when there is room. */

const cannot = lacksSmallDisk();
if (cannot !== undefined) process.stdout.write(`a full disk of PostgreSQL cannot be made here: ${cannot}\n`);

describe.skipIf(cannot !== undefined)('while the disk of the database is full', () => {
  let small: SmallPostgres;
  let service: TestService;
  let dir = '';
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'cloud-full-'));
    small = await startSmallPostgres();
    service = await createTestService({ open: () => openClusterStore({ database: small.url, bytes: dir }) });
  });
  afterAll(async () => {
    await service?.close();
    await small?.server.stop();
    await rm(dir, { recursive: true, force: true });
  });

  const put = (name: string, body: Uint8Array) => service.storage('PUT', `/demo/stor/${name}`, { body });

  test('writes get 507, reads go on, and all is well when there is room', async () => {
    const stored = new Map<string, Buffer>();
    const refused: string[] = [];
    const store = async (name: string, length: number): Promise<number> => {
      const body = randomBytes(length);
      const { status, code, text } = await put(name, body);
      if (status === 204) stored.set(name, body);
      else {
        expect([status, code, text]).toEqual([507, 'NotEnoughSpace', expect.not.stringContaining('pg_tblspc')]);
        refused.push(name);
      }
      return status;
    };
    /** What was acknowledged is there, and nothing else. */
    const assertStored = async (): Promise<void> => {
      for (const [name, body] of stored) expect(body.equals((await service.storage('GET', `/demo/stor/${name}`)).bytes)).toBe(true);
      for (const name of refused) expect((await service.storage('GET', `/demo/stor/${name}`)).status).toBe(404);
      const { text } = await service.storage('GET', '/demo/stor?limit=1000');
      const names = text
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { name: string }).name);
      expect(names.toSorted()).toEqual([...stored.keys()].toSorted());
    };

    expect([await store('row', 12_000), await store('file', 40_000)]).toEqual([204, 204]);
    await small.fill();
    // Pages that were begun have room for a few more.
    for (let number = 0; refused.length < 5; number += 1) await store(`more${number}`, 16_000);
    expect(stored.size).toBeLessThan(200);
    await assertStored();
    expect((await service.compute('GET', '/my/keys')).status).toBe(200);

    await small.free();
    for (const name of refused.splice(0)) expect([name, await store(name, 16_000)]).toEqual([name, 204]);
    await assertStored();
  });
});
