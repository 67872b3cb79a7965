import type { User } from '../../api/resources.ts';
import type { Context } from '../../cli/command.ts';
import { findNamed } from '../../cli/named.ts';
import { UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { isIdLike, isSameLogin, requireUser } from '../../lookup/find.ts';
import { parseMember, printMember, type Member } from '../../lookup/role.ts';

/** Reads a member: ids and beginnings of ids are looked up, logins are sent to the service unchecked. */
function resolveMember(users: readonly User[], word: string, isDefault: boolean): Member {
  if (!isIdLike(word)) return parseMember(word, isDefault);
  const { id, login } = requireUser(users, word);
  return { type: 'subuser', id, login, default: isDefault };
}

/** Returns the members that options name; one in both lists has the role by default. */
export async function resolveMembers(
  { compute, account }: Context,
  plain: readonly string[],
  byDefault: readonly string[],
): Promise<Member[]> {
  const users = [...plain, ...byDefault].some(isIdLike) ? await compute.listUsers({ account }) : [];
  const members = [];
  for (const word of plain) if (!byDefault.includes(word)) members.push(resolveMember(users, word, false));
  for (const word of byDefault) members.push(resolveMember(users, word, true));
  return members;
}

function isSameMember(a: Member, b: Member): boolean {
  return a.type === b.type && isSameLogin(a.login, b.login);
}

/** Adds members to a list. One that is in the list already stays as it is, except that it may become a default member. */
export function addMembers(members: readonly Member[], added: readonly Member[]): Member[] {
  const isByDefault = (member: Member): boolean => added.some((other) => other.default && isSameMember(member, other));
  const kept = members.map((member) => (isByDefault(member) ? { ...member, default: true } : member));
  return [...kept, ...added.filter((member) => !members.some((other) => isSameMember(member, other)))];
}

/** The default members that are to be added as plain ones, and so stay default members. */
export function findKeptDefaults(members: readonly Member[], added: readonly Member[]): Member[] {
  return members.filter((member) => member.default && added.some((other) => !other.default && isSameMember(member, other)));
}

/** Reads members: `plain` have to request the role, `byDefault` have it active by default. */
export function readMembers(plain: readonly string[] = [], byDefault: readonly string[] = []): Member[] {
  const asking = plain.map((word) => parseMember(word, false));
  return addMembers(
    asking,
    byDefault.map((word) => parseMember(word, true)),
  );
}

/** Writes the members that have a role by default, or those that have to request it. */
export function writeMembers(members: readonly Member[], isDefault: boolean): string[] {
  return members.filter((member) => member.default === isDefault).map(printMember);
}

/** Removes members from a list. @throws {UsageError} for one that is not in the list */
export function removeMembers(members: readonly Member[], words: readonly string[], role: string): Member[] {
  const candidates = members.map((member) => ({ id: member.id ?? '', name: printMember(member), member }));
  const removed = words.map((word) => {
    const found = findNamed(candidates, word, 'member') ?? candidates.find(({ name }) => isSameLogin(name, word));
    if (!found) throw new UsageError(`${word} is not a member of role ${role}`, { hint: `cloud roles get ${quoteShell(role)}` });
    return found.member;
  });
  return members.filter((member) => !removed.includes(member));
}
