import { randomUUID } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { CatalogueState, CatalogueStep, ImageDocument, LimitDocument, PackageDocument } from '../../api/catalogue.ts';
import { withDatabase } from '../cluster-accounts.ts';
import { operator } from '../seed/operator.ts';
import { releaseContents } from '../storage/garbage.ts';
import { emptyImage } from '../store/empty-image.ts';
import type { ImageRow, PackageRow, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { storeFiles, type FileSource } from './catalogue-files.ts';
import { noteOperator } from './note-operator.ts';

/** What a cloud offers besides accounts, as operators read and write it: service addresses, packages, public images, limits. */

type Db = Kysely<Schema>;

/** The fields of a record that are not null. */
function dropNull<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], null> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as { [K in keyof T]: Exclude<T[K], null> };
}

async function readUrls(db: Db, table: 'datacenters' | 'services'): Promise<Record<string, string>> {
  const rows = await db.selectFrom(table).selectAll().orderBy('name').execute();
  return Object.fromEntries(rows.map(({ name, url }) => [name, url]));
}

function showPackage({ flexible_disk: flexible, is_default: isDefault, disks, ...row }: PackageRow): CatalogueState['packages'][number] {
  return {
    ...dropNull(row),
    ...(disks !== null && { disks: JSON.parse(disks) as unknown[] }),
    flexible_disk: flexible === 1,
    default: isDefault === 1,
  };
}

function showImage(row: ImageRow, children: readonly string[]): CatalogueState['images'][number] {
  const { id, name, version, os, description, homepage, eula, origin } = row;
  const [file] = JSON.parse(row.files) as NonNullable<ImageDocument['file']>[];
  const published = row.published_at === null ? null : new Date(row.published_at).toISOString();
  return {
    ...dropNull({ id, name, version, os, description, homepage, eula, origin, published_at: published }),
    type: row.type as ImageDocument['type'],
    state: row.state as NonNullable<ImageDocument['state']>,
    requirements: JSON.parse(row.requirements) as Record<string, unknown>,
    tags: JSON.parse(row.tags) as Record<string, unknown>,
    ...(file && { file }),
    hasFile: row.content !== null,
    children,
  };
}

async function readImages(db: Db): Promise<CatalogueState['images']> {
  const rows = await db.selectFrom('images').selectAll().where('owner', '=', operator).orderBy('name').orderBy('version').execute();
  const children = await db.selectFrom('images').select(['id', 'origin']).where('origin', 'is not', null).orderBy('id').execute();
  return rows.map((row) =>
    showImage(
      row,
      children.filter(({ origin }) => origin === row.id).map(({ id }) => id),
    ),
  );
}

async function readLimits(db: Db): Promise<LimitDocument[]> {
  const rows = await db
    .selectFrom('limits')
    .innerJoin('accounts', 'accounts.id', 'limits.account')
    .select(['accounts.login as account', 'limits.by', 'limits.value', 'limits.check', 'limits.os', 'limits.image'])
    .orderBy('accounts.login')
    .execute();
  return rows.map(dropNull);
}

async function readState(db: Db): Promise<CatalogueState> {
  const packages = await db.selectFrom('packages').selectAll().orderBy('name').orderBy('version').execute();
  const accounts = await db.selectFrom('accounts').select('login').orderBy('login').execute();
  return {
    datacenters: await readUrls(db, 'datacenters'),
    services: await readUrls(db, 'services'),
    packages: packages.map(showPackage),
    images: await readImages(db),
    limits: await readLimits(db),
    logins: accounts.map(({ login }) => login),
  };
}

