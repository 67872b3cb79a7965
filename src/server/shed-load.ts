import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { LimitReached, limitOf } from './limit.ts';
import type { ServiceSettings } from './settings.ts';

/**
 * Load shedding: a gateway that has too much to do refuses further requests before anything is done for them, so that those under way are
 * finished. A slow event loop is no reason: on a busy machine it is late although nothing is wrong, and refusing makes nothing faster.
 */

/** What a process refuses before it does anything for it. */
export interface LoadGuard {
  /** Says that a request begins; the function that is returned says that its response is sent. */
  begin(): () => void;
  /** Why the request that began last cannot be served; undefined when it can. */
  refusal(): LimitReached | undefined;
}

/** Seconds after which a client is to try again. */
const retryAfter = 1;

/** Requests under way up to which memory refuses none: what few of them need is little, and memory that is free again is not always given back. */
const alwaysServed = 16;

/** Milliseconds for which a measurement of memory holds. */
const measureEvery = 100;

/** Memory that the process may have: that of its container, or of the machine. */
function findMemory(): number {
  const constrained = process.constrainedMemory() ?? 0;
  return constrained > 0 && constrained < totalmem() ? constrained : totalmem();
}

/** The larger one of the shares that are in use of the memory there is, and of what JavaScript may have. Per cent. */
function measureMemory(): number {
  const { used_heap_size: used, heap_size_limit: most } = getHeapStatistics();
  return 100 * Math.max(process.memoryUsage.rss() / findMemory(), used / most);
}

/** @param measure share of memory in use, per cent @param now milliseconds */
export function createLoadGuard(settings: ServiceSettings, measure = measureMemory, now = (): number => performance.now()): LoadGuard {
  const most = limitOf(settings, 'runningRequests');
  const mostMemory = limitOf(settings, 'memoryPercent');
  let running = 0;
  let [memory, measured] = [0, -Infinity];
  const refuse = (limit: 'runningRequests' | 'memoryPercent', why: string): LimitReached =>
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
      if (running > most) return refuse('runningRequests', `the service has ${most} requests under way`);
      if (running <= alwaysServed) return undefined;
      if (now() - measured >= measureEvery) [memory, measured] = [measure(), now()];
      return memory > mostMemory ? refuse('memoryPercent', `the service uses ${Math.floor(memory)} % of its memory`) : undefined;
    },
  };
}
