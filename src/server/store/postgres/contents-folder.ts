import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { gatherItems } from '../../../base/batches.ts';
import { ignoreAbsence, LocalError } from '../../../base/errors.ts';
import { writePrivate } from '../../../base/private-files.ts';
import { quoteShell } from '../../../base/quote.ts';
import { findReferenced } from '../../storage/garbage.ts';
import { createDirectorySync } from '../directory-sync.ts';
import { listFiles } from '../file-bytes.ts';
import type { Schema } from '../schema.ts';

/**
 * The folder of contents has a file with an id that the database knows. A folder without this file is the wrong one, usually the mount
 * point of a file system that is not mounted: anything written there would be hidden once it is mounted, and the existing contents could
 * not be read.
 */
const markerName = '.cloud-bytes';

/** Contents looked up in one query. */
const batchSize = 500;

/** The id in a folder; undefined if it has none. */
async function readMarker(dir: string): Promise<string | undefined> {
  return (await readFile(join(dir, markerName), 'utf8').catch(ignoreAbsence))?.trim();
}

/** Several processes may do this concurrently: all write the same. */
async function writeMarker(dir: string, id: string): Promise<void> {
  writePrivate(join(dir, markerName), `${id}\n`);
  await createDirectorySync()(dir);
}

/** True if the folder has a content that the database names. */
async function hasOwnContent(db: Kysely<Schema>, dir: string): Promise<boolean> {
  try {
    for await (const ids of gatherItems(listFiles(join(dir, 'bytes')), batchSize))
      if ((await findReferenced(db, ids)).size > 0) return true;
  } catch (error) {
    ignoreAbsence(error);
  }
  return false;
}

/** True if the database names any content that is stored in a file. */
async function needsFiles(db: Kysely<Schema>): Promise<boolean> {
  const { rows } = await sql<{ needed: boolean }>`
    select exists (
      select 1 from entries
      where content is not null and content not like 'row/%' and content not like 'inline/%' and content not like 'pieces/%'
    ) or exists (select 1 from pieces where bytes not like 'inline/%') or exists (select 1 from images where content is not null) as needed`.execute(
    db,
  );
  return rows[0]?.needed === true;
}

/**
 * Checks that a folder has the contents of a database, and marks it at first use. A folder without the mark is accepted if it has a content
 * that the database names, as after a restore.
 * @throws {LocalError} otherwise; nothing is written then
 */
export async function assertContentsFolder(db: Kysely<Schema>, dir: string): Promise<void> {
  // In this order: a process that marks a folder writes the file first.
  const { id, marked } = await db.selectFrom('contents_folder').selectAll().executeTakeFirstOrThrow();
  const found = await readMarker(dir);
  if (found !== undefined && found !== id) {
    throw new LocalError(`${dir} has the contents of another cluster: its ${markerName} does not have the id of this database`, {
      hint: `give --bytes as the other gateways have it, or another folder. Where no other cluster uses this one: echo ${id} >${quoteShell(join(dir, markerName))}`,
    });
  }
  if (found === undefined) {
    if ((marked || (await needsFiles(db))) && !(await hasOwnContent(db, dir))) {
      throw new LocalError(`${dir} is not the folder of the contents of this database: it has no file ${markerName}`, {
        hint: `is its file system mounted? When it is, and this is the folder: echo ${id} >${quoteShell(join(dir, markerName))}`,
      });
    }
    await writeMarker(dir, id);
  }
  if (!marked) await db.updateTable('contents_folder').set({ marked: true }).execute();
}
