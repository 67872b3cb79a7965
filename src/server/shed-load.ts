import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { LimitReached, limitOf } from './limit.ts';
import type { ServiceSettings } from './settings.ts';

/**
 * Load shedding: an overloaded gateway rejects further requests before any work is done for them, so that the running ones finish. A slow
 * event loop does not count as overload: on a busy machine it lags although nothing is wrong, and rejecting requests makes nothing faster.
 */

/** Counts running requests, and rejects those that are too many. */
export interface LoadGuard {
  /** Call when a request begins; call the returned function when its response is sent. */
  begin(): () => void;
  /** Why the request that began last is rejected; undefined if it can be served. */
  refusal(): LimitReached | undefined;
}

/** Seconds after which a client may retry. */
const retryAfter = 1;

/**
 * Up to this many running requests, memory is no reason to reject one: few requests need little, and freed memory is not always returned to
 * the system.
 */
const alwaysServed = 16;

/** Milliseconds for which a measurement of memory is valid. */
const measureEvery = 100;

/** Memory available to the process, bytes: that of its container, or of the machine. */
function findMemory(): number {
  const constrained = process.constrainedMemory() ?? 0;
  return constrained > 0 && constrained < totalmem() ? constrained : totalmem();
}

/** Memory usage in per cent: of the available memory or of the JavaScript heap limit, whichever is larger. */
function measureMemory(): number {
  const { used_heap_size: used, heap_size_limit: most } = getHeapStatistics();
  return 100 * Math.max(process.memoryUsage.rss() / findMemory(), used / most);
}

/** @param measure memory usage in per cent @param now milliseconds */
export function createLoadGuard(settings: ServiceSettings, measure = measureMemory, now = (): number => performance.now()): LoadGuard {
  const most = limitOf(settings, 'runningRequests');
  const mostMemory = limitOf(settings, 'memoryPercent');
  let running = 0;
  let [memory, measured] = [0, -Infinity];
  const createLoadError = (limit: 'runningRequests' | 'memoryPercent', why: string): LimitReached =>
    new LimitReached(503, 'ServiceUnavailable', `${why}: try again later`, limit, { retryAfter });
  return {
    begin: () => {
      running += 1;
      let isOver = false;
      return () => {
        if (!isOver) running -= 1;
        isOver = true;
      };
    },
    refusal: () => {
      if (running > most) return createLoadError('runningRequests', `the service has ${most} requests under way`);
      if (running <= alwaysServed) return undefined;
      if (now() - measured >= measureEvery) [memory, measured] = [measure(), now()];
      return memory > mostMemory ? createLoadError('memoryPercent', `the service uses ${Math.floor(memory)} % of its memory`) : undefined;
    },
  };
}
