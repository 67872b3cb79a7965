import type { RecordedRequest } from '../../api/control.ts';
import { command, type Context } from '../../cli/command.ts';
import { flag } from '../../cli/parameters.ts';
import { records } from '../../output/kinds.ts';
import { control } from './control.ts';
import { dataDirOf, dataOption } from './service.ts';

/** Delay between two requests with --follow, milliseconds. */
const pause = 200;

async function* listRequests(
  { interrupted }: Context['world'],
  dataDir: string,
  { failed, follow }: { failed: boolean; follow: boolean },
): AsyncGenerator<RecordedRequest> {
  let after = 0;
  for (;;) {
    const { requests, latest } = await control(dataDir, 'requests', { after, failed });
    yield* requests;
    after = latest;
    if (!follow || interrupted.aborted) return;
    await new Promise((resolve) => {
      setTimeout(resolve, pause);
    });
  }
}

export const requests = command({
  summary: 'List the requests to a running service, and why they were rejected',
  description:
    'Lists the latest 1000 requests to both services. REASON of a rejected signature is the text that should have been signed and the key; REASON of a denied access is the missing rule or role tag. The field curl is a command that repeats the request as long as its date is accepted; it contains the signature, and reads a body from stdin. Status 0 is a connection that a fault closed, 499 one that the client closed before the body of its request was complete.',
  options: {
    ...dataOption,
    failed: flag('Show only requests that failed'),
    follow: flag('Keep showing new requests until Ctrl-C', { short: 'f' }),
  },
  run: async (invocation) => {
    const { options, world } = invocation;
    return records(listRequests(world, dataDirOf(invocation, options.data), options), {
      id: 'requestId',
      columns: [
        { key: 'time', as: 'time', long: true },
        'method',
        'path',
        'operation',
        'caller',
        'status',
        'code',
        'reason',
        { key: 'duration', as: 'number' },
        { key: 'requestId', long: true },
        { key: 'message', long: true },
        { key: 'curl', long: true },
      ],
      fields: ['id', 'service', 'address', 'faults'],
    });
  },
  examples: [
    { line: 'cloud local requests --failed', help: 'Show why requests were rejected' },
    { line: 'cloud local requests --failed -j --jq ".[-1].curl"', help: 'A command that repeats the latest failed request' },
  ],
});
