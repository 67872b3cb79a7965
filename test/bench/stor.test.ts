import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { generateLoad } from '../support/load.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';
import { openServices } from '../support/signed.ts';

/**
 * Speed of transfers as ratios to what others reach in the same run, against the same service; `README.md` has the table. With two
 * cores, of which the service takes one, the MD5 that curl does not compute is most of the difference: the limits are those of
 * such a machine.
 */

const user = useLocal();
const mebibyte = 1024 * 1024;
const largeSize = 256 * mebibyte;
const fileCount = scale(1000, 10_000);
const concurrency = 16;
const rounds = scale(1, 5);

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Seconds that a line of the shell takes; it must end well. */
async function time(line: string): Promise<number> {
  const started = performance.now();
  const { code, stderr } = await user.shell(line);
  expect([line, code, stderr]).toEqual([line, 0, '']);
  return (performance.now() - started) / 1000;
}

/** Medians of two lines that take turns. */
async function race(ours: string, theirs: string, before = 'true'): Promise<{ ours: number; theirs: number }> {
  const [a, b]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    await user.shell(before);
    a.push(await time(ours));
    await user.shell(before);
    b.push(await time(theirs));
  }
  return { ours: median(a), theirs: median(b) };
}

beforeAll(async () => {
  const piece = randomBytes(16 * mebibyte);
  for (let at = 0; at < largeSize; at += piece.length) {
    piece.writeUInt32LE(at / mebibyte);
    appendFileSync(join(user.home, 'large'), piece);
  }
  await user.cloud(['stor', 'put', 'large', 'large', '-q']);
  const folder = join(user.home, 'many');
  mkdirSync(folder);
  for (let number = 0; number < fileCount; number += 1) writeFileSync(join(folder, `file ${number}`), randomBytes(4096));
});

function rate(bytes: number, seconds: number): string {
  return `${Math.round(bytes / mebibyte / seconds)} MiB/s`;
}

test('256 MiB down and up, as curl does it with the same URLs and files', { timeout: 600_000 }, async () => {
  const curl = `curl -sS --fail --cacert '${user.local.caFile}'`;
  const { stdout: get } = await user.cloud(['stor', 'sign', 'large']);
  const { stdout: put } = await user.cloud(['stor', 'sign', 'by-curl', '--method', 'PUT']);
  const down = await race('cloud stor get large back -q', `${curl} -o back '${get.trim()}'`, 'rm -f back');
  report('bench', {
    name: 'get 256 MiB, MD5 checked; curl, unchecked',
    ours: rate(largeSize, down.ours),
    theirs: rate(largeSize, down.theirs),
    ratio: down.theirs / down.ours,
  });
  const up = await race('cloud stor put large by-cloud -q', `${curl} -T large '${put.trim()}'`, 'sync');
  report('bench', {
    name: 'put 256 MiB, MD5 checked; curl, unchecked',
    ours: rate(largeSize, up.ours),
    theirs: rate(largeSize, up.theirs),
    ratio: up.theirs / up.ours,
  });
  expect(down.theirs / down.ours).toBeGreaterThan(0.25);
  expect(up.theirs / up.ours).toBeGreaterThan(0.4);
});

/** Sends requests over connections that stay open, `concurrency` at once; requests per second. */
async function sendLoad(method: 'PUT' | 'GET', body: Buffer | undefined): Promise<number> {
  const services = await openServices(user.local, concurrency);
  const rate = await generateLoad({ count: fileCount, concurrency }, async (number) => {
    const { status } = await services.send('storage', method, `/${user.local.account}/stor/load/file%20${number}`, body && { body });
    expect(status).toBe(method === 'PUT' ? 204 : 200);
  });
  await services.close();
  return rate;
}

test('many small files up and down in one process, as a load generator does it', { timeout: 1_200_000 }, async () => {
  await user.cloud(['stor', 'mkdir', 'load']);
  const ratios: Record<'put' | 'get', { ours: number[]; theirs: number[] }> = {
    put: { ours: [], theirs: [] },
    get: { ours: [], theirs: [] },
  };
  for (let round = 0; round < rounds; round += 1) {
    ratios.put.theirs.push(await sendLoad('PUT', randomBytes(4096)));
    ratios.put.ours.push(fileCount / (await time(`cloud stor put -r many many${round} -P ${concurrency} -q`)));
    ratios.get.theirs.push(await sendLoad('GET', undefined));
    ratios.get.ours.push(fileCount / (await time(`cloud stor get -r many${round} back${round} -P ${concurrency} -q`)));
    expect((await user.shell(`diff -r many back${round}`)).stdout).toBe('');
    rmSync(join(user.home, `back${round}`), { recursive: true });
  }
  for (const [name, { ours, theirs }] of Object.entries(ratios)) {
    const [a, b] = [median(ours), median(theirs)];
    const what = `${name} -r of ${fileCount} files of 4 KiB, 16 at once; load generator`;
    report('bench', { name: what, ours: `${Math.round(a)}/s`, theirs: `${Math.round(b)}/s`, ratio: a / b });
    expect(a / b).toBeGreaterThan(0.6);
  }
});
