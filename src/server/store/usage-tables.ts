import { sql, type Kysely, type RawBuilder } from 'kysely';
import { isPostgres } from './engine-of.ts';
import { addColumns, createTable } from './create-table.ts';

/**
 * Migration step: what each account uses of the object storage, and its quota. Triggers maintain the numbers: every statement that writes
 * entries is counted, in any release, and writers need no further query. Parts of uploads count by their bytes, and not as objects.
 *
 * On SQLite, which has one writer, the numbers of an account are in one row. On PostgreSQL that row would be a lock for which all writers
 * of the account wait. There, each statement adds a row to `usage_changes`, which is later added to the account's row. Existing entries are
 * counted after the migration, during which nobody else can write; a row without a login marks that this has to be done.
 */
export async function createUsageTables(db: Kysely<never>): Promise<void> {
  await addColumns(db, 'accounts', 'most_bytes integer null, most_objects integer null, most_requests integer null');
  await createTable(db, 'storage_usage', 'login text key, bytes integer, objects integer');
  for (const statement of isPostgres(db) ? postgresStatements : sqliteStatements) await statement.execute(db);
}

/** The login in the path of a directory with objects: `demo` of `/demo/stor/a`. @param parent column */
function loginOf(parent: string): string {
  return `substr(${parent}, 2, instr(substr(${parent}, 2) || '/', '/') - 1)`;
}

/** 1 for an object, 0 for a part of an upload. */
function objectOf(parent: string): string {
  return `(substr(${parent}, instr(substr(${parent}, 2) || '/', '/') + 1, 9) <> '/uploads/')`;
}

/** Adds to the row of the account that an entry belongs to. @param row `new` or `old` */
function addEntry(row: 'new' | 'old', sign: '+' | '-'): string {
  return `insert into storage_usage (login, bytes, objects)
    values (${loginOf(`${row}.parent`)}, ${sign}coalesce(${row}.size, 0), ${sign}${objectOf(`${row}.parent`)})
    on conflict (login) do update set bytes = bytes + excluded.bytes, objects = objects + excluded.objects;`;
}

const sqliteStatements: readonly RawBuilder<unknown>[] = [
  sql.raw(`insert into storage_usage (login, bytes, objects)
    select ${loginOf('parent')}, sum(coalesce(size, 0)), sum(${objectOf('parent')}) from entries where type = 'object' group by 1`),
  sql.raw(`create trigger usage_of_new after insert on entries when new.type = 'object' begin ${addEntry('new', '+')} end`),
  sql.raw(`create trigger usage_of_old after delete on entries when old.type = 'object' begin ${addEntry('old', '-')} end`),
  // A directory may replace an object, or an object a directory; most updates change neither type nor size.
  sql.raw(`create trigger usage_of_added after update of type, size on entries
    when new.type = 'object' and (old.type <> 'object' or old.size is not new.size) begin ${addEntry('new', '+')} end`),
  sql.raw(`create trigger usage_of_replaced after update of type, size on entries
    when old.type = 'object' and (new.type <> 'object' or old.size is not new.size) begin ${addEntry('old', '-')} end`),
];

const postgresStatements: readonly RawBuilder<unknown>[] = [
  sql`create table usage_changes (
    login text collate "C" not null, number bigint not null generated always as identity,
    bytes bigint not null, objects bigint not null, primary key (login, number)
  )`,
  sql`insert into storage_usage (login, bytes, objects) select '', 0, 0 from (select 1 from entries limit 1) as first_entry`,
  // Once per statement, however many entries it writes.
  sql`create function note_usage() returns trigger language plpgsql as $$
  begin
    insert into usage_changes (login, bytes, objects)
    select split_part(parent, '/', 2), cast(tg_argv[0] as bigint) * coalesce(sum(size), 0),
      cast(tg_argv[0] as bigint) * count(*) filter (where split_part(parent, '/', 3) <> 'uploads')
    from changed where type = 'object' group by 1;
    return null;
  end $$`,
  sql`create function note_replaced() returns trigger language plpgsql as $$
  declare
    object bigint := case when split_part(new.parent, '/', 3) = 'uploads' then 0 else 1 end;
  begin
    insert into usage_changes (login, bytes, objects) values (
      split_part(new.parent, '/', 2),
      case when new.type = 'object' then coalesce(new.size, 0) else 0 end - case when old.type = 'object' then coalesce(old.size, 0) else 0 end,
      case when new.type = 'object' then object else 0 end - case when old.type = 'object' then object else 0 end);
    return null;
  end $$`,
  sql`create trigger usage_of_new after insert on entries referencing new table as changed
    for each statement execute function note_usage('1')`,
  sql`create trigger usage_of_old after delete on entries referencing old table as changed
    for each statement execute function note_usage('-1')`,
  sql`create trigger usage_of_replaced after update of type, size on entries
    for each row when (old.type <> new.type or old.size is distinct from new.size) execute function note_replaced()`,
];
