import { Readable } from 'node:stream';
import type { ByteStream } from '../api/message.ts';
import type { Service } from './http/serve.ts';
import type { LoadGuard } from './shed-load.ts';
import type { Running } from './store/postgres/epochs.ts';
import type { Lease } from './store/postgres/lease.ts';

/**
 * Passes on a body, and calls `end` when it is read, abandoned or fails. If the lease is lost, the body fails: other gateways may remove
 * the rest of it.
 */
function follow(body: ByteStream, { term, end }: Running): ByteStream {
  const source = body[Symbol.asyncIterator]();
  const leave = async (): Promise<IteratorResult<Uint8Array>> => {
    end();
    // `return` of its iterator does not close a stream that was never read.
    if (body instanceof Readable) body.destroy();
    return (await source.return?.()) ?? { done: true, value: undefined };
  };
  const iterator: AsyncIterableIterator<Uint8Array> = {
    async next() {
      try {
        if (term.isLost) {
          // A reader does not close an iterator that has failed. Without this call, what is open below would stay open, and hold contents
          // under the new lease, for ever.
          await leave();
          throw new Error('the lease was lost while the response was sent');
        }
        const result = await source.next();
        if (result.done === true) end();
        return result;
      } catch (error) {
        end();
        throw error;
      }
    },
    return: leave,
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

/**
 * Wraps a service: its requests count as running until their responses are sent, and write only under the lease under which they arrived.
 */
export function countRequests(service: Service, lease: Pick<Lease, 'begin' | 'within'>, load: Pick<LoadGuard, 'begin'>): Service {
  return async (request, connection) => {
    const begun = lease.begin();
    const endLoad = load.begin();
    const end = (): void => {
      endLoad();
      begun.end();
    };
    const running: Running = { ...begun, end };
    try {
      const response = await lease.within(running, () => service(request, connection));
      return { ...response, body: follow(response.body, running) };
    } catch (error) {
      running.end();
      throw error;
    }
  };
}
