import { sql } from 'kysely';
import { openDatabase } from '../../src/server/store/database.ts';
import type { Sandbox } from './sandbox.ts';

/** A directory of the sandbox's `stor` and what is put into it. */
export interface FilledTree {
  readonly name: string;
  /** Directories in it. */
  readonly folders: number;
  /** Objects in it, and in each of its directories. */
  readonly objects: number;
}

/**
 * Puts entries into the database of the sandbox's local service, which rests meanwhile: so many by requests would take an hour. The
 * objects have no bytes.
 */
export async function fillTrees({ local, cloud }: Sandbox, trees: readonly FilledTree[]): Promise<void> {
  const ports = [local.computeUrl, local.storUrl].map((url) => new URL(url).port);
  await cloud(['local', 'stop']);
  const db = await openDatabase(local.dataDir);
  const addObjects = (parent: string, count: number): Promise<unknown> =>
    sql`
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      insert into entries (parent, name, type, etag, mtime, size, md5, copies, headers, role_tags, children)
      select ${parent}, printf('object %07d', i), 'object', printf('00000000-0000-4000-8000-%012d', i), i, i, '', 2, '{}', '[]', 0 from n
    `.execute(db);
  const addFolder = (parent: string, name: string, children: number): Promise<unknown> =>
    sql`
      insert into entries (parent, name, type, mtime, headers, role_tags, children)
      values (${parent}, ${name}, 'directory', 0, '{}', '[]', ${children})
    `.execute(db);
  await sql`begin`.execute(db);
  for (const { name, folders, objects } of trees) {
    const top = `/${local.account}/stor/${name}`;
    await addFolder(`/${local.account}/stor`, name, folders + objects);
    await addObjects(top, objects);
    for (let folder = 1; folder <= folders; folder += 1) {
      await addFolder(top, `folder ${folder}`, objects);
      await addObjects(`${top}/folder ${folder}`, objects);
    }
  }
  await sql`commit`.execute(db);
  await db.destroy();
  await cloud(['local', 'start', '--compute-port', ports[0] ?? '', '--stor-port', ports[1] ?? '']);
}
