import { sql, type Kysely, type Selectable } from 'kysely';
import type { AuditRow } from '../store/compute-schema.ts';
import { assertMigrated } from '../store/postgres/migrate.ts';
import { openPostgres } from '../store/postgres/open.ts';
import { readPages } from '../store/read-pages.ts';
import type { Schema } from '../store/schema.ts';

/** A change that affects access, as operators read it. */
export interface AuditRecord {
  /** ISO 8601, by the clock of the database. */
  readonly time: string;
  readonly account?: string;
  /** `alice`, `alice/bob`, or `operator`. */
  readonly actor: string;
  readonly action: string;
  /** Path of the changed resource. */
  readonly subject?: string;
  /** Its state after the change. */
  readonly details: unknown;
  readonly address: string;
  /** Fingerprint of the key that signed. */
  readonly key?: string;
  /** Id of the request. */
  readonly request?: string;
}

/** Selects the changes to read. */
export interface AuditFilter {
  /** Login of the account that was changed. */
  readonly account?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly since?: number | undefined;
}

type Row = Selectable<AuditRow>;

/** Rows per query. */
const pageSize = 500;

/** Maximum duration in seconds of a transaction after it has recorded its change. Transactions that began later may commit first. */
const longestWrite = 60;

/** Reads the changes after one of them, in their order. */
function readRows(db: Kysely<Schema>, { account, since }: AuditFilter, after: number): AsyncGenerator<readonly Row[]> {
  const ofAccount = account === undefined ? sql`true` : sql`account = ${account}`;
  const isRecent = since === undefined ? sql`true` : sql`at >= ${new Date(since)}`;
  const where = sql`sequence > ${after} and ${ofAccount} and ${isRecent}`;
  return readPages<Row>(db, 'audit', { key: ['sequence'], where, size: pageSize });
}

function show({ at, account, actor, action, subject, details, address, key, request }: Row): AuditRecord {
  return {
    time: at.toISOString(),
    ...(account !== null && { account }),
    actor,
    action,
    ...(subject !== '' && { subject }),
    details: JSON.parse(details) as unknown,
    address,
    ...(key !== null && { key }),
    ...(request !== null && { request }),
  };
}

/** The highest sequence number up to which no transaction can add another row. */
async function findSettled(db: Kysely<Schema>, after: number): Promise<number> {
  const { last } = await db
    .selectFrom('audit')
    .select((of) => of.fn.max<number | null>('sequence').as('last'))
    .where('sequence', '>', after)
    .where(sql<boolean>`at < clock_timestamp() - make_interval(secs => ${longestWrite})`)
    .executeTakeFirstOrThrow();
  return last ?? after;
}

/**
 * Reads the audit log, oldest change first.
 * @param wait resolves when the log is to be read again, with false to stop; without it the log is read once. Among concurrent changes, one
 * with a lower number may appear later. The last minute is therefore read again each time, and each row is yielded once.
 * @throws {LocalError} when the database cannot be reached
 */
export async function* readAudit(database: string, filter: AuditFilter, wait?: () => Promise<boolean>): AsyncGenerator<AuditRecord> {
  const db = await openPostgres(database, 1);
  try {
    await assertMigrated(db);
    let settled = 0;
    let told = new Set<number>();
    for (;;) {
      const next = wait === undefined ? settled : await findSettled(db, settled);
      for await (const rows of readRows(db, filter, settled)) {
        for (const row of rows) {
          if (told.has(row.sequence)) continue;
          if (wait !== undefined) told.add(row.sequence);
          yield show(row);
        }
      }
      settled = next;
      told = new Set([...told].filter((sequence) => sequence > next));
      if (wait === undefined || !(await wait())) return;
    }
  } finally {
    await db.destroy();
  }
}
