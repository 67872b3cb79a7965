import type { User } from '../../api/resources.ts';
import type { Context } from '../../cli/command.ts';
import { findNamed } from '../../cli/named.ts';
import { UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { isIdLike, isSameLogin, requireUser } from '../../lookup/find.ts';
import { parseMember, printMember, type Member } from '../../lookup/role.ts';

/** A member from what the user typed: ids and beginnings of ids are looked up, logins are for the service to know. */
function resolveMember(users: readonly User[], word: string, isDefault: boolean): Member {
  if (!isIdLike(word)) return parseMember(word, isDefault);
  const { id, login } = requireUser(users, word);
  return { type: 'subuser', id, login, default: isDefault };
}

/** The members that options name; one that is named in both ways has the role by default. */
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

/** Members with some added; one that is there already gets its `default` from what is added. */
export function addMembers(members: readonly Member[], added: readonly Member[]): Member[] {
  const kept = members.filter((member) => !added.some((other) => isSameMember(member, other)));
  const known = added.map((member) => ({ ...members.find((other) => isSameMember(member, other)), ...member }));
  return [...kept, ...known];
}

/** Members by words: those that have to ask for the role, and those that have it by default. */
export function readMembers(plain: readonly string[] = [], byDefault: readonly string[] = []): Member[] {
  const asking = plain.map((word) => parseMember(word, false));
  return addMembers(
    asking,
    byDefault.map((word) => parseMember(word, true)),
  );
}

/** The words of members that have a role by default, or of those that have to ask for it. */
export function writeMembers(members: readonly Member[], isDefault: boolean): string[] {
  return members.filter((member) => member.default === isDefault).map(printMember);
}

/** Members without some, which are named as members are added. @throws {UsageError} for one that is not there */
export function removeMembers(members: readonly Member[], words: readonly string[], role: string): Member[] {
  const candidates = members.map((member) => ({ id: member.id ?? '', name: printMember(member), member }));
  const removed = words.map((word) => {
    const found = findNamed(candidates, word, 'member') ?? candidates.find(({ name }) => isSameLogin(name, word));
    if (!found) throw new UsageError(`${word} is not a member of role ${role}`, { hint: `cloud roles get ${quoteShell(role)}` });
    return found.member;
  });
  return members.filter((member) => !removed.includes(member));
}
