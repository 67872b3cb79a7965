import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { runOrdered } from '../../../src/base/parallel.ts';
import { feedInputs, gatherInputs } from '../../../src/commands/jobs/inputs.ts';
import { NetworkError } from '../../../src/base/errors.ts';
import { collect, createScripted, id } from './service.ts';

const add = `POST /demo/jobs/${id}/live/in`;

async function feed(words: string[], stdin = ''): Promise<{ count: number; bodies: string[] }> {
  const { context, answers, requests } = createScripted(stdin);
  answers[add] = { status: 204 };
  const count = await feedInputs(context, id, await gatherInputs(context, words, 'wildcards'), 0);
  return { count, bodies: requests.filter(({ line }) => line === add).map(({ body }) => body) };
}

test('paths of arguments and of stdin are sent whole, as they are, each ended by a newline', async () => {
  const { count, bodies } = await feed(['a b%20.txt', '~~/public/ü', '-', '/demo/stor//x/'], 'one\r\n\n/other/stor/two%\nthree');
  expect(bodies.join('')).toBe('/demo/stor/a b%20.txt\n/demo/public/ü\n/demo/stor/one\n/other/stor/two%\n/demo/stor/three\n/demo/stor/x\n');
  expect(count).toBe(6);
});

test('100,000 paths of stdin go in batches of about 256 KiB', async () => {
  const wanted = Array.from({ length: 100_000 }, (_, at) => `/demo/stor/logs/${at}.txt\n`).join('');
  const { count, bodies } = await feed([], wanted);
  expect([count, bodies.join('') === wanted]).toEqual([100_000, true]);
  expect(bodies.length).toBeLessThan(20);
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
  await feedInputs(context, id, speak(), 0, (_, total) => void ahead.push(read - total));
  expect(requests).toHaveLength(3);
  expect(Math.max(...ahead)).toBeLessThanOrEqual(1);
});

test('lines of a slow pipe are sent as they arrive; empty ones are no request', async () => {
  async function* speak(): AsyncGenerator<Uint8Array> {
    for (const text of ['a\nb', '\n', '\n\n', 'c\n']) {
      yield Buffer.from(text);
      await sleep(60);
    }
  }
  const { context, answers, requests } = createScripted(speak());
  answers[add] = { status: 204 };
  expect(await feedInputs(context, id, await gatherInputs(context, [], 'wildcards'), 0)).toBe(3);
  expect(requests.map(({ body }) => body)).toEqual(['/demo/stor/a\n', '/demo/stor/b\n', '/demo/stor/c\n']);
});

describe('a batch whose answer is lost', { concurrent: true }, () => {
  const list = `GET /demo/jobs/${id}/live/in`;
  const three = '/demo/stor/a\n/demo/stor/a\n/demo/stor/b\n';
  /** A service that keeps so many lines of the first request, then breaks the connection. */
  function createBreaking(kept: number, foreign = ''): ReturnType<typeof createScripted> & { inputs: () => string } {
    const scripted = createScripted();
    let inputs = '/demo/stor/earlier\n';
    let isBroken = false;
    scripted.answers[add] = () => {
      const sent = scripted.requests.at(-1)?.body ?? '';
      if (isBroken) {
        inputs += sent;
        return { status: 204 };
      }
      isBroken = true;
      inputs +=
        foreign +
        sent
          .split('\n')
          .slice(0, kept)
          .map((line) => `${line}\n`)
          .join('');
      throw new NetworkError('closed', { code: 'ECONNRESET' });
    };
    scripted.answers[list] = () => ({ body: inputs, headers: { 'result-set-size': String(inputs.split('\n').length - 1) } });
    return { ...scripted, inputs: () => inputs };
  }

  test.each([0, 1, 2, 3])('is compared with what the service kept, %i lines, and only the rest is sent', async (kept) => {
    const { context, inputs, requests } = createBreaking(kept);
    expect(await feedInputs(context, id, [['/demo/stor/a', '/demo/stor/a', '/demo/stor/b']], 1)).toBe(3);
    expect(inputs()).toBe(`/demo/stor/earlier\n${three}`);
    expect(requests.filter(({ line }) => line === add)).toHaveLength(kept === 3 ? 1 : 2);
  });

  test('is not sent again where that might add lines twice: others added some, the stream is cut, or nobody knows what was there', async () => {
    const foreign = createBreaking(0, '/demo/stor/foreign\n');
    await expect(feedInputs(foreign.context, id, [['/demo/stor/a']], 1)).rejects.toThrow('closed');
    const short = createBreaking(1);
    short.answers[list] = { body: '/demo/stor/earlier\n', headers: { 'result-set-size': '120' } };
    await expect(feedInputs(short.context, id, [['/demo/stor/a']], 1)).rejects.toThrow('closed');
    const unknown = createBreaking(0);
    await expect(feedInputs(unknown.context, id, [['/demo/stor/a']], undefined)).rejects.toThrow('closed');
    for (const { requests } of [foreign, short, unknown]) expect(requests.filter(({ line }) => line === add)).toHaveLength(1);
  });

  test('is not sent again when the service refused it', async () => {
    const { context, answers, requests } = createScripted();
    answers[add] = { status: 409 };
    await expect(feedInputs(context, id, [['/demo/stor/a']], 0)).rejects.toMatchObject({ status: 409 });
    expect(requests).toHaveLength(1);
  });
});

test('paths that cannot be inputs are refused with their line', async () => {
  await expect(feed(['-'], 'a\n/\n')).rejects.toThrow('stdin, line 2: /: the path has no account');
  await expect(feed(['-'], 'a\nb/../c\n')).rejects.toThrow('stdin, line 2: b/../c: "." and ".." are not names');
  await expect(feed(['two\nlines'])).rejects.toThrow('an input of a job cannot contain a line end');
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
  expect(await collect(runOrdered([1, 2, 3, 4, 5, 6], work, { limit: 3 }))).toEqual([1, 2, 3, 4, 5, 6]);
  expect(most).toBe(3);
  const seen: number[] = [];
  const run = async (): Promise<void> => {
    for await (const item of runOrdered([28, 29, 30, 31], work, { limit: 4 })) seen.push(item);
  };
  await expect(run()).rejects.toThrow('thirty');
  expect(seen).toEqual([28, 29]);
});
