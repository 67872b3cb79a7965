import type { Kysely } from 'kysely';
import type { compute } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type { Package } from '../../api/resources.ts';
import { ApiError } from '../../base/errors.ts';
import { matchesPattern } from '../../base/wildcards.ts';
import type { Call } from '../http/handler.ts';
import type { PackageRow, Schema } from '../store/schema.ts';

type Filter = InputOf<typeof compute.listPackages>;

function showPackage(row: PackageRow): Package {
  return {
    id: row.id,
    name: row.name,
    memory: row.memory,
    disk: row.disk,
    swap: row.swap,
    lwps: row.lwps,
    vcpus: row.vcpus,
    version: row.version,
    ...(row.group !== null && { group: row.group }),
    ...(row.description !== null && { description: row.description }),
    ...(row.brand !== null && { brand: row.brand }),
    ...(row.disks !== null && { disks: JSON.parse(row.disks) as unknown[] }),
    ...(row.flexible_disk === 1 && { flexible_disk: true }),
    default: row.is_default === 1,
  };
}

function fits(row: PackageRow, filter: Filter): boolean {
  const texts = (['name', 'version', 'group', 'brand'] as const).every((column) => {
    const pattern = filter[column];
    return pattern === undefined || matchesPattern(row[column] ?? '', pattern);
  });
  const numbers = (['memory', 'disk', 'swap', 'lwps', 'vcpus'] as const).every((column) => {
    const wanted = filter[column];
    return wanted === undefined || row[column] === wanted;
  });
  return texts && numbers && (filter.flexible_disk === undefined || (row.flexible_disk === 1) === filter.flexible_disk);
}

/** ListPackages: all given filters must match. */
export async function listPackages(filter: Filter, { store }: Call): Promise<Package[]> {
  const rows = await store.db.selectFrom('packages').selectAll().orderBy('name').orderBy('version').execute();
  return rows.filter((row) => fits(row, filter)).map(showPackage);
}

/** Finds a package by id or name; of several versions of a name, the highest. */
export async function findPackage(db: Kysely<Schema>, word: string): Promise<PackageRow | undefined> {
  const byId = await db.selectFrom('packages').selectAll().where('id', '=', word).executeTakeFirst();
  if (byId !== undefined) return byId;
  const named = await db.selectFrom('packages').selectAll().where('name', '=', word).execute();
  return named.toSorted((left, right) => left.version.localeCompare(right.version, 'en', { numeric: true })).at(-1);
}

/** GetPackage, by id or name. */
export async function getPackage({ id }: InputOf<typeof compute.getPackage>, { store }: Call): Promise<Package> {
  const row = await findPackage(store.db, id);
  if (row === undefined) throw new ApiError(404, 'ResourceNotFound', `package ${id} does not exist`);
  return showPackage(row);
}
