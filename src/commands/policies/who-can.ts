import type { Operation } from '../../api/operation.ts';
import { command } from '../../cli/command.ts';
import { records } from '../../output/kinds.ts';
import type { DecisionCaller, Grant } from '../../policy/decide.ts';
import { listCallerRoles } from '../../rbac/access.ts';
import { findPermission, listCallers, printCaller, type Question } from '../../rbac/permission.ts';
import { findPlace, findResource, readConditions, type Place } from './place.ts';
import { conditionOptions, findOperation, fromOption, questionArguments, readAction } from './question.ts';

/** A caller who is allowed. */
interface Holder {
  /** `alice`, `account:LOGIN`, or `*` for everybody. */
  user: string;
  kind: DecisionCaller['kind'] | 'everybody';
  /** Roles of which one has to be named by `--role`; empty if none has to. */
  ask: string[];
  role?: string;
  policy?: string;
  rule?: string;
  tag?: string;
}

function describeGrant({ kind: _kind, ...path }: Grant): Omit<Holder, 'user' | 'kind' | 'ask'> {
  return path;
}

/** True if everybody is allowed: reading below `public`. */
function isOpen(operation: Operation | undefined, path: string): boolean {
  return operation?.service === 'storage' && operation.method === 'GET' && path.split('/')[2] === 'public';
}

/** Returns the callers who are allowed, and the names that conditions of other rules use but the question does not define. */
export function listHolders({ access, account }: Place, question: Question): { holders: Holder[]; missing: string[] } {
  const missing = new Set<string>();
  const holders = listCallers(access, account).flatMap((caller): Holder[] => {
    const permission = findPermission(caller, listCallerRoles(access, caller), question);
    if (permission.because) {
      return [{ user: printCaller(caller), kind: caller.kind, ask: permission.ask, ...describeGrant(permission.because) }];
    }
    for (const name of permission.missing) missing.add(name);
    return [];
  });
  const isPublic = isOpen(findOperation(question.action), question.resource.path);
  return { holders: isPublic ? [{ user: '*', kind: 'everybody', ask: [] }, ...holders] : holders, missing: [...missing] };
}

/** Options that give the values of names in conditions. */
const givenBy: Readonly<Record<string, string>> = { sourceip: '--source IP', ip: '--source IP', datacenter: '--datacenter NAME' };

export const whoCan = command({
  summary: 'List who may do something, and by which role, policy and rule',
  description:
    'Decides as the service does, for the account, every sub-user and every other account that is a member of a role. ASK lists roles, one of which must be requested with --role; if it is empty, the default roles suffice.',
  arguments: questionArguments,
  options: { ...conditionOptions, from: fromOption },
  run: async (invocation) => {
    const { args, options, note } = invocation;
    const action = readAction(args.action);
    const conditions = readConditions(invocation, action, options);
    const place = await findPlace(invocation, options.from);
    const resource = await findResource(invocation, place, action, args.resource, options.from !== undefined);
    const { holders, missing } = listHolders(place, { action, resource, context: conditions(place.access.served) });
    for (const name of missing) {
      const option = Object.hasOwn(givenBy, name) ? givenBy[name] : undefined;
      const hint = option === undefined ? '' : `: give ${option}`;
      note(`Rules with a condition on "${name}" allow nobody here, because its value is not given${hint}`);
    }
    return records(holders, {
      columns: ['user', 'ask', 'role', 'policy', 'rule', { key: 'tag', long: true }],
      id: 'user',
      fields: ['kind'],
    });
  },
  examples: [
    { line: 'cloud policies who-can deleteimage images/debian-12', help: 'Who may delete this image?' },
    { line: 'cloud policies who-can getobject backups/disk.img --at "sunday 03:00"', help: 'Who may read this object on Sunday night?' },
    { line: 'cloud policies who-can listkeys keys --from rbac.yaml -o name', help: 'In a document, offline' },
  ],
});
