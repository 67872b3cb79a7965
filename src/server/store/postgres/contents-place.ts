import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { gatherItems } from '../../../base/batches.ts';
import { ignoreNoEntry, LocalError } from '../../../base/errors.ts';
import { writePrivate } from '../../../base/private-files.ts';
import { quoteShell } from '../../../base/quote.ts';
import { findReferenced } from '../../storage/garbage.ts';
import { createDirectorySync } from '../directory-sync.ts';
import { listFiles } from '../file-bytes.ts';
import { markerName, type Note } from '../bytes.ts';
import type { S3Bytes } from '../s3/bytes.ts';
import type { S3Options } from '../s3/options.ts';
import type { Schema } from '../schema.ts';

/** Where contents are: a folder or a bucket. */
interface ContentsPlace {
  /** For messages. */
  readonly name: string;
  /**
   * A text with an id that the database knows. A place without it is the wrong one, usually the mount point of a file system that is not
   * mounted, or another bucket: what is written there could not be read where the other gateways look for it, and existing contents could
   * not be read at all.
   */
  readonly marker: Note;
  /** Ids of all contents. */
  readonly list: () => AsyncIterable<string>;
  /** True if an empty place may be the wrong one even if the database names no content there: a mount point. */
  readonly mayBeAway: boolean;
  readonly mismatch: string;
  /** What an operator can do about a mismatch, and how to mark the place. */
  readonly advise: (id: string) => { other: string; missing: string };
}

/** Contents looked up in one query. */
const batchSize = 500;

function describeFolder(dir: string): ContentsPlace {
  const file = join(dir, markerName);
  const advise = (id: string): { other: string; missing: string } => {
    const mark = `echo ${id} >${quoteShell(file)}`;
    return {
      other: `give --bytes as the other gateways have it, or another folder. Where no other cluster uses this one: ${mark}`,
      missing: `is its file system mounted? When it is, and this is the folder: ${mark}`,
    };
  };
  return {
    name: dir,
    marker: {
      read: () => readFile(file, 'utf8').catch(ignoreNoEntry),
      write: async (text) => {
        writePrivate(file, text);
        await createDirectorySync()(dir);
      },
    },
    async *list() {
      try {
        yield* listFiles(join(dir, 'bytes'));
      } catch (error) {
        ignoreNoEntry(error);
      }
    },
    mayBeAway: true,
    mismatch: `is not the folder of the contents of this database: it has no file ${markerName}`,
    advise,
  };
}

function describeBucket({ bucket, prefix, endpoint }: S3Options, { marker, list }: S3Bytes): ContentsPlace {
  const advise = (id: string): { other: string; missing: string } => {
    const mark = `store the text ${id} as the object ${prefix}${markerName} of the bucket`;
    return {
      other: `give --bytes as the other gateways have it, or another bucket or folder in it. Where no other cluster uses this one: ${mark}`,
      missing: `give --bytes as the other gateways have it. If this is the bucket: ${mark}`,
    };
  };
  return {
    name: `the bucket ${bucket}${prefix === '' ? '' : `/${prefix.slice(0, -1)}`} at ${endpoint}`,
    marker,
    list,
    mayBeAway: false,
    mismatch: `is not the bucket of the contents of this database: it has no object ${markerName}`,
    advise,
  };
}

/** True if a place has a content that the database names. */
async function hasOwnContent(db: Kysely<Schema>, place: ContentsPlace): Promise<boolean> {
  for await (const ids of gatherItems(place.list(), batchSize)) if ((await findReferenced(db, ids)).size > 0) return true;
  return false;
}

/** True if the database names any content that is stored there. */
async function needsContents(db: Kysely<Schema>): Promise<boolean> {
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
 * Checks that a place has the contents of a database, and with `mark` marks it at first use. A place without the mark is accepted if it has
 * a content that the database names, as after a restore. Several processes may do this concurrently: all write the same.
 * @throws {LocalError} otherwise; nothing is written then
 */
async function assertPlace(db: Kysely<Schema>, place: ContentsPlace, mark: boolean): Promise<void> {
  // In this order: a process that marks a place writes the text there first.
  const { id, marked } = await db.selectFrom('contents_folder').selectAll().executeTakeFirstOrThrow();
  const found = (await place.marker.read())?.trim();
  if (found !== undefined && found !== id) {
    throw new LocalError(`${place.name} has the contents of another cluster: its ${markerName} does not have the id of this database`, {
      hint: place.advise(id).other,
    });
  }
  if (found === undefined) {
    const isNeeded = (marked && place.mayBeAway) || (await needsContents(db));
    if (isNeeded && !(await hasOwnContent(db, place)))
      throw new LocalError(`${place.name} ${place.mismatch}`, { hint: place.advise(id).missing });
    if (mark) await place.marker.write(`${id}\n`);
  }
  if (mark && !marked) await db.updateTable('contents_folder').set({ marked: true }).execute();
}

/** @throws {LocalError} unless a folder has the contents of a database, or is new */
export const assertContentsFolder = (db: Kysely<Schema>, dir: string, mark: boolean): Promise<void> =>
  assertPlace(db, describeFolder(dir), mark);

/** @throws {LocalError} unless a bucket has the contents of a database, or is new; {StoreUnavailable} if it does not respond */
export const assertContentsBucket = (db: Kysely<Schema>, options: S3Options, bytes: S3Bytes, mark: boolean): Promise<void> =>
  assertPlace(db, describeBucket(options, bytes), mark);
