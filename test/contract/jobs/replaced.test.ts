import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestJobs, narrow, type TestJobs } from './harness.ts';

/** Objects that are overwritten while a job reads them: it reads one of their versions, whole. */

let service: TestJobs;
const large = '/demo/stor/large';
const busy = '/demo/stor/busy';
/** More than fits between looking up and reading without a chance for an overwrite. */
const size = 12 * 1024 * 1024;

/** An object of two parts, which is copied for each task rather than linked. */
async function putLarge(): Promise<void> {
  const { json } = await service.ask('POST', '/demo/uploads', { json: { objectPath: large } });
  const { partsDirectory } = json as { partsDirectory: string };
  const parts = [];
  for (const part of [0, 1]) {
    const { headers } = await service.ask('PUT', `${partsDirectory}/${part}`, { body: randomBytes(size / 2) });
    parts.push(headers['etag']);
  }
  expect((await service.ask('POST', `${partsDirectory}/commit`, { json: { parts } })).status).toBe(201);
}

/** Overwrites an object until the work is done. */
async function whileOverwriting<T>(path: string, pause: number, work: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  let writes = 0;
  const overwrite = async (): Promise<void> => {
    while (!over.signal.aborted) {
      writes += 1;
      await service.put(path, String(writes % 10).repeat(2000));
      await sleep(pause);
    }
  };
  const overwriting = overwrite();
  try {
    return await work();
  } finally {
    over.abort();
    await overwriting;
    expect(writes).toBeGreaterThan(3);
  }
}

beforeAll(async () => {
  service = await createTestJobs(narrow);
  await putLarge();
  await service.put(busy, '0'.repeat(2000));
});
afterAll(() => service.close());

describe('an object that is overwritten all the time', () => {
  test('is read whole by a reducer of 20 inputs', async () => {
    const quiet = Array.from({ length: 13 }, (_, index) => `/demo/stor/q${index}`);
    for (const path of quiet) await service.put(path, 'quiet');
    const { contents, errors } = await whileOverwriting(busy, 20, () =>
      service.run(
        [{ type: 'reduce', exec: `tail -c ${2000 + quiet.length * 5}` }],
        [...Array.from({ length: 6 }, () => large), ...quiet, busy],
      ),
    );
    expect(errors).toEqual([]);
    expect(contents.map((text) => text.replace(/quiet/gu, ''))).toEqual([expect.stringMatching(/^(\d)\1{1999}$/u)]);
  });

  test('is loaded whole as an asset, behind a large one', async () => {
    const assets = [large, busy];
    const { contents, errors } = await whileOverwriting(busy, 5, () =>
      service.run([{ exec: `cat "$MANTA_ASSETS${busy}"`, assets }], [busy]),
    );
    expect(errors).toEqual([]);
    expect(contents).toEqual([expect.stringMatching(/^(\d)\1{1999}$/u)]);
  });

  test('is read whole by maps', async () => {
    const inputs = Array.from({ length: 40 }, () => busy);
    const { contents, errors } = await whileOverwriting(busy, 1, () => service.run([{ exec: 'cat' }], inputs));
    expect(errors).toEqual([]);
    for (const content of contents) expect(content).toMatch(/^(\d)\1{1999}$/u);
    expect(contents).toHaveLength(40);
  });

  test('one that is taken away instead is told as missing', async () => {
    const { contents, errors } = await service.run([{ type: 'reduce', exec: 'tail -c 6' }], [large, busy]);
    expect([contents.length, errors]).toEqual([1, []]);
    const id = await service.create([{ type: 'reduce', exec: 'wc -c' }]);
    await service.add(id, [large, busy]);
    await service.ask('DELETE', busy);
    await service.ask('POST', `/demo/jobs/${id}/live/in/end`);
    const ended = await service.wait(id);
    expect(ended.errors.map(({ code, message }) => [code, message])).toEqual([['EJ_NOENT', `no such object: "${busy}"`]]);
    expect(ended.contents.map((text) => text.trim())).toEqual([String(size)]);
  });
});
