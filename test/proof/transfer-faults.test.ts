import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { startFaultProxy, type Fault, type FaultProxy } from '../support/fault-proxy.ts';
import { report } from '../support/figures.ts';
import { createRandom } from '../support/random.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';

/**
 * Transfers through a proxy that damages them. Whatever happens: identical bytes and exit code 0, or an error and another code, and no
 * local file under its final name that is not whole. 500 of them in the long form.
 */

const wanted = scale(40, 500);
const user = useLocal('--http');
const mebibyte = 1024 * 1024;
let proxy: FaultProxy | undefined;

afterEach(async () => {
  await proxy?.close();
});

const harmful: readonly Fault[] = ['cut up', 'cut down', 'flip up', 'flip down', 'stall up', 'stall down', 'head only', 'no response'];

/**
 * About one exchange in six is damaged, at most ten apart and by each harmful fault in turn, so that each happens whatever the seed.
 * When the service is busy, it is so for some exchanges in a row.
 */
function createFaults(): (method: string, random: () => number) => Fault {
  let [busy, quiet, harmed] = [0, 0, 0];
  return (_method, random) => {
    if (busy > 0) {
      busy -= 1;
      return 'busy';
    }
    if (random() < 0.03) {
      busy = Math.floor(random() * 3);
      return 'busy';
    }
    if (quiet > 0) {
      quiet -= 1;
      return 'none';
    }
    quiet = Math.floor(random() * 10);
    harmed += 1;
    return harmful[harmed % harmful.length] ?? 'none';
  };
}

/** Most are small, a few are large enough for several ranges or parts. */
function chooseSize(random: () => number, number: number): number {
  if (number % 10 === 0) return Math.floor(random() * 64 * mebibyte);
  return number % 7 === 0 ? 0 : Math.floor(random() ** 4 * 4 * mebibyte);
}

function digest(content: Uint8Array): string {
  return createHash('md5').update(content).digest('base64');
}

test(`${wanted} transfers up and as many down, seed ${seed}`, { timeout: 60_000 + wanted * 4000 }, async () => {
  const random = createRandom(seed);
  const faults = await startFaultProxy(user.local.storUrl, createFaults(), seed);
  proxy = faults;
  const through = (...words: string[]): string[] => [...words, '--stor-url', faults.url, '--timeout', '1s', '--retries', '4', '-q'];
  let [done, failed] = [0, 0];

  /** What is at the service, asked without the proxy. */
  async function md5At(path: string): Promise<string | undefined> {
    const { code, stdout } = await user.cloud(['stor', 'stat', path, '-j']);
    return code === 0 ? (JSON.parse(stdout) as { contentMD5: string }).contentMD5 : undefined;
  }

  for (let number = 0; number < wanted; number += 1) {
    // Every third time a tree of ten, in one process.
    const count = number % 3 === 0 ? Math.min(10, wanted - number) : 1;
    const names = Array.from({ length: count }, (_, index) => `file ${number + index}`);
    const folder = `run${number}`;
    const contents = new Map(names.map((name, index) => [name, randomBytes(chooseSize(random, number + index))]));
    for (const [name, content] of contents) user.write(`${folder}/${name}`, content);
    number += count - 1;

    const [only = ''] = names;
    const large = (contents.get(only)?.length ?? 0) > 12 * mebibyte;
    const up =
      count > 1
        ? ['stor', 'put', '-r', folder, folder]
        : large
          ? ['mpu', 'upload', `${folder}/${only}`, folder, '--part-size', '5M']
          : ['stor', 'put', `${folder}/${only}`, folder];
    const place = (name: string): string => (count > 1 ? `${folder}/${name}` : folder);
    const put = await user.cloud(through(...up));
    for (const [name, content] of contents) {
      const stored = await md5At(place(name));
      if (put.code === 0) expect([name, stored, put.stderr]).toEqual([name, digest(content), '']);
      else expect(put.stderr).not.toBe('');
      if (stored !== digest(content)) await user.cloud(['stor', 'put', `${folder}/${name}`, '-p', place(name), '-q']);
    }
    if (put.code === 0) done += count;
    else failed += count;

    const got = await user.cloud(through('stor', 'get', ...(count > 1 ? ['-r'] : []), folder, `${folder}.back`));
    for (const [name, content] of contents) {
      const file = join(user.home, `${folder}.back`, count > 1 ? name : '');
      if (got.code === 0 || existsSync(file))
        expect([name, digest(readFileSync(file)), got.stderr]).toEqual([name, digest(content), expect.any(String)]);
      if (got.code === 0) expect(got.stderr).toBe('');
      else expect(got.stderr).not.toBe('');
    }
    if (got.code === 0) done += count;
    else failed += count;

    const piped = await user.cloud(through('stor', 'get', place(only)));
    const whole = contents.get(only) ?? Buffer.alloc(0);
    if (piped.code === 0) expect(piped.bytes.equals(whole)).toBe(true);
    else expect(piped.stderr).not.toBe('');
    for (const name of [folder, `${folder}.back`]) rmSync(join(user.home, name), { recursive: true, force: true });
  }

  if (wanted >= 40) expect(harmful.filter((fault) => !faults.counts.has(fault))).toEqual([]);
  report('proof', {
    name: `damaged transfers, ${wanted} up and as many down: whole; ended with an error and left nothing`,
    ours: String(done),
    theirs: String(failed),
    promise: 'none short or wrong',
  });
  // The program is there to succeed: many transfers have to, also on a busy machine.
  expect(done).toBeGreaterThan(failed / 2);
  expect(readdirSync(user.home).filter((name) => name.endsWith('.part'))).toEqual([]);
});
