import { ApiError } from '../../errors.ts';

/**
 * The role tags of an entry that is written, JSON array of role ids: those the request names, else those it has, else its
 * parent's. @throws 409 `InvalidRoleTag` for a role that the account does not have; none has roles before the role operations.
 */
export function chooseRoleTags(
  named: string | undefined,
  existing: { role_tags: string } | undefined,
  parent: { role_tags: string },
): string {
  if (named === undefined) return existing?.role_tags ?? parent.role_tags;
  const unknown = named.split(',').find((name) => name.trim() !== '');
  if (unknown !== undefined) throw new ApiError(409, 'InvalidRoleTag', `the account has no role "${unknown.trim()}": create it first`);
  return '[]';
}
