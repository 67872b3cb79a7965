import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLocal, type LocalServices } from 'cloud/local';

/** A test suite of somebody who uses the module; test/proof/local-module.test.ts runs it. */

let ready: LocalServices;
beforeAll(async () => {
  ready = await startLocal({ account: 'jill', empty: true, fixtures: './fixtures' });
});
afterAll(() => ready.stop());

const cloud = (services: LocalServices, ...words: string[]): string =>
  execFileSync('cloud', words, { env: { ...process.env, ...services.env }, encoding: 'utf8' });

test('a fork has the fixtures, and what it does is its own', async () => {
  const own = await ready.fork();
  expect(own.account).toBe('jill');
  expect(cloud(own, 'stor', 'cat', 'a.txt')).toBe('June');
  expect(cloud(own, 'policies', 'list', '-o', 'name')).toBe('reading\n');
  cloud(own, 'stor', 'rm', '-q', '-y', 'a.txt');
  expect(cloud(ready, 'stor', 'cat', 'a.txt')).toBe('June');
  await own.stop();
});

test('services that have stopped say so by the error of the module; accounts that were added are listed', async () => {
  const own = await startLocal({ empty: true, options: ['--add-account', 'other'] });
  expect(own.accounts).toMatchObject([{ account: 'other', keyFile: `${own.dataDir}/keys/other.pem` }]);
  await own.stop();
  for (const work of [() => own.clock.get(), () => own.faults.list(), () => own.requests(), () => own.snapshot('x')])
    await expect(work()).rejects.toMatchObject({
      name: 'LocalServiceError',
      code: 'LocalError',
      message: expect.stringContaining('have stopped'),
    });
});

test('a snapshot is given back, and can be forked', async () => {
  expect(await ready.snapshot('before')).toMatchObject({ name: 'before', objects: 1 });
  cloud(ready, 'stor', 'rm', '-q', '-y', 'a.txt');
  const own = await ready.fork({ snapshot: 'before' });
  expect(cloud(own, 'stor', 'cat', 'a.txt')).toBe('June');
  await own.stop();
  await ready.restore('before');
  expect(cloud(ready, 'stor', 'cat', 'a.txt')).toBe('June');
  await expect(ready.restore('none')).rejects.toMatchObject({ name: 'LocalServiceError', code: 'NotFound' });
});

test('clock, faults and requests are those of the commands', async () => {
  const url = cloud(ready, 'stor', 'sign', 'a.txt', '--expires', '1h').trim();
  const fetchStatus = (): string =>
    execFileSync('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--cacert', String(ready.caFile), url], { encoding: 'utf8' });
  expect(fetchStatus()).toBe('200');
  expect((await ready.clock.advance(2 * 3_600_000)).offset).toBe(7_200_000);
  expect(fetchStatus()).toBe('403');
  expect((await ready.clock.reset()).offset).toBe(0);
  const { id } = await ready.faults.add('getobject', '503', { count: 1, path: '*/a.txt' });
  expect(cloud(ready, 'stor', 'cat', 'a.txt')).toBe('June');
  expect(await ready.faults.list()).toMatchObject([{ id, injected: 1, left: 0 }]);
  await ready.faults.clear(id);
  expect(await ready.faults.list()).toEqual([]);
  const failed = await ready.requests({ failed: true });
  expect(failed.map(({ status }) => status)).toEqual(expect.arrayContaining([403, 503]));
  await expect(ready.faults.add('nothing', '503')).rejects.toThrow('nothing');
});
