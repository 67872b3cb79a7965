import { Readable } from 'node:stream';
import type { ByteStream } from '../api/message.ts';
import type { Service } from './http/serve.ts';
import type { LoadGuard } from './shed-load.ts';
import type { Running } from './store/postgres/epochs.ts';
import type { Lease } from './store/postgres/lease.ts';

/** The same bytes until they are over, left, or cut off: when the lease is lost, what is still to be read may be removed by others. */
function follow(body: ByteStream, { term, end }: Running): ByteStream {
  const source = body[Symbol.asyncIterator]();
  const leave = async (): Promise<IteratorResult<Uint8Array>> => {
    end();
    // Its iterator leaves a stream that was not begun open.
    if (body instanceof Readable) body.destroy();
    return (await source.return?.()) ?? { done: true, value: undefined };
  };
  const iterator: AsyncIterableIterator<Uint8Array> = {
    async next() {
      try {
        if (term.isLost) {
          // Whoever reads leaves nothing that has failed: what is open below, and holds contents under the new lease, would stay for ever.
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

/** The same service, whose requests are known to run until their responses are sent, and write only under the lease under which they came. */
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
      const reply = await lease.within(running, () => service(request, connection));
      return { ...reply, body: follow(reply.body, running) };
    } catch (error) {
      running.end();
      throw error;
    }
  };
}
