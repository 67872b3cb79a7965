import { sql, type Kysely } from 'kysely';
import { LocalError } from '../../../base/errors.ts';
import type { ByteStore } from '../bytes.ts';
import { isDiskFull } from '../disk-full.ts';
import type { Schema } from '../schema.ts';
import { DatabaseRefusal } from './errors.ts';

/**
 * Which database removes contents. Two databases can name the same contents: one is then a copy of the other, and each would remove what
 * only the other refers to. The id of the folder does not tell them apart, because a copy has it too. So a text beside the contents names
 * the server and the database that collected last, and how many collections that database had begun then. A dump in another database has
 * another name; a copy of the server, and a server that returned to an earlier time, have begun fewer collections.
 */

/** What the text beside the contents says; `number` is NaN if somebody else wrote it. */
interface Collector {
  /** System identifier of the server and OID of the database. */
  readonly database: string;
  readonly number: number;
}

const functionDenied = '42501';

/** Identifies a database and its server by what no dump contains. Some providers do not show the server. */
async function identify(db: Kysely<Schema>): Promise<string> {
  const readServer = async (): Promise<string> => {
    const { rows } = await sql<{ server: string }>`select cast(system_identifier as text) as server from pg_control_system()`.execute(db);
    return rows[0]?.server ?? '';
  };
  const server = await readServer().catch((error: unknown) => {
    if (error instanceof DatabaseRefusal && error.code === functionDenied) return 'server';
    throw error;
  });
  const { rows } = await sql<{ id: string }>`
    select cast(oid as text) as id from pg_database where datname = current_database()`.execute(db);
  return `${server}/${rows[0]?.id ?? ''}`;
}

function parseNote(text: string): Collector {
  const [, database = '', number] = /^(\S+) (\d+)\n?$/u.exec(text) ?? [];
  return { database, number: Number(number) };
}

/** Why a database must not remove contents; undefined if it may. */
function findObstacle(found: Collector | undefined, own: Collector): string | undefined {
  if (found === undefined) return own.number === 0 ? undefined : 'they have been restored or moved since this database removed contents';
  if (found.database !== own.database) return 'another database removes them';
  return found.number <= own.number
    ? undefined
    : 'this database is older than them: it was restored, or is a copy of the one that removes them';
}

/**
 * Begins a collection of this database.
 * @param takeOver true if the operator says that no other database uses the contents
 * @returns the error if the store has no room for the next text: unused contents may be removed, which makes room, but nothing else until
 * this function has returned undefined
 * @throws {LocalError} if another one may use them
 */
export async function beginCollection(
  db: Kysely<Schema>,
  { collector: note }: Pick<ByteStore, 'collector'>,
  takeOver = false,
): Promise<unknown> {
  if (note === undefined) return undefined;
  const database = await identify(db);
  // In this order: a collector of the same database writes its number here first.
  const text = await note.read();
  const found = text === undefined ? undefined : parseNote(text);
  const { collections } = await db.selectFrom('contents_folder').select('collections').executeTakeFirstOrThrow();
  const obstacle = findObstacle(found, { database, number: collections });
  if (obstacle !== undefined && !takeOver)
    throw new LocalError(`no contents are removed: ${obstacle}`, {
      hint: 'if no other database uses these contents: cloud server collect --take-over. Otherwise give this database a copy of them, in a place of its own',
    });
  // Without any text, a number other than 0 would mean that the text was lost.
  if (found === undefined) await note.write(`${database} 0\n`);
  const { rows } = await sql<{ number: number }>`
    update contents_folder set collections = greatest(collections, cast(${found?.number || 0} as bigint)) + 1
    returning collections as number`.execute(db);
  try {
    await note.write(`${database} ${rows[0]?.number}\n`);
    return undefined;
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    return error;
  }
}
