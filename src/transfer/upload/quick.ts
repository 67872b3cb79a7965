import { readClock } from '../../base/clock.ts';
import { countMoves, type Engine } from '../engine.ts';
import type { Ticket } from '../../base/monitor.ts';
import type { RemotePath } from '../path.ts';
import { mayTryAgain } from '../retry.ts';
import { readWholeFile, watchBytes, type FileSource, type Watched } from '../local/source.ts';
import { isBegun } from './unfinished.ts';
import type { PutOptions } from './parts.ts';
import { checkInterrupted } from '../../base/errors.ts';

/**
 * Sends a file that is large enough for parts in one request. That is half the work for the service, but an interruption loses all bytes
 * sent. So the request continues only while it is fast, and only for files that can be sent again in a few seconds.
 */

/** Maximum size of a file sent in one request, bytes; larger ones are sent in parts. */
const largestQuick = 512 * 1024 * 1024;

/** Milliseconds before the rate of the request is judged, and the minimum rate in bytes per second. */
const probation = 500;
const quickEnough = 80 * 1024 * 1024;

/** The request is not given up any more when at most this many bytes are left. */
const shortRest = 64 * 1024 * 1024;

/** Ends the body of a request that is too slow. */
class TooSlow extends Error {}

/** True if a single request may be tried: parts were not requested, and none have been sent. */
export function mayBeQuick(engine: Engine, source: FileSource, target: RemotePath, options: PutOptions): boolean {
  const wantsParts = options.alwaysInParts === true || engine.partSize !== undefined || engine.throttle !== undefined;
  return !wantsParts && source.size <= largestQuick && !isBegun(engine, source, target, options);
}

async function* checkPace(chunks: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  const started = readClock();
  let sent = 0;
  for await (const chunk of chunks) {
    const spent = readClock() - started;
    const isSlow = spent > probation && (sent / spent) * 1000 < quickEnough;
    if (isSlow && size - sent > shortRest) throw new TooSlow();
    yield chunk;
    sent += chunk.length;
  }
}

/** Sends a file once by `send`, which makes one request. Returns undefined if that is too slow, or fails in a way that parts may avoid. */
export async function uploadQuickly<R>(
  engine: Engine,
  source: FileSource,
  ticket: Ticket,
  send: (watched: Watched) => Promise<R>,
): Promise<R | undefined> {
  const counting = countMoves(ticket);
  const watched = watchBytes(() => checkPace(readWholeFile(source), source.size), source, engine, counting);
  try {
    return await send(watched);
  } catch (error) {
    checkInterrupted(engine.signal, error);
    if (!(error instanceof TooSlow) && !mayTryAgain(error)) throw error;
    counting.takeBack();
    return undefined;
  }
}
