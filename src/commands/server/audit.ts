import { mapEach } from '../../base/iterate.ts';
import { command, type Context } from '../../cli/command.ts';
import { flag, text } from '../../cli/parameters.ts';
import { pause } from '../../client/retry.ts';
import { escapeControl } from '../../output/escape.ts';
import { bytes, records } from '../../output/kinds.ts';
import type { AuditRecord } from '../../server/cluster/audit.ts';
import { readMoment } from '../stor/moment.ts';
import { databaseOptions, readDatabase } from './engines.ts';

/** Delay between two queries with --follow, milliseconds. */
const pollMs = 1000;

function keepLooking({ interrupted }: Context['world']): () => Promise<boolean> {
  return async () => {
    await pause(pollMs, interrupted);
    return !interrupted.aborted;
  };
}

function writeLine({ time, actor, action, subject = '', address, details }: AuditRecord): Uint8Array {
  return Buffer.from(`${escapeControl(`${time}  ${actor}  ${action}  ${subject}  ${address}  ${JSON.stringify(details)}`)}\n`);
}

export const audit = command({
  summary: 'List changes of keys, users, roles, policies, role tags and accounts',
  description:
    'One line for each change, the oldest first. Each change is recorded in the transaction that makes it, so that none is missing; rejected requests are only in the log of the gateways. ACTOR is an account, a sub-user as ALICE/BOB, or operator for commands of cloud server. KEY is the fingerprint of the signing key. ADDRESS is that of the client, or the user and host that ran the command. REQUEST is the request id in the log of a gateway. DETAILS is the new state; passwords and contact data are never recorded, only the fact that they changed. Records remain after their account is deleted. Times are from the clock of the database.',
  options: {
    ...databaseOptions,
    account: text('Only changes of this account', { placeholder: 'LOGIN' }),
    since: text('Only changes since this time: a date, or a duration before now', { placeholder: 'TIME' }),
    follow: flag('Keep showing new changes until Ctrl-C', { short: 'f' }),
  },
  run: async (invocation) => {
    const { options, world, global } = invocation;
    const { account, since: given, follow } = options;
    const since = given === undefined ? undefined : readMoment(given, '--since', world.now());
    const database = await readDatabase(invocation, options);
    const { readAudit } = await import('../../server/cluster/audit.ts');
    const changes = readAudit(database, { account, since }, follow ? keepLooking(world) : undefined);
    const isTable = !global.json && (global.output === undefined || global.output === 'table');
    // A line for each change as it comes: a table would wait for all rows to measure its columns.
    if (follow && isTable) return bytes(mapEach(changes, writeLine));
    return records(changes, {
      id: 'subject',
      columns: [
        { key: 'time', as: 'time' },
        'actor',
        'action',
        'subject',
        'address',
        { key: 'details', long: true },
        { key: 'key', long: true },
        { key: 'request', long: true },
      ],
      fields: ['account'],
    });
  },
  examples: [
    {
      line: 'cloud server audit --account alice --since 7d --database-file /etc/cloud/database',
      help: 'Changes of the last week in one account',
    },
    {
      line: 'cloud server audit --database-file /etc/cloud/database -o jsonl --jq \'select(.action == "createKey")\'',
      help: 'Each registered key, with the key that signed the request',
    },
    { line: 'cloud server audit --follow --database-file /etc/cloud/database -o jsonl', help: 'Stream changes to another log' },
  ],
});
