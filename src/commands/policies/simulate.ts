import { command, type Context } from '../../cli/command.ts';
import { choice, one, texts } from '../../cli/parameters.ts';
import { LocalError } from '../../base/errors.ts';
import { escapeControl } from '../../output/escape.ts';
import { record, text as printed, type Output } from '../../output/kinds.ts';
import { decide, type Decision } from '../../policy/decide.ts';
import { explainDecision } from '../../policy/explain.ts';
import { findCaller, listCallerRoles } from '../../rbac/access.ts';
import { wantsText } from '../rbac/show.ts';
import { findPlace, findSubject, readConditions } from './place.ts';
import { conditionOptions, fromOption, questionArguments, readAction } from './question.ts';

/** The decision as a record: the answer, its reasons, and the explanation in sentences. */
function toRecord(decision: Decision): object {
  const { caller, action, path } = decision.question;
  const answer = { allowed: decision.allowed, user: caller.login, action, resource: path };
  const explanation = explainDecision(decision);
  if (!decision.allowed) return { ...answer, reasons: decision.reasons, inactive: decision.inactive, explanation };
  const { kind: because, ...path_ } = decision.because;
  return { ...answer, because, ...path_, explanation };
}

function show(context: Context, decision: Decision): Output {
  if (wantsText(context)) return printed(explainDecision(decision).map(escapeControl).join('\n'));
  return record(toRecord(decision), { id: 'allowed', fields: ['because', 'role', 'policy', 'rule', 'tag', 'reasons', 'inactive'] });
}

export const simulate = command({
  summary: 'Simulate a request: is it allowed, and why',
  description:
    'Decides as the service does, from the roles, policies and role tags of the account, or offline from the output of cloud rbac export. USER is a sub-user, or account:LOGIN for another account. The exit code is 0 whatever the result, unless --expect is given.',
  arguments: {
    user: one('Login, id, or first characters of an id', { values: 'user' }),
    ...questionArguments,
  },
  options: {
    withRole: texts('Role to activate instead of the default roles; * for all', { placeholder: 'NAME', values: 'role' }),
    ...conditionOptions,
    from: fromOption,
    expect: choice('Fail if the result differs', ['allow', 'deny'], { placeholder: 'ANSWER' }),
  },
  run: async (invocation) => {
    const { args, options } = invocation;
    const action = readAction(args.action);
    const conditions = readConditions(invocation, action, options);
    const place = await findPlace(invocation, options.from);
    const caller = findCaller(place.access, args.user, place.account);
    const { resource, exists } = await findSubject(invocation, place, action, args.resource, options.from !== undefined);
    if (!exists) invocation.warn(`${args.resource} does not exist`);
    const decision = decide({
      caller,
      roles: listCallerRoles(place.access, caller),
      named: options.withRole.length === 0 ? undefined : options.withRole.flatMap((word) => word.split(',')),
      resource,
      action,
      context: conditions(place.access.served),
    });
    const answer = decision.allowed ? 'allow' : 'deny';
    if (options.expect !== undefined && options.expect !== answer) {
      throw new LocalError(`the answer is ${answer}: ${explainDecision(decision).join(' ')}`);
    }
    return show(invocation, decision);
  },
  examples: [
    { line: 'cloud policies simulate alice listkeys keys', help: 'May alice list the keys?' },
    { line: 'cloud policies simulate alice getkey keys/laptop --with-role ops --at "monday 03:00"', help: 'With another role and time' },
    { line: 'cloud policies simulate alice listimages images --from rbac.yaml --expect allow', help: 'Test a document offline' },
  ],
});
