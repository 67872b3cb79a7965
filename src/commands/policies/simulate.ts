import { command, type Context } from '../../cli/command.ts';
import { choice, one, text, texts } from '../../cli/parameters.ts';
import { LocalError, NotFoundError } from '../../base/errors.ts';
import { escapeControl } from '../../output/escape.ts';
import { record, text as printed, type Output } from '../../output/kinds.ts';
import { decide, type Decision, type DecisionResource } from '../../policy/decide.ts';
import { explainDecision } from '../../policy/explain.ts';
import { inspect } from '../../transfer/inspect.ts';
import { printRemotePath, readRemotePath } from '../../transfer/path.ts';
import { findCaller, listCallerRoles, readAccess, takeAccess, type Access } from '../../rbac/access.ts';
import { readDocument } from '../../rbac/read.ts';
import { readTagHeader, requestPath, resolveResource } from '../../lookup/resource.ts';
import { wantsText } from '../rbac/show.ts';
import { findOperation, readAction, readMoment, readSource, readSubject } from './question.ts';

/** Whose resources a question is about, and where their tags are. */
interface Place {
  account: string;
  access: Access;
}

/** A resource of the object storage; its tags are asked for unless the question is about a document. */
async function findObject(context: Context, { account }: Place, word: string, isOffline: boolean): Promise<DecisionResource> {
  const path = readRemotePath(word, account);
  const found = isOffline ? undefined : await inspect(context.storage, path);
  return { path: printRemotePath(path), kind: 'member', tags: readTagHeader(found?.headers['role-tag']) };
}

async function findResource(context: Context, place: Place, action: string, word: string, isOffline: boolean): Promise<DecisionResource> {
  if (findOperation(action)?.service === 'storage') return await findObject(context, place, word, isOffline);
  const subject = readSubject(action, word, place.account);
  const resource = isOffline ? subject : await resolveResource(context, subject.path);
  const tags = await place.access.findTags(resource);
  if (tags === undefined) throw new NotFoundError(`resource "${word}" does not exist`);
  return { path: `/${requestPath(resource, place.account)}`, kind: resource.kind, tags };
}

/** The account, or a document in its place, which needs no profile. */
async function findPlace(context: Context, file: string | undefined): Promise<Place> {
  if (file === undefined) return { account: context.account, access: await readAccess(context) };
  const document = await readDocument(context, file);
  return { account: context.settings().account?.value ?? document.account ?? 'my', access: takeAccess(document) };
}

/** The decision as a record: the answer, what led to it, and the sentences. */
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
  summary: 'Say whether a user may do something, and why or why not',
  description:
    'Answers as the service would, from the roles, policies and role tags of the account, or offline from what cloud rbac export wrote. USER is a sub-user, or account:LOGIN for another account. The exit code is 0 whatever the answer is, unless --expect says what it should be.',
  arguments: {
    user: one('Login, id, or beginning of an id', { values: 'user' }),
    action: one('Operation in lower case: listkeys, getimage, putobject', { values: 'action' }),
    resource: one('What it is done to: keys, keys/laptop, images/NAME, account; a path of the object storage for its actions', {
      values: 'resource',
    }),
  },
  options: {
    withRole: texts('Role that the request asks for instead of the default ones; * for all', { placeholder: 'NAME', values: 'role' }),
    at: text('When: 2024-05-01T09:00Z, 09:00, "monday 09:00", in UTC; now when absent', { placeholder: 'TIME' }),
    source: text('Address that the request comes from', { placeholder: 'IP' }),
    from: text('Ask this document instead of the account', { placeholder: 'FILE', values: 'file' }),
    expect: choice('Fail when the answer is another', ['allow', 'deny'], { placeholder: 'ANSWER' }),
  },
  run: async (invocation) => {
    const { args, options, world } = invocation;
    const action = readAction(args.action);
    const now = options.at === undefined ? world.now() : readMoment(options.at, world.now());
    const sourceip = options.source === undefined ? undefined : readSource(options.source);
    const place = await findPlace(invocation, options.from);
    const caller = findCaller(place.access, args.user, place.account);
    const decision = decide({
      caller,
      roles: listCallerRoles(place.access, caller),
      named: options.withRole.length === 0 ? undefined : options.withRole.flatMap((word) => word.split(',')),
      resource: await findResource(invocation, place, action, args.resource, options.from !== undefined),
      action,
      context: { now, sourceip, method: findOperation(action)?.method },
    });
    const answer = decision.allowed ? 'allow' : 'deny';
    if (options.expect !== undefined && options.expect !== answer) {
      throw new LocalError(`the answer is ${answer}: ${explainDecision(decision).join(' ')}`);
    }
    return show(invocation, decision);
  },
  examples: [
    { line: 'cloud policies simulate alice listkeys keys', help: 'May alice list the keys?' },
    { line: 'cloud policies simulate alice getkey keys/laptop --with-role ops --at "monday 03:00"', help: 'With another role, at night' },
    { line: 'cloud policies simulate alice listimages images --from rbac.yaml --expect allow', help: 'A test of a document, offline' },
  ],
});
