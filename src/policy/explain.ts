import type { Decision, Grant, Missing, Reason } from './decide.ts';

function describeGrant(grant: Grant): string[] {
  if (grant.kind === 'account') return ['An account may do everything in itself.'];
  if (grant.kind === 'authenticated') return ['Every authenticated caller may do it: it concerns no resource.'];
  if (grant.kind === 'administrator') return [`Role ${grant.role} may do everything in the account.`];
  const tag =
    grant.tag === undefined ? 'The rule names the resource *, so no role tag is needed.' : `The resource has the role tag ${grant.tag}.`;
  return [`Role ${grant.role}, policy ${grant.policy}, rule: ${grant.rule}`, tag];
}

function describeRule(reason: Reason): string {
  return `policy ${reason.policy ?? ''}, rule "${reason.rule ?? ''}"`;
}

type Words = (reason: Reason, question: Decision['question']) => string;

/** What was missing in one role, as the end of a sentence. */
const describeMissing: Readonly<Record<Missing, Words>> = {
  'no-role': () => 'no role is active',
  'unknown-role': () => 'the account has no role of this name',
  'not-member': () => 'the caller is not a member of this role',
  'no-policy': () => 'it has no policy with a rule',
  'not-action': (_reason, { action }) => `none of its rules names the action ${action}`,
  'broken-rule': (reason) => `${describeRule(reason)} cannot be read: ${reason.detail ?? ''}`,
  principal: (reason) => `${describeRule(reason)} names principals; rules here never do, so it does not apply`,
  negative: (reason) => `${describeRule(reason)} is a CAN NOT, which grants nothing`,
  'not-resource': (reason, { path }) => `${describeRule(reason)} does not apply to ${path}`,
  'missing-name': (reason) => `${describeRule(reason)} compares "${reason.detail ?? ''}", which this request does not have`,
  'condition-false': (reason) => `${describeRule(reason)} does not apply, because this is false: ${reason.detail ?? ''}`,
  'too-complex': (reason) => `${describeRule(reason)} exceeds the step limit of a decision`,
  'no-tag': (reason, { path, kind }) => {
    const alone =
      kind === 'member'
        ? ' (a tag of its collection does not count)'
        : kind === 'missing'
          ? ' (it does not exist, so that the tags of its collection count)'
          : '';
    return `${describeRule(reason)} allows it, but ${path} does not have the role tag ${reason.role ?? ''}${alone}`;
  },
};

/** Explains a decision in sentences: first the decision, then for each role the grant or the first unmet requirement. */
export function explainDecision(decision: Decision): string[] {
  const { action, path } = decision.question;
  const { kind, login } = decision.question.caller;
  const caller = kind === 'user' ? login : `the account ${login}`;
  if (decision.allowed) return [`Allowed: ${caller} may ${action} ${path}.`, ...describeGrant(decision.because)];
  const reasons = decision.reasons.map((reason) => {
    const words = describeMissing[reason.missing](reason, decision.question);
    return reason.role === undefined ? `${words.charAt(0).toUpperCase()}${words.slice(1)}.` : `Role ${reason.role}: ${words}.`;
  });
  const inactive = decision.inactive.map(
    (role) => `Role ${role} would allow it, but is not active: request it with --role ${role}, or simulate it with --with-role ${role}.`,
  );
  return [`Denied: ${caller} may not ${action} ${path}.`, ...reasons, ...inactive];
}
