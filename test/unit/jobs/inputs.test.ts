import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { mapInOrder } from '../../../src/commands/jobs/ahead.ts';
import { feedInputs, gatherInputs } from '../../../src/commands/jobs/inputs.ts';
import { collect, createScripted, id } from './service.ts';

const add = `POST /demo/jobs/${id}/live/in`;

async function feed(words: string[], stdin = ''): Promise<{ count: number; bodies: string[] }> {
  const { context, answers, requests } = createScripted(stdin);
  answers[add] = { status: 204 };
  const count = await feedInputs(context, id, await gatherInputs(context, words));
  return { count, bodies: requests.filter(({ line }) => line === add).map(({ body }) => body) };
}

test('paths of arguments and of stdin are sent whole, as they are, each ended by a newline', async () => {
  const { count, bodies } = await feed(['a b%20.txt', '~~/public/ü', '-', '/demo/stor//x/'], 'one\r\n\n/other/stor/two%\nthree');
  expect(bodies.join('')).toBe('/demo/stor/a b%20.txt\n/demo/public/ü\n/demo/stor/one\n/other/stor/two%\n/demo/stor/three\n/demo/stor/x\n');
  expect(count).toBe(6);
});

test('300,000 paths of stdin go in batches of about 256 KiB', async () => {
  const wanted = Array.from({ length: 300_000 }, (_, at) => `/demo/stor/logs/${at}.txt\n`).join('');
  const { count, bodies } = await feed([], wanted);
  expect([count, bodies.join('') === wanted]).toEqual([300_000, true]);
  expect(bodies.length).toBeLessThan(60);
  expect(Math.max(...bodies.map((body) => body.length))).toBeLessThan(320 * 1024);
});

test('a slow source is passed on as it speaks, and read no faster than the service takes it', async () => {
  const { context, answers, requests } = createScripted();
  answers[add] = { status: 204 };
  let read = 0;
  async function* speak(): AsyncGenerator<string[]> {
    for (let at = 0; at < 3; at += 1) {
      read += 1;
      yield [`/demo/stor/${at}`];
      await sleep(60);
    }
  }
  const ahead: number[] = [];
  await feedInputs(context, id, speak(), (_, total) => void ahead.push(read - total));
  expect(requests).toHaveLength(3);
  expect(Math.max(...ahead)).toBeLessThanOrEqual(1);
});

test('paths that cannot be inputs are refused with their line', async () => {
  await expect(feed(['-'], 'a\n/\n')).rejects.toThrow('stdin, line 2: /: names no account');
  await expect(feed(['-'], 'a\nb/../c\n')).rejects.toThrow('stdin, line 2: b/../c: "." and ".." are no names');
  await expect(feed(['two\nlines'])).rejects.toThrow('inputs of a job are lines');
});

test('work ahead keeps the order of the items, its bound, and throws a failure in its turn', async () => {
  let running = 0;
  let most = 0;
  const work = async (item: number): Promise<number> => {
    running += 1;
    most = Math.max(most, running);
    await sleep((item * 7) % 5);
    running -= 1;
    if (item === 30) throw new Error('thirty');
    return item;
  };
  expect(await collect(mapInOrder([1, 2, 3, 4, 5, 6], 3, work))).toEqual([1, 2, 3, 4, 5, 6]);
  expect(most).toBe(3);
  const seen: number[] = [];
  const run = async (): Promise<void> => {
    for await (const item of mapInOrder([28, 29, 30, 31], 4, work)) seen.push(item);
  };
  await expect(run()).rejects.toThrow('thirty');
  expect(seen).toEqual([28, 29]);
});
