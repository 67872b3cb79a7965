import { isDeepStrictEqual } from 'node:util';
import { LocalError } from '../../../base/errors.ts';
import { countRows } from '../../store/count-rows.ts';
import type { Store } from '../../store/store.ts';
import { workUnderLease, type StoringOptions } from '../under-lease.ts';
import { beginAccounts, countParts, enableAccounts, listAccounts, type AccountCounts } from './accounts.ts';
import { copyEntries, measureEntries, type CopiedEntries } from './entries.ts';
import { copyImages } from './images.ts';
import { copyRecords, countRecords, type CopiedRecords } from './jobs.ts';
import { openSource } from './source.ts';

/** What is brought where. */
export interface ImportOptions extends StoringOptions {
  readonly dataDir: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly signal: AbortSignal;
  /** Told of each step. */
  readonly note: (line: string) => void;
  /** Told how many of how many entries are copied. */
  readonly onProgress: (entries: number, of: number) => void;
}

/** What was brought. */
export interface Imported extends AccountCounts, CopiedEntries, CopiedRecords {
  readonly accounts: readonly string[];
  readonly images: number;
  /** Jobs that were not done. */
  readonly jobsLeftOut: number;
}

/** Connections of an import; its transactions come one after the other. */
const connections = 4;

/** The directories of jobs that are not done, which are left out, each with a line. */
async function findLeftOut(from: Store, note: ImportOptions['note']): Promise<Set<string>> {
  const running = await from.db
    .selectFrom('jobs')
    .innerJoin('accounts', 'accounts.id', 'jobs.account')
    .select(['jobs.id', 'accounts.login'])
    .where('jobs.state', '=', 'running')
    .orderBy('jobs.created')
    .execute();
  for (const { id, login } of running) note(`Left out: job ${id} of ${login}, which is not done`);
  return new Set(running.map(({ id, login }) => `/${login}/jobs/${id}`));
}

/** @throws {LocalError} when the cluster has not what was read */
function assertEqual(what: string, read: object, there: object): void {
  if (isDeepStrictEqual(read, there)) return;
  throw new LocalError(
    `the import is not whole: ${what} in the data directory ${JSON.stringify(read)}, in the cluster ${JSON.stringify(there)}`,
    {
      hint: 'the accounts stay disabled: cloud server accounts delete, and import again',
    },
  );
}

/**
 * Brings the accounts of an embedded service, with all that belongs to them, into a cluster: users, keys, roles, policies, role tags,
 * limits, images with their files, packages, the object storage with open uploads, and records of jobs that are done. Nobody can use them
 * before all of it is there and was compared: every content by size and MD5, everything else by number. The data directory is not written.
 * Interrupted or killed, the same goes on.
 * @throws {UsageError} when accounts of the same login are there; {LocalError} when something is damaged; {InterruptedError}
 */
export async function importData({ dataDir, now, signal, note, onProgress, ...places }: ImportOptions): Promise<Imported> {
  const source = await openSource(dataDir);
  try {
    const { store: from } = source;
    const accounts = await listAccounts(from.db);
    const logins = accounts.map(({ login }) => login);
    return await workUnderLease('import', { ...places, connections }, async (to) => {
      if (await beginAccounts(from, to, accounts)) note('Going on with the import that was begun');
      const ids = accounts.map(({ id }) => id);
      const leftOut = await findLeftOut(from, note);
      const { images, contents } = await copyImages(from, to);
      const total = await countRows(from.db.selectFrom('entries'));
      const copied = await copyEntries({
        from,
        to,
        images: contents,
        leftOut,
        now,
        signal,
        onProgress: (entries) => onProgress(entries, total),
      });
      const records = await copyRecords({ from, to, accounts: ids, signal });
      source.assertUnchanged();
      assertEqual('entries, objects and bytes', copied, await measureEntries(to, logins));
      assertEqual('jobs and uploads', records, await countRecords(to, ids));
      const counts = await countParts(from.db, accounts);
      assertEqual('rows of accounts', counts, await countParts(to.db, accounts));
      await enableAccounts(to, accounts);
      return { accounts: logins, ...counts, images, ...copied, ...records, jobsLeftOut: leftOut.size };
    });
  } finally {
    await source.close();
  }
}
