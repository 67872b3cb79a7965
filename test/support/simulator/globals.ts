import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { createRandom } from '../random.ts';
import type { Simulation } from './simulation.ts';

/** Clocks, timers and random numbers of this process, which are the simulation's while it runs. */

/** A UUID of version 4. */
function formatUuid(bytes: Buffer): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Takes the place of all that would make two runs differ. @returns what puts everything back */
export function takeGlobals(simulation: Simulation, seed: number): () => void {
  const random = createRandom(seed ^ 0x5eed);
  const before = {
    random: Math.random,
    now: Date.now,
    monotonic: performance.now,
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    sleep: timers.setTimeout,
    uuid: crypto.randomUUID,
    bytes: crypto.randomBytes,
  };
  const draw = (size: number): Buffer => Buffer.from(Uint8Array.from({ length: size }, () => Math.floor(random() * 256)));
  let readings = 0;
  const cancels = new Map<object, () => void>();
  const schedule = (work: (...given: unknown[]) => void, milliseconds = 0, ...given: unknown[]): object => {
    // A real timer that another test has left may set the next one.
    if (!simulation.isInside()) return before.setTimeout(work, milliseconds, ...given);
    const handle = { unref: () => handle, ref: () => handle };
    cancels.set(
      handle,
      simulation.schedule(milliseconds, () => work(...given)),
    );
    return handle;
  };
  const stop = (handle: object): void => {
    const cancel = cancels.get(handle);
    if (cancel) cancel();
    else before.clearTimeout(handle as NodeJS.Timeout);
  };
  const sleep = <T>(milliseconds = 0, value?: T, { signal }: { signal?: AbortSignal } = {}): Promise<T> =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        cancel();
        reject(signal?.reason as Error);
      };
      const cancel = simulation.schedule(milliseconds, () => {
        signal?.removeEventListener('abort', stop);
        resolve(value as T);
      });
      signal?.addEventListener('abort', stop);
    });
  Math.random = random;
  Date.now = () => Math.floor(simulation.now);
  // No two moments are the same, so that what came first is told by them.
  performance.now = () => {
    readings += 1;
    return simulation.now + readings * 1e-7;
  };
  Object.assign(globalThis, { setTimeout: schedule, clearTimeout: stop });
  Object.assign(timers, { setTimeout: sleep });
  Object.assign(crypto, { randomUUID: () => formatUuid(draw(16)), randomBytes: draw });
  syncBuiltinESMExports();
  return () => {
    Math.random = before.random;
    Date.now = before.now;
    performance.now = before.monotonic;
    Object.assign(globalThis, { setTimeout: before.setTimeout, clearTimeout: before.clearTimeout });
    Object.assign(timers, { setTimeout: before.sleep });
    Object.assign(crypto, { randomUUID: before.uuid, randomBytes: before.bytes });
    syncBuiltinESMExports();
  };
}
