import { sql } from 'kysely';
import { isSystemError } from '../base/errors.ts';
import { runPool } from '../base/parallel.ts';
import { fileOf } from './compute/image-file.ts';
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
    if (error instanceof StoreUnavailable) throw error;
    if (isSystemError(error) && error.code === 'ENOENT') return 'is missing';
    return error instanceof Error ? error.message : String(error);
  }
}

async function findDamage(place: Place, named: Named): Promise<Damage | undefined> {
  const { path, content, size, known } = named;
  const tell = async (problem: string): Promise<Damage | undefined> => {
    // The content may have been replaced or deleted since its row was read.
    const { rows } = await sql`
      select 1 from entries where content = ${content} union all select 1 from images where content = ${content} limit 1`.execute(place.db);
    return rows.length === 0 ? undefined : { path, content, problem };
  };
  if (known !== null && known !== size) return tell(known === 0 ? 'is missing' : `has ${known} of ${size} bytes`);
  if (content.startsWith('row/')) return undefined;
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
async function* listNamed({ db }: Place): AsyncGenerator<Named> {
  for (let [parent, name] = ['', '']; ;) {
    const { rows } = await sql<{ parent: string; name: string } & Omit<Named, 'path'>>`
      select parent, name, content, size, case
        when content like 'row/%' then (select coalesce(sum(length(bytes)), 0) from contents where id = content)
        when content like 'pieces/%' then (select coalesce(sum(of.size), 0) from pieces as of where of.content = entries.content)
      end as known
      from entries where (parent, name) > (${parent}, ${name}) and content is not null and content not like 'inline/%'
      order by parent, name limit ${pageSize}`.execute(db);
    for (const row of rows) yield { ...row, path: `${row.parent}/${row.name}` };
    const last = rows.at(-1);
    if (!last) break;
    ({ parent, name } = last);
  }
  const images = await db.selectFrom('images').select(['id', 'content', 'files']).where('content', 'is not', null).execute();
  for (const { id, content, files } of images) {
    if (content !== null) yield { path: `image ${id}`, content, size: fileOf({ files }).size ?? 0, known: null };
  }
}

/** Checks that every content of an object or image exists with its size. @param onChecked called for each content */
export async function* verifyContents(place: Place, onChecked: () => void = () => undefined): AsyncGenerator<Damage> {
  for await (const damage of runPool(listNamed(place), (named) => findDamage(place, named), { limit: checkedAtOnce })) {
    onChecked();
    if (damage) yield damage;
  }
}
