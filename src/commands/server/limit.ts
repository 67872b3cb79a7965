import { command } from '../../cli/command.ts';
import { listKeys } from '../../cli/shapes.ts';
import { one, text } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { record } from '../../output/kinds.ts';
import { parseSize } from '../../output/units.ts';
import { databaseOptions, readDatabase } from './engines.ts';

const columns = [
  'login',
  { key: 'bytes', as: 'size' as const },
  { key: 'mostBytes', as: 'size' as const },
  'objects',
  'mostObjects',
  'mostRequests',
];

/** Maximum value of a limit. */
const largest = Number.MAX_SAFE_INTEGER;

/** Reads a limit: undefined if absent, null for `none`. @throws {UsageError} */
function readLimit(name: string, given: string | undefined, parse: (given: string) => number): number | null | undefined {
  if (given === undefined || given === 'none') return given && null;
  const value = parse(given);
  if (Number.isSafeInteger(value) && value >= 0 && value <= largest) return value;
  throw new UsageError(`${name} ${given}: must be a whole number, from 1 for requests, or none`);
}

function parseNumber(given: string): number {
  return /^\d+$/u.test(given) ? Number(given) : NaN;
}

/** Reads a rate from 1 on: 0 would disable the account. */
function parseRate(given: string): number {
  return parseNumber(given) > 0 ? parseNumber(given) : NaN;
}

export const limit = command({
  fields: [...listKeys(columns), 'id', 'email', 'state', 'keys', 'created'],
  changes: true,
  summary: 'Set or show the limits of an account',
  description:
    'Every gateway applies new limits with the next request. A write that would exceed a limit of bytes or objects fails with 507 NotEnoughSpace and stores nothing; existing data can be read, replaced by less and deleted. Bytes are the sizes of objects in listings, regardless of the number of copies: each link counts as an object of its size, and parts of open uploads count by their bytes. Directories are free. Concurrent writes through several gateways can exceed a limit by their size. A full account can add no inputs to its jobs; a task whose output does not fit fails with NotEnoughSpaceError, and its job continues.\nThe request limit is for the account and its users, over both services and all gateways. Requests above it get 429 RequestThrottled, from the compute service 420, with Retry-After; cloud then retries.\nAn account without its own limits has those of the gateways: --limit account-bytes=N, account-objects=N and account-requests=N; set the first two for workers too.',
  arguments: { login: one('Login of the account') },
  options: {
    ...databaseOptions,
    bytes: text('Limit of bytes, such as 10GiB, or none', { placeholder: 'SIZE' }),
    objects: text('Limit of objects, or none', { placeholder: 'N' }),
    requests: text('Limit of requests per second, or none', { placeholder: 'N' }),
  },
  run: async (invocation) => {
    const { args, options, note } = invocation;
    const limits = {
      most_bytes: readLimit('--bytes', options.bytes, parseSize),
      most_objects: readLimit('--objects', options.objects, parseNumber),
      most_requests: readLimit('--requests', options.requests, parseRate),
    };
    const given = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
    const database = await readDatabase(invocation, options);
    const { setAccountLimits } = await import('../../server/cluster/account-state.ts');
    const account = await setAccountLimits(database, args.login, given);
    if (Object.keys(given).length > 0) note(`Set limits of account ${account.login}`);
    return record({ ...account }, { id: 'login', columns });
  },
  examples: [
    { line: 'cloud server accounts limit alice --bytes 10GiB --objects 100000 --database-file /etc/cloud/database', help: 'Set a quota' },
    {
      line: 'cloud server accounts limit alice --bytes none --database-file /etc/cloud/database',
      help: 'Allow as many bytes as the gateways do',
    },
    { line: 'cloud server accounts limit alice --database-file /etc/cloud/database -j', help: 'Show usage and limits of alice' },
  ],
});
