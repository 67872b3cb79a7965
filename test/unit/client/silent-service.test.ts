import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readAll, streamOf, type HttpResponse } from '../../../src/api/message.ts';
import { NetworkError, SilentServiceError } from '../../../src/base/errors.ts';
import { isTransient, warnOfEffect } from '../../../src/http/network-error.ts';
import type { Outgoing, Send } from '../../../src/http/send.ts';
import { SilenceGuard } from '../../../src/http/silent-service.ts';

/** Requests to one service, of which what happens is decided by path; the clock of the guard is moved by hand. */
const timeoutMs = 1000;
const ok: HttpResponse = { status: 200, headers: {}, body: streamOf() };
const failure = (code: string): Error => new NetworkError(`failed: ${code}`, { code });
const outgoing = (path = '/', more: Partial<Outgoing> = {}): Outgoing => ({
  method: 'GET',
  url: new URL(path, 'http://a'),
  headers: {},
  ...more,
});

/** What sends by a guard with this clock. */
function guardBy(now: () => number, timeout = timeoutMs): (send: Send) => Send {
  const guard = new SilenceGuard(timeout, now);
  return (send) => (each) => guard.send(each, send);
}

function setUp(): { time: { now: number }; wrap: (send: Send) => Send; wait: (milliseconds: number, error?: Error) => Send } {
  const time = { now: 0 };
  const wrap = guardBy(() => time.now);
  return {
    time,
    wrap,
    /** A request that takes so long, and fails then. */
    wait: (milliseconds, error) =>
      wrap(async () => {
        await Promise.resolve();
        time.now += milliseconds;
        if (error) throw error;
        return ok;
      }),
  };
}

test('a silence ends the work: the request is not repeated, and no further one is sent', async () => {
  const { wait, wrap } = setUp();
  const error: unknown = await wait(timeoutMs, failure('IDLE'))(outgoing()).catch((each: unknown) => each);
  expect([error instanceof SilentServiceError, isTransient(error), (error as NetworkError).code]).toEqual([true, false, 'IDLE']);
  let sent = 0;
  await expect(wrap(async () => ((sent += 1), ok))(outgoing())).rejects.toBe(error);
  expect(sent).toBe(0);
});

test('a request that fails without an answer may be repeated while the service answers others', async () => {
  const { time, wrap, wait } = setUp();
  const lost = wrap(async () => {
    await sleep(5);
    time.now += 300;
    throw failure('IDLE');
  })(outgoing());
  const outcome = lost.catch((each: unknown) => each);
  await wait(700)(outgoing());
  expect([(await outcome) instanceof SilentServiceError, isTransient(await outcome)]).toEqual([false, true]);
  expect((await wait(900)(outgoing())).status).toBe(200);
});

test('a repeated request has only what is left of the time', async () => {
  const { wrap } = (() => {
    const started = performance.now();
    return { wrap: guardBy(() => performance.now() - started, 1000) };
  })();
  const failing = wrap(async () => {
    await sleep(60);
    throw failure('ETIMEDOUT');
  });
  await expect(failing(outgoing())).rejects.not.toBeInstanceOf(SilentServiceError);
  const never = wrap(() => new Promise<HttpResponse>(() => undefined));
  const keepsProcess = setInterval(() => undefined, 1000);
  await expect(never(outgoing())).rejects.toBeInstanceOf(SilentServiceError);
  clearInterval(keepsProcess);
});

test.each(['ECONNREFUSED', 'ENOTFOUND', 'HPE_INVALID_CONSTANT'])('%s is no silence, however long it took', async (code) => {
  const { wait } = setUp();
  for (let time = 0; time < 3; time += 1) {
    const error: unknown = await wait(timeoutMs, failure(code))(outgoing()).catch((each: unknown) => each);
    expect(error).not.toBeInstanceOf(SilentServiceError);
  }
});

test('time in which nothing is asked is no silence', async () => {
  const { time, wait } = setUp();
  await wait(10)(outgoing());
  time.now += 60 * timeoutMs;
  const error: unknown = await wait(10, failure('ECONNRESET'))(outgoing()).catch((each: unknown) => each);
  expect([error instanceof SilentServiceError, isTransient(error)]).toEqual([false, true]);
  expect((await wait(10)(outgoing())).status).toBe(200);
});

test('a body that stops ends the work, unless it tells what happens as it happens', async () => {
  for (const mayPause of [false, true]) {
    const { time, wrap } = setUp();
    async function* pausing(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a');
      time.now += timeoutMs;
      throw failure('IDLE');
    }
    const { body } = await wrap(() => Promise.resolve({ ...ok, body: pausing() }))(outgoing('/', { mayPause }));
    const error: unknown = await readAll(body).catch((each: unknown) => each);
    expect([mayPause, error instanceof SilentServiceError]).toEqual([mayPause, !mayPause]);
  }
});

test('the time in which nobody reads a body is no silence', async () => {
  const { time, wrap, wait } = setUp();
  const { body } = await wrap(() => Promise.resolve({ ...ok, body: streamOf(Buffer.from('a'), Buffer.from('b')) }))(outgoing());
  const pieces = body[Symbol.asyncIterator]();
  await pieces.next();
  time.now += 60 * timeoutMs;
  await expect(wait(1, failure('ECONNRESET'))(outgoing())).rejects.not.toBeInstanceOf(SilentServiceError);
  expect((await pieces.next()).done).toBe(false);
});

test('what was changed by a silent service is unknown, and said to be', async () => {
  const { wait } = setUp();
  const error: unknown = await wait(timeoutMs, failure('IDLE'))(outgoing()).catch((each: unknown) => each);
  expect(warnOfEffect(error)).toBeInstanceOf(SilentServiceError);
  expect(warnOfEffect(error)).toMatchObject({ hint: 'the change may have been applied; check before retrying' });
});