/** The columns whose values are not undefined. */
function dropUndefined<T extends object>(columns: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

function packageColumns({ disks, flexible_disk: flexible, default: isDefault, ...fields }: Partial<PackageDocument>): Partial<PackageRow> {
  return dropUndefined({
    ...fields,
    ...(disks !== undefined && { disks: JSON.stringify(disks) }),
    ...(flexible !== undefined && { flexible_disk: flexible ? 1 : 0 }),
    ...(isDefault !== undefined && { is_default: isDefault ? 1 : 0 }),
  });
}

async function createPackage(transaction: Transaction<Schema>, fields: PackageDocument): Promise<void> {
  const { name, memory, disk, vcpus } = fields;
  const absent = { group: null, description: null, brand: null, disks: null, flexible_disk: 0, is_default: 0 };
  const usual = { id: randomUUID(), version: '1.0.0', swap: memory * 4, lwps: 4000 };
  const row: PackageRow = { ...absent, ...usual, name, memory, disk, vcpus, ...packageColumns(fields) };
  await transaction.insertInto('packages').values(row).execute();
}

function imageColumns({ requirements, tags, file, published_at: published, ...fields }: Partial<ImageDocument>): Partial<ImageRow> {
  return dropUndefined({
    ...fields,
    ...(requirements && { requirements: JSON.stringify(requirements) }),
    ...(tags && { tags: JSON.stringify(tags) }),
    ...(file && { files: JSON.stringify([file]) }),
    ...(published !== undefined && { published_at: Date.parse(published) }),
  });
}

/** Contents of image files, by their paths in the document. */
type FileContents = ReadonlyMap<string, string>;

async function createImage(
  transaction: Transaction<Schema>,
  { fields, upload }: Extract<CatalogueStep, { do: 'createImage' }>,
  contents: FileContents,
  now: number,
): Promise<void> {
  const { name, version, os, type } = fields;
  const content = upload === undefined ? null : (contents.get(upload.path) ?? null);
  const usual = { id: randomUUID(), owner: operator, public: 1, state: 'active', published_at: now };
  const row: ImageRow = { ...emptyImage, ...usual, content, name, version, os, type, ...imageColumns(fields) };
  await transaction.insertInto('images').values(row).execute();
}

/** If the document describes another file than before, the old content no longer matches: the image gets the uploaded file, or none. */
async function updateImage(
  transaction: Transaction<Schema>,
  { id, fields, upload }: Extract<CatalogueStep, { do: 'updateImage' }>,
  contents: FileContents,
): Promise<void> {
  const hasOtherFile = fields.file !== undefined || upload !== undefined;
  const before = await transaction.selectFrom('images').select('content').where('id', '=', id).executeTakeFirst();
  const content = upload === undefined ? null : (contents.get(upload.path) ?? null);
  const columns = { ...imageColumns(fields), ...(hasOtherFile && { content }) };
  await transaction.updateTable('images').set(columns).where('id', '=', id).execute();
  if (hasOtherFile) await releaseContents(transaction, [before]);
}

async function deleteImage(transaction: Transaction<Schema>, id: string): Promise<void> {
  const gone = await transaction.deleteFrom('images').where('id', '=', id).returning('content').executeTakeFirst();
  await releaseContents(transaction, [gone]);
}

async function removeLimit(transaction: Transaction<Schema>, { account, by, check, os, image }: LimitDocument): Promise<void> {
  const owner = transaction.selectFrom('accounts').select('id').where('login', '=', account);
  let query = transaction.deleteFrom('limits').where('account', 'in', owner).where('by', '=', by);
  for (const [column, value] of Object.entries({ check, os, image }) as ['check' | 'os' | 'image', string | undefined][])
    query = query.where(column, 'is not distinct from', (value ?? null) as never);
  await query.execute();
}

async function setLimit(transaction: Transaction<Schema>, limit: LimitDocument): Promise<void> {
  const { account, by, value, check = null, os = null, image = null } = limit;
  const { id } = await transaction.selectFrom('accounts').select('id').where('login', '=', account).executeTakeFirstOrThrow();
  await removeLimit(transaction, limit);
  await transaction.insertInto('limits').values({ account: id, by, value, check, os, image }).execute();
}

async function execute(transaction: Transaction<Schema>, step: CatalogueStep, contents: FileContents, now: number): Promise<unknown> {
  switch (step.do) {
    case 'setUrl': {
      const insert = transaction.insertInto(step.table).values({ name: step.name, url: step.url });
      return insert.onConflict((conflict) => conflict.column('name').doUpdateSet({ url: step.url })).execute();
    }
    case 'removeUrl':
      return transaction.deleteFrom(step.table).where('name', '=', step.name).execute();
    case 'createPackage':
      return createPackage(transaction, step.fields);
    case 'updatePackage':
      return transaction.updateTable('packages').set(packageColumns(step.fields)).where('id', '=', step.id).execute();
    case 'deletePackage':
      return transaction.deleteFrom('packages').where('id', '=', step.id).execute();
    case 'createImage':
      return createImage(transaction, step, contents, now);
    case 'updateImage':
      return updateImage(transaction, step, contents);
    case 'deleteImage':
      return deleteImage(transaction, step.id);
    case 'setLimit':
      return setLimit(transaction, step.limit);
    default:
      return removeLimit(transaction, step.limit);
  }
}

/** Records a step in the audit log: for a created or changed item, its name and the names of its fields. */
async function noteStep(transaction: Transaction<Schema>, step: CatalogueStep): Promise<void> {
  switch (step.do) {
    case 'setUrl':
    case 'removeUrl':
      return noteOperator(transaction, undefined, step.do, { [step.table]: step.name });
    case 'setLimit':
    case 'removeLimit': {
      const { account, ...limit } = step.limit;
      return noteOperator(transaction, account, step.do, limit);
    }
    case 'deletePackage':
    case 'deleteImage':
      return noteOperator(transaction, undefined, step.do, { id: step.id });
    case 'createPackage':
    case 'createImage':
      return noteOperator(transaction, undefined, step.do, { name: step.fields.name, version: step.fields.version });
    case 'updatePackage':
    case 'updateImage':
      return noteOperator(transaction, undefined, step.do, { id: step.id, changed: Object.keys(step.fields) });
  }
}

export function readCatalogueState(database: string): Promise<CatalogueState> {
  return withDatabase(database, ({ db }) => readState(db));
}

/** Where and when to change a catalogue. */
export interface ChangeOptions {
  readonly database: string;
  /** Files that the changes need, and where contents are kept; absent if the changes need none. */
  readonly files?: FileSource | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Changes the catalogue in one transaction.
 * @param plan returns the steps for the current state, read in the same transaction, and throws if they are no longer wanted
 * @throws {UsageError} when a file does not match its description
 */
export function changeCatalogue(
  { database, files, now }: ChangeOptions,
  plan: (state: CatalogueState) => readonly CatalogueStep[],
): Promise<void> {
  const change = ({ write }: Pick<Store, 'write'>, contents: FileContents): Promise<void> =>
    write(async (transaction) => {
      for (const step of plan(await readState(transaction))) {
        await execute(transaction, step, contents, now);
        await noteStep(transaction, step);
      }
    });
  return files === undefined ? withDatabase(database, (store) => change(store, new Map())) : storeFiles(database, files, change);
}
