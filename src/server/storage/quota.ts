import type { Kysely } from 'kysely';
import type { Call } from '../http/handler.ts';
import { LimitReached, limitOf } from '../limit.ts';
import type { AccountRow, EntryRow, Schema } from '../store/schema.ts';
import { readUsage, type Usage } from '../store/usage.ts';

/**
 * Quotas of accounts: maximum bytes and objects in the object storage. Sizes are counted as listings show them, whatever the number of
 * copies. Each name of a content counts, so that what a deletion frees does not depend on other names. Parts of open uploads count by their
 * bytes; a commit, which moves no bytes, is checked for the number of objects only.
 */

/** Minimum length in bytes for which a quota is checked before the body is read: for less, the check costs more than it saves. */
const askedFrom = 1024 * 1024;

type Of = Pick<Call, 'account' | 'settings'>;

const limits = { bytes: 'accountBytes', objects: 'accountObjects' } as const;

/** The maximum that an account may use: its own quota, or that of the service. */
export function quotaOf(account: Pick<AccountRow, 'most_bytes' | 'most_objects'>, settings: Call['settings']): Usage {
  return {
    bytes: account.most_bytes ?? limitOf(settings, limits.bytes),
    objects: account.most_objects ?? limitOf(settings, limits.objects),
  };
}

function createQuotaError(login: string, kind: keyof Usage, most: number, used: number, wanted: number): LimitReached {
  const message = `account ${login} may store ${most} ${kind}: it uses ${used}, so ${wanted} more do not fit`;
  return new LimitReached(507, 'NotEnoughSpace', message, limits[kind]);
}

/**
 * Rejects a body whose declared length exceeds the quota, before any of it is read.
 * @param length undefined if it is not known
 * @param replaced the entry that the body replaces
 * @throws {LimitReached} 507 `NotEnoughSpace`
 */
export async function assertQuotaFor(
  db: Kysely<Schema>,
  call: Of,
  length: number | undefined,
  replaced: Pick<EntryRow, 'size'> | undefined,
): Promise<void> {
  const most = quotaOf(call.account, call.settings);
  const wanted = (length ?? askedFrom) - (replaced?.size ?? 0);
  if (most.bytes === Infinity || (length ?? askedFrom) < askedFrom || wanted <= 0) return;
  const used = await readUsage(db, call.account.login);
  const least = length === undefined ? 1 : wanted;
  if (used.bytes + least > most.bytes) throw createQuotaError(call.account.login, 'bytes', most.bytes, used.bytes, least);
}

/** Rejects work whose results cannot be stored. @throws {LimitReached} 507 `NotEnoughSpace` when the account has used up its quota */
export async function assertQuotaLeft(db: Kysely<Schema>, call: Of): Promise<void> {
  const most = quotaOf(call.account, call.settings);
  if (most.bytes === Infinity && most.objects === Infinity) return;
  const used = await readUsage(db, call.account.login);
  for (const kind of ['bytes', 'objects'] as const)
    if (used[kind] >= most[kind]) throw createQuotaError(call.account.login, kind, most[kind], used[kind], 1);
}

/** How much more an account uses when an entry replaces another. */
export function growthOf(before: Pick<EntryRow, 'type' | 'size'> | undefined, size: number): Usage {
  return { bytes: size - (before?.size ?? 0), objects: before?.type === 'object' ? 0 : 1 };
}

/**
 * Checks what a transaction has written; throwing rolls it back. Concurrent transactions of other processes are not seen: together they may
 * exceed a quota by what they write.
 * @param growth what the transaction added; anything that does not grow is never rejected
 * @throws {LimitReached} 507 `NotEnoughSpace`
 */
export async function assertQuota(transaction: Kysely<Schema>, call: Of, growth: Usage): Promise<void> {
  const most = quotaOf(call.account, call.settings);
  const kinds = (['bytes', 'objects'] as const).filter((kind) => growth[kind] > 0 && most[kind] !== Infinity);
  if (kinds.length === 0) return;
  const used = await readUsage(transaction, call.account.login);
  for (const kind of kinds)
    if (used[kind] > most[kind]) throw createQuotaError(call.account.login, kind, most[kind], used[kind] - growth[kind], growth[kind]);
}

/**
 * Reserves remaining quota for the growth of accounts; a transaction does this before it writes.
 * @returns the error if the growth does not fit, in which case nothing is reserved; anything that does not grow always fits
 */
type TakeRoom = (growth: ReadonlyMap<string, Usage>) => LimitReached | undefined;

/** The remaining quota of some accounts; undefined if none of them has a quota. */
export async function openRoom(
  transaction: Kysely<Schema>,
  settings: Call['settings'],
  logins: Iterable<string>,
): Promise<TakeRoom | undefined> {
  const query = transaction.selectFrom('accounts').select(['login', 'most_bytes', 'most_objects']);
  const rows = await query.where('login', 'in', [...logins]).execute();
  const accounts = new Map<string, { most: Usage; used: Usage }>();
  for (const { login, ...account } of rows) {
    const most = quotaOf(account, settings);
    if (most.bytes === Infinity && most.objects === Infinity) continue;
    accounts.set(login, { most, used: await readUsage(transaction, login) });
  }
  if (accounts.size === 0) return undefined;
  return (growth) => {
    const limited = [...growth].flatMap(([login, more]) => ({ login, more, account: accounts.get(login) }));
    for (const { login, more, account } of limited) {
      if (!account) continue;
      const { most, used } = account;
      for (const kind of ['bytes', 'objects'] as const)
        if (more[kind] > 0 && used[kind] + more[kind] > most[kind])
          return createQuotaError(login, kind, most[kind], used[kind], more[kind]);
    }
    for (const { more, account } of limited) if (account) account.used = addUsage(account.used, more);
    return undefined;
  };
}

export function addUsage(one: Usage, other: Usage): Usage {
  return { bytes: one.bytes + other.bytes, objects: one.objects + other.objects };
}
