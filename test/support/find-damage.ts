import { selectCount } from '../../src/server/store/counts.ts';
import type { Store } from '../../src/server/store/store.ts';
import type { EntryRow } from '../../src/server/store/schema.ts';
import { listUsage, type Usage } from '../../src/server/store/usage.ts';

/** Where an entry is: `/demo/stor/a`. */
function pathOf({ parent, name }: Pick<EntryRow, 'parent' | 'name'>): string {
  return parent === '' ? name : `${parent}/${name}`;
}

/** Entries whose directory is not there, and directories whose count is not that of their entries. */
async function findDamagedEntries({ db }: Store): Promise<string[]> {
  const rows = await db.selectFrom('entries').selectAll().select(selectCount(db).as('count')).execute();
  const paths = new Map(rows.map((row) => [pathOf(row), row]));
  const counts = new Map<string, number>();
  for (const { parent } of rows) counts.set(parent, (counts.get(parent) ?? 0) + 1);
  const orphans = rows.filter(({ parent }) => parent !== '' && paths.get(parent)?.type !== 'directory');
  const wrong = [...paths].filter(([path, { type, count }]) => type === 'directory' && (counts.get(path) ?? 0) !== count);
  return [
    ...orphans.map((row) => `${pathOf(row)}: its directory is not there`),
    ...wrong.map(([path, { count }]) => `${path}: counts ${count} entries, has ${counts.get(path) ?? 0}`),
  ];
}

/** Contents that are named and not there, and rows of contents that nothing names. */
async function findDamagedContents({ db, bytes }: Store): Promise<string[]> {
  const entries = await db.selectFrom('entries').selectAll().where('content', 'is not', null).execute();
  const pieces = await db.selectFrom('pieces').selectAll().execute();
  const kept = await db.selectFrom('contents').select('id').execute();
  const there = new Set([...kept.map(({ id }) => id), ...pieces.map(({ content }) => content)]);
  for await (const id of bytes.list()) there.add(id);
  const isMissing = (content: string | null): boolean => content !== null && !content.startsWith('inline/') && !there.has(content);
  const named = new Set(entries.map(({ content }) => content));
  const left = [...kept.map(({ id }) => id), ...new Set(pieces.map(({ content }) => content))].filter((content) => !named.has(content));
  return [
    ...entries.filter(({ content }) => isMissing(content)).map((row) => `${pathOf(row)}: its content ${row.content} is not there`),
    ...pieces.filter((piece) => isMissing(piece.bytes)).map(({ content, bytes: id }) => `${content}: its piece ${id} is not there`),
    ...left.map((content) => `${content}: nothing names it`),
  ];
}

/** Accounts that do not use what is noted of them. */
async function findWrongUsage({ db }: Store): Promise<string[]> {
  const rows = await db.selectFrom('entries').selectAll().where('type', '=', 'object').execute();
  const used = new Map<string, Usage>();
  for (const { parent, size } of rows) {
    const [, login = '', root] = parent.split('/');
    const { bytes, objects } = used.get(login) ?? { bytes: 0, objects: 0 };
    used.set(login, { bytes: bytes + (size ?? 0), objects: objects + (root === 'uploads' ? 0 : 1) });
  }
  const noted = await listUsage(db);
  const show = (usage: Usage | undefined): string => `${usage?.bytes ?? 0} bytes in ${usage?.objects ?? 0} objects`;
  return [...new Set([...used.keys(), ...noted.keys()])].flatMap((login) => {
    const [is, says] = [show(used.get(login)), show(noted.get(login))];
    return is === says ? [] : [`account ${login} uses ${is}, and ${says} are noted`];
  });
}

/** What is wrong in the data of a service at rest, on either engine, a line each. Files that nothing names are left to the collector. */
export async function findDamage(store: Store): Promise<string[]> {
  return [...(await findDamagedEntries(store)), ...(await findDamagedContents(store)), ...(await findWrongUsage(store))];
}
