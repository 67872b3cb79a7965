import type { Context } from '../../cli/command.ts';
import { findNamed } from '../../cli/named.ts';
import { UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { isUuid } from '../../base/uuid.ts';
import { isIdLike, requirePolicy, searchByName } from '../../lookup/find.ts';
import type { Role } from '../../lookup/role.ts';

function isBeginning(word: string): boolean {
  return isIdLike(word) && !isUuid(word);
}

/** Returns names and full ids of policies; beginnings of ids are looked up. */
export async function resolvePolicies({ compute, account }: Context, words: readonly string[]): Promise<string[]> {
  const unknown = words.find(isBeginning);
  if (unknown === undefined) return [...words];
  const listed = await searchByName('policy', unknown, () => compute.listPolicies({ account }));
  return words.map((word) => (isBeginning(word) ? requirePolicy(listed, word).name : word));
}

/** Normalises a word for comparing and sending: a policy of the role by its id if it has one, another one unchanged. */
function writeWord({ policies }: Pick<Role, 'policies'>, word: string): string {
  const candidates = policies.map(({ id, name }) => ({ id: id ?? '', name }));
  const found = findNamed(candidates, word, 'policy');
  return found === undefined ? word : found.id || found.name;
}

/**
 * Returns the complete list of policies to send: that of a file, or else of the role, with the changes of the options.
 * @throws {UsageError} when a policy to remove is not in the list
 */
export async function changePolicies(
  context: Context,
  before: Role,
  held: { readonly policies?: readonly string[] | undefined },
  { addPolicy, removePolicy }: { addPolicy: string[]; removePolicy: string[] },
): Promise<string[]> {
  const policies = (held.policies ?? before.policies.map(({ id, name }) => id ?? name)).map((word) => writeWord(before, word));
  const removed = removePolicy.map((word) => {
    const policy = writeWord(before, word);
    if (policies.includes(policy)) return policy;
    throw new UsageError(`role ${before.name} does not have the policy ${word}`, { hint: `cloud roles get ${quoteShell(before.name)}` });
  });
  const added = (await resolvePolicies(context, addPolicy)).map((word) => writeWord(before, word));
  return [...policies.filter((policy) => !removed.includes(policy)), ...added.filter((policy) => !policies.includes(policy))];
}
