import type { compute } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type { Package } from '../../api/resources.ts';
import { matchesPattern } from '../../base/wildcards.ts';
import type { Call } from '../http/handler.ts';
import type { PackageRow } from '../store/schema.ts';
import { fitsAll } from './filters.ts';
import { createUnknownError } from './names.ts';
import { findPackage } from './resources.ts';

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

function fits(row: PackageRow, given: Filter): boolean {
  const { account: _, ...filter } = given;
  const like = (pattern: string, column: 'name' | 'version' | 'group' | 'brand'): boolean => matchesPattern(row[column] ?? '', pattern);
  const is = (wanted: number, column: 'memory' | 'disk' | 'swap' | 'lwps' | 'vcpus'): boolean => row[column] === wanted;
  const texts = { name: like, version: like, group: like, brand: like };
  const numbers = { memory: is, disk: is, swap: is, lwps: is, vcpus: is };
  return fitsAll(filter, { ...texts, ...numbers, flexible_disk: (wanted) => (row.flexible_disk === 1) === wanted });
}

/** ListPackages: all given filters must match. */
export async function listPackages(filter: Filter, { store }: Call): Promise<Package[]> {
  const rows = await store.db.selectFrom('packages').selectAll().orderBy('name').orderBy('version').execute();
  return rows.filter((row) => fits(row, filter)).map(showPackage);
}

/** GetPackage, by id or name. */
export async function getPackage({ id }: InputOf<typeof compute.getPackage>, { store }: Call): Promise<Package> {
  const row = await findPackage(store.db, id);
  if (row === undefined) throw createUnknownError('package', id);
  return showPackage(row);
}
