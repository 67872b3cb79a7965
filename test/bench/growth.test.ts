import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { generateLoad } from '../support/load.ts';
import { useLocal } from '../support/sandbox.ts';
import { isLong, scale } from '../support/scale.ts';
import { openServices } from '../support/signed.ts';

/** How the rates of the service change with the number of objects that it has, all in one directory; sizes are a factor of 10 apart. */

const user = useLocal('--http');
const concurrency = 32;
const count = scale(500, 10_000);
const sizes = isLong ? [1000, 10_000, 100_000] : [10, 100, 1000];
const page = 200;
const content = randomBytes(4096);

test('rates with more and more objects', { timeout: 900_000 }, async () => {
  const services = await openServices(user.local, concurrency);
  const ask = async (method: string, path: string, body?: Buffer): Promise<void> => {
    const { status } = await services.send('storage', method, path, body && { body });
    if (status >= 300) throw new Error(`${method} ${path}: ${status}`);
  };
  const directory = { headers: { 'content-type': 'application/json; type=directory' } };
  expect((await services.send('storage', 'PUT', '/demo/stor/many', directory)).status).toBe(204);
  const first = new Map<string, number>();
  let stored = 0;
  for (const size of sizes) {
    const start = stored;
    await generateLoad({ count: size - start, concurrency }, (number) => ask('PUT', `/demo/stor/many/${start + number}`, content));
    stored = size;
    // Prime to every size, so that all objects have their turn.
    const at = (number: number): number => (number * 7919) % size;
    const works: readonly (readonly [string, (number: number) => Promise<void>])[] = [
      ['GET of 4 KiB', (number) => ask('GET', `/demo/stor/many/${at(number)}`)],
      ['PUT of 4 KiB in the place of another', (number) => ask('PUT', `/demo/stor/many/${at(number)}`, content)],
      [`listing of ${Math.min(page, size)} entries`, (number) => ask('GET', `/demo/stor/many?limit=${page}&marker=${at(number)}`)],
    ];
    for (const [name, work] of works) {
      // What runs for the first time is slower.
      await generateLoad({ count: Math.floor(count / 5), concurrency }, work);
      const rate = await generateLoad({ count, concurrency }, work);
      const before = first.get(name) ?? rate;
      first.set(name, before);
      const ours = `${Math.round(rate)}/s`;
      const theirs = `${Math.round(before)}/s with ${sizes[0]} objects`;
      report('bench', { name: `${name}, 32 at once, with ${size} objects`, ours, theirs, ratio: rate / before });
    }
  }
  await services.close();
});
