import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { isSystemError } from '../base/errors.ts';
import { runPool } from '../base/parallel.ts';
import { fileOf } from './compute/image-file.ts';
import { isRow, readRow } from './store/row-bytes.ts';
import type { Store } from './store/store.ts';
import { StoreUnavailable } from './store/unavailable.ts';

/** Rows per query, and contents checked concurrently. */
const pageSize = 1000;
const checkedAtOnce = 8;

/** An object or image whose bytes do not match its row. */
export interface Damage {
  readonly path: string;
  readonly content: string;
  readonly problem: string;
}

/** Bytes that a row refers to. */
interface Named {
  readonly path: string;
  readonly content: string;
  readonly size: number;
  /** Total size of the pieces, or of the row, that the content consists of; null for other contents. */
  readonly known: number | null;
  /** Its digest; absent if it is not known. */
  readonly digest?: Digest | undefined;
}

/** A digest in Base64 or, for SHA-1, in hexadecimal digits. */
interface Digest {
  readonly algorithm: 'md5' | 'sha1';
  readonly value: string;
}

/** Reads a content of one or more parts from its start to its end. @returns undefined, or what is wrong */
async function compareDigest({ db, bytes }: Place, { content, size }: Named, { algorithm, value }: Digest): Promise<string | undefined> {
  const hash = createHash(algorithm);
  if (isRow(content)) hash.update((await readRow(db, content)) ?? '');
  else {
    const pieces = content.startsWith('pieces/')
      ? await db.selectFrom('pieces').select(['bytes', 'size']).where('content', '=', content).orderBy('start').execute()
      : [{ bytes: content, size }];
    for (const piece of pieces) for await (const some of await bytes.read(piece.bytes, 0, piece.size)) hash.update(some);
  }
  return hash.digest(algorithm === 'md5' ? 'base64' : 'hex') === value
    ? undefined
    : `does not have the ${algorithm.toUpperCase()} ${value}`;
}

/** Says what is wrong with a content that cannot be read. @throws {StoreUnavailable} */
function describeFailure(error: unknown): string {
  if (error instanceof StoreUnavailable) throw error;
  if (isSystemError(error) && error.code === 'ENOENT') return 'is missing';
  return error instanceof Error ? error.message : String(error);
}

type Place = Pick<Store, 'db' | 'bytes'>;

/** Checks the bytes of a content by reading the last one only: contents get their names when they are complete. */
async function findProblem({ bytes }: Place, id: string, size: number): Promise<string | undefined> {
  if (size === 0) return undefined;
  try {
    let read = 0;
    for await (const piece of await bytes.read(id, size - 1, size)) read += piece.length;
    return read === 1 ? undefined : `has fewer than ${size} bytes`;
  } catch (error) {
    return describeFailure(error);
  }
}

async function findContentDamage(place: Place, named: Named): Promise<Damage | undefined> {
  const { path, content, size, known, digest } = named;
  const tell = async (problem: string): Promise<Damage | undefined> => {
    // The content may have been replaced or deleted since its row was read.
    const { rows } = await sql`
      select 1 from entries where content = ${content} union all select 1 from images where content = ${content} limit 1`.execute(place.db);
    return rows.length === 0 ? undefined : { path, content, problem };
  };
  if (known !== null && known !== size) return tell(known === 0 ? 'is missing' : `has ${known} of ${size} bytes`);
  if (digest !== undefined) {
    const problem = await compareDigest(place, named, digest).catch(describeFailure);
    return problem === undefined ? undefined : tell(problem);
  }
  if (isRow(content)) return undefined;
  if (!content.startsWith('pieces/')) {
    const problem = await findProblem(place, content, size);
    return problem === undefined ? undefined : tell(problem);
  }
  const pieces = await place.db.selectFrom('pieces').select(['bytes', 'size']).where('content', '=', content).execute();
  for (const piece of pieces) {
    const problem = await findProblem(place, piece.bytes, piece.size);
    if (problem !== undefined) return tell(`its part ${piece.bytes} ${problem}`);
  }
  return undefined;
}

/** All contents that rows refer to: those of objects by path, then those of images. */
async function* listNamed({ db }: Place, checksum: boolean): AsyncGenerator<Named> {
  for (let [parent, name] = ['', '']; ;) {
    const { rows } = await sql<{ parent: string; name: string } & Omit<Named, 'path' | 'digest'> & { md5: string | null }>`
      select parent, name, content, size, md5, case
        when content like 'row/%' then (select coalesce(sum(length(bytes)), 0) from contents where id = content)
        when content like 'pieces/%' then (select coalesce(sum(of.size), 0) from pieces as of where of.content = entries.content)
      end as known
      from entries where (parent, name) > (${parent}, ${name}) and content is not null and content not like 'inline/%'
      order by parent, name limit ${pageSize}`.execute(db);
    for (const { md5, ...row } of rows) {
      const digest = checksum && md5 !== null ? ({ algorithm: 'md5', value: md5 } as const) : undefined;
      yield { ...row, path: `${row.parent}/${row.name}`, digest };
    }
    const last = rows.at(-1);
    if (!last) break;
    ({ parent, name } = last);
  }
  const images = await db.selectFrom('images').select(['id', 'content', 'files']).where('content', 'is not', null).execute();
  for (const { id, content, files } of images) {
    if (content === null) continue;
    const { size = 0, sha1 } = fileOf({ files });
    const digest = checksum && sha1 !== undefined ? ({ algorithm: 'sha1', value: sha1 } as const) : undefined;
    yield { path: `image ${id}`, content, size, known: null, digest };
  }
}

/**
 * Checks that every content of an object or image exists with its size.
 * @param onChecked called for each content
 * @param checksum true to read all of it and compare its digest, if that is known
 */
export async function* verifyContents(place: Place, onChecked: () => void = () => undefined, checksum = false): AsyncGenerator<Damage> {
  for await (const damage of runPool(listNamed(place, checksum), (named) => findContentDamage(place, named), { limit: checkedAtOnce })) {
    onChecked();
    if (damage) yield damage;
  }
}
