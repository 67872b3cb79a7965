import type { Image } from '../../api/resources.ts';
import type { Context } from '../../cli/command.ts';
import { ApiError } from '../../base/errors.ts';

/** Explains the letters of `listFlags`. */
export const flagsHelp =
  'FLAGS: O own, S own and shared with other accounts, + shared with you by its owner, P public, I incremental (builds on another image), X not active.';

type Session = Pick<Context, 'compute' | 'account' | 'remember'>;

/** UUID of the account; undefined for a sub-user who may not read it. */
export async function findAccountId({ compute, account, remember }: Session): Promise<string | undefined> {
  return await remember(`id of ${account}`, async () => {
    try {
      return (await compute.getAccount({ account })).id;
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) return undefined;
      throw error;
    }
  });
}

/** The flags of an image, one letter each. */
export function listFlags({ owner, public: isPublic, acl = [], origin, state }: Image, account: string | undefined): string {
  const isOwn = owner === account;
  const isLent = !isOwn && !isPublic && account !== undefined;
  const owned = isOwn ? (acl.length === 0 ? 'O' : 'S') : '';
  return `${owned}${isLent ? '+' : ''}${isPublic ? 'P' : ''}${origin === undefined ? '' : 'I'}${state === 'active' ? '' : 'X'}`;
}
