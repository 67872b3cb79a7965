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

/** Source and target of an import. */
export interface ImportOptions extends StoringOptions {
  readonly dataDir: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly signal: AbortSignal;
  /** Receives a line about each step. */
  readonly note: (line: string) => void;
  /** Receives the number of copied entries and the total. */
  readonly onProgress: (entries: number, of: number) => void;
}

/** Result of an import. */
export interface Imported extends AccountCounts, CopiedEntries, CopiedRecords {
  readonly accounts: readonly string[];
  readonly images: number;
  /** Number of jobs left out because they were still running. */
  readonly jobsLeftOut: number;
}

/** Database connections of an import; its transactions run one after the other. */
const connections = 4;

/** Finds the directories of running jobs, which are left out, and reports each. */
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

/** @throws {LocalError} when the cluster differs from what was read */
function assertEqual(what: string, read: object, there: object): void {
  if (isDeepStrictEqual(read, there)) return;
  throw new LocalError(
    `the import is incomplete: ${what} in the data directory ${JSON.stringify(read)}, in the cluster ${JSON.stringify(there)}`,
    {
      hint: 'the accounts stay disabled: cloud server accounts delete, and import again',
    },
  );
}

/**
 * Imports the accounts of an embedded service, with everything that belongs to them, into a cluster: users, keys, roles, policies, role
 * tags, limits, images with their files, packages, the object storage with open uploads, and records of completed jobs. Nobody can use the
 * accounts before everything has been copied and verified: each content by size and MD5, everything else by number. The data directory is
 * not changed. After an interruption or kill, running the same command again resumes the import.
 * @throws {UsageError} when accounts with the same login exist; {LocalError} when something is damaged; {InterruptedError}
 */
export async function importData({ dataDir, now, signal, note, onProgress, ...places }: ImportOptions): Promise<Imported> {
  const source = await openSource(dataDir);
  try {
    const { store: from } = source;
    const accounts = await listAccounts(from.db);
    const logins = accounts.map(({ login }) => login);
    return await workUnderLease('import', { ...places, connections }, async (to) => {
      if (await beginAccounts(from, to, accounts)) note('Resuming the import');
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
