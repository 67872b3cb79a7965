import type { Key } from '../../api/resources.ts';
import type { Context } from '../../cli/command.ts';
import { ApiError } from '../../base/errors.ts';
import { findTags } from '../../lookup/resource.ts';

/** Access to the keys of an account or a sub-user. */
export interface OwnKeys {
  /** For messages: `account demo`, `sub-user alice of demo`. */
  readonly label: string;
  list: () => Promise<Key[]>;
  create: (key: string, name: string) => Promise<Key>;
  remove: (context: Context, fingerprint: string) => Promise<void>;
  /** The command that removes a key. */
  removal: (fingerprint: string) => string;
  /** Path of a key below the account, for role tags. */
  pathOf: (fingerprint: string) => string;
}

/** Returns access to the keys of the account or sub-user in the settings. */
export function openOwnKeys({ compute, account, settings }: Context): OwnKeys {
  const user = settings().user?.value;
  if (!user)
    return {
      label: `account ${account}`,
      list: () => compute.listKeys({ account }),
      create: (key, name) => compute.createKey({ account, key, name }),
      remove: async (context, key) => void (await context.compute.deleteKey({ account, key })),
      removal: (fingerprint) => `cloud keys delete ${fingerprint}`,
      pathOf: (fingerprint) => `keys/${fingerprint}`,
    };
  return {
    label: `sub-user ${user} of ${account}`,
    list: () => compute.listUserKeys({ account, user }),
    create: (key, name) => compute.createUserKey({ account, user, key, name }),
    remove: async (context, key) => void (await context.compute.deleteUserKey({ account, user, key })),
    removal: (fingerprint) => `cloud users keys delete ${user} ${fingerprint}`,
    pathOf: (fingerprint) => `users/${user}/keys/${fingerprint}`,
  };
}

/** Copies the role tags of a key to another. Warns on failure; a service that has no role tags of keys is not a failure. */
export async function copyRoleTags(context: Context, { pathOf }: OwnKeys, from: string, to: string): Promise<void> {
  try {
    const tags = (await findTags(context, { path: pathOf(from) })) ?? [];
    if (tags.length > 0) await context.compute.setRoleTags({ resource: `${context.account}/${pathOf(to)}`, 'role-tag': tags });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    context.warn(`the role tags of the old key were not copied to the new key: ${error.message}`);
  }
}
