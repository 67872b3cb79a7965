import { countMoves, type Engine, type Ticket } from '../engine.ts';
import type { RemotePath } from '../path.ts';
import { mayTryAgain } from '../retry.ts';
import { readWholeFile, watchBytes, type FileSource, type Watched } from '../local/source.ts';
import { isBegun } from './unfinished.ts';
import type { PutOptions } from './parts.ts';
import { checkInterrupted } from '../../base/errors.ts';

/**
 * One request for a file that is large enough for parts: the service has half the work with it, but what was sent of it is lost when it is
 * interrupted. So it is tried as long as it is quick, and for files that it would take a few seconds to send again.
 */

/** Larger files go in parts, bytes. */
const largestQuick = 512 * 1024 * 1024;

/** Milliseconds after which it is seen whether the request is quick enough, in bytes per second. */
const probation = 500;
const quickEnough = 80 * 1024 * 1024;

/** Of a rest of this size it is not given up any more, bytes. */
const shortRest = 64 * 1024 * 1024;

/** Ends the body of a request that is not quick. */
class TooSlow extends Error {}

/** Whether one request may do: nobody wants parts, and none were sent already. */
export function mayBeQuick(engine: Engine, source: FileSource, target: RemotePath, options: PutOptions): boolean {
  const wantsParts = options.alwaysInParts === true || engine.partSize !== undefined || engine.throttle !== undefined;
  return !wantsParts && source.size <= largestQuick && !isBegun(engine, source, target, options);
}

async function* checkPace(pieces: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  const started = performance.now();
  let sent = 0;
  for await (const piece of pieces) {
    const spent = performance.now() - started;
    const isSlow = spent > probation && (sent / spent) * 1000 < quickEnough;
    if (isSlow && size - sent > shortRest) throw new TooSlow();
    yield piece;
    sent += piece.length;
  }
}

/** Sends a file by `send`, which makes one request, once. Undefined when that is slow or fails in a way that parts may not. */
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
