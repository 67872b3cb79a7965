import type { RecordedRequest } from '../../api/control.ts';
import { command, type Context } from '../../cli/command.ts';
import { flag } from '../../cli/parameters.ts';
import { records } from '../../output/kinds.ts';
import { control, controlledDataOf, controlOption } from './control.ts';

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
  summary: 'List what programs sent to a service that runs, and why it was refused',
  description:
    'The latest 1000 requests of both services. REASON, of a refused signature, is what should have been signed and by which key; of a refused access the rule or role tag that was missing. The field curl is a line that repeats the request for as long as its date is accepted: it holds its signature; a body is read from stdin. A status of 0 is a connection that was closed on command.',
  options: {
    ...controlOption,
    failed: flag('Only requests that were refused or failed'),
    follow: flag('Show later ones as they come, until Ctrl-C', { short: 'f' }),
  },
  run: async (invocation) => {
    const { options, world } = invocation;
    return records(listRequests(world, controlledDataOf(invocation, options.data), options), {
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
    { line: 'cloud local requests --failed', help: 'Why was it refused?' },
    { line: 'cloud local requests --failed -j --jq ".[-1].curl"', help: 'A line that repeats the latest of them' },
  ],
});
