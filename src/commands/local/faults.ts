import { UsageError } from '../../base/errors.ts';
import { command, group } from '../../cli/command.ts';
import { number, one, some, text } from '../../cli/parameters.ts';
import { createAttempts } from '../../cli/attempts.ts';
import { wantsRows } from '../../cli/rows.ts';
import { records } from '../../output/kinds.ts';
import { control } from './control.ts';
import { dataDirOf, dataOption } from './service.ts';
import { andThen } from '../../base/iterate.ts';
import { countOf } from '../../base/count.ts';

const shape = {
  id: 'id',
  columns: ['id', 'operation', 'failure', 'path', 'account', 'rate', 'seed', 'injected', 'left'],
  fields: ['count'],
};

/** All fields of a fault, so that unknown ones are refused before a change. */
const changing = { fields: [...shape.columns, ...shape.fields], changes: true } as const;

function readRate(rate: string | undefined): number | undefined {
  if (rate === undefined) return undefined;
  if (/^(?:\d{1,3}(?:\.\d{1,9})?|\.\d{1,9})$/u.test(rate)) return Number(rate);
  throw new UsageError(`--rate ${rate}: must be more than 0 and at most 1`, { hint: 'for example --rate 0.1 for one in ten' });
}

const list = command({
  summary: 'List the faults of a running service, with how often they occurred',
  options: dataOption,
  run: async (invocation) => records((await control(dataDirOf(invocation, invocation.options.data), 'faults', {})).faults, shape),
  examples: [
    { line: 'cloud local faults list', help: 'Each with the number of its failures' },
    { line: 'cloud local faults list -j --columns operation,failure,injected', help: 'For a test that checks that a request failed' },
  ],
});

const add = command({
  ...changing,
  summary: 'Add a fault to a running service',
  description:
    'FAILURE is a status (503), a code (InternalError), both (503:Busy), or a word. throttle: 420 from the compute service, 429 from the object storage. close: the connection is closed without a response. latency:2s: the response is delayed. cut, stall: the response body ends early, or stalls, after half of it or a number of bytes (cut:64K); cut-upload, stall-upload: the same for the request body. stale:3s: reads of users, roles or policies do not show changes of that time made after the fault was added. wrong-md5: headers with an MD5 contain a wrong one. 204: getjob and getmultipartupload succeed without a body; imagecreation fails with one of its codes. Faults apply only to authorised requests; the first matching fault is used.',
  arguments: {
    operation: one('Operation as in policies, such as getobject; * for all', { values: 'action' }),
    failure: one('Failure; see above', { values: 'failure' }),
  },
  options: {
    ...dataOption,
    path: text('Only for requests whose path matches; * matches any characters', { placeholder: 'PATTERN' }),
    fromAccount: text('Only for requests of this account and its users', { placeholder: 'LOGIN' }),
    count: number('Number of failures; unlimited by default', { range: [1, Number.MAX_SAFE_INTEGER] }),
    rate: text('Fraction of requests that fail: 0.1 for one in ten', { placeholder: 'RATE' }),
    seed: number('With the same seed, --rate selects the same requests; shown when absent', { range: [0, 2 ** 32 - 1] }),
  },
  run: async (invocation) => {
    const { args, options } = invocation;
    const { path, fromAccount: account, count, seed } = options;
    const rule = { ...args, path, account, count, rate: readRate(options.rate), seed };
    return records([await control(dataDirOf(invocation, options.data), 'addFault', rule)], shape);
  },
  examples: [
    { line: 'cloud local faults add getobject 503 --count 1', help: 'Test that a program retries' },
    { line: "cloud local faults add putobject stall-upload:1M --path '*/backups/*'", help: 'Test that a program notices a stalled upload' },
    { line: "cloud local faults add '*' close --rate 0.1 --seed 7", help: 'One request in ten, the same ones in each run' },
  ],
});

const clear = command({
  ...changing,
  summary: 'Remove faults; requests that they stall continue',
  arguments: { ids: some('Ids of faults; all by default') },
  options: dataOption,
  run: async (invocation) => {
    const { args, options, note } = invocation;
    const dataDir = dataDirOf(invocation, options.data);
    const ids = args.ids.map((text) => {
      if (/^\d{1,15}$/u.test(text)) return Number(text);
      throw new UsageError(`"${text}" is not the id of a fault`, { hint: 'cloud local faults list' });
    });
    const inputs = ids.length === 0 ? [{}] : [...new Set(ids)].map((id) => ({ id }));
    const attempts = createAttempts(invocation, inputs.length);
    const cleared = (await attempts.each(inputs, async (input) => (await control(dataDir, 'clearFaults', input)).faults)).flat();
    note(`Cleared ${countOf(cleared.length, 'fault')}`);
    if (wantsRows(invocation)) return records(andThen(cleared, attempts.finish), shape);
    attempts.finish();
    return undefined;
  },
  examples: [
    { line: 'cloud local faults clear', help: 'Remove all' },
    {
      line: 'cloud local faults add ping 500 && cloud local faults clear "$(cloud local faults list -o name | tail -1)"',
      help: 'Remove one',
    },
  ],
});

export const faults = group({
  summary: 'Add and remove faults of a running service',
  description:
    'Faults cause the failures that clients must handle: status, delay, broken and stalled bodies, throttling, stale reads, wrong MD5. --fault of start, serve and run takes the same: --fault getobject=503*1,putobject=latency:2s. The log of the service has a line for each failure.',
  commands: { list, add, clear },
});
