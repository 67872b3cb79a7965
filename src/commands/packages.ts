import { compute as api } from '../api/compute.ts';
import { pkg, type Package } from '../api/resources.ts';
import { group, type Context } from '../cli/command.ts';
import { filtersOf, readFilters } from '../cli/filters.ts';
import { adviseOnName, findNamed } from '../cli/named.ts';
import { getCommand, listCommand } from '../cli/shapes.ts';
import type { ColumnsOf } from '../output/kinds.ts';
import { withHint } from '../base/error-copies.ts';
import { isMissing } from '../base/errors.ts';

/** Finds a package by name, id or the beginning of its id. */
export async function findPackage({ compute, account }: Pick<Context, 'compute' | 'account'>, word: string): Promise<Package> {
  try {
    return await compute.getPackage({ account, id: word });
  } catch (error) {
    if (!isMissing(error)) throw error;
    const listed = await compute.listPackages({ account });
    const found = findNamed(listed, word, 'package');
    if (found) return found;
    throw withHint(error, adviseOnName(word, listed, 'cloud packages list'), `package "${word}" does not exist`);
  }
}

/** Columns of a list; sizes have their unit in the title. */
const columns: ColumnsOf<Package> = [
  'name',
  { key: 'memory', title: 'MEMORY-MIB' },
  { key: 'disk', title: 'DISK-MIB' },
  { key: 'swap', title: 'SWAP-MIB' },
  'vcpus',
  { key: 'lwps', long: true },
  'group',
  { key: 'version', long: true },
  { key: 'brand', long: true },
  { key: 'flexible_disk', long: true },
  { key: 'id', long: true },
];

export const packages = group({
  summary: 'Packages: sizes of instances',
  commands: {
    list: listCommand({
      summary: 'List packages',
      perDatacenter: true,
      aliases: ['ls'],
      columns,
      id: 'id',
      shape: pkg,
      options: filtersOf(api.listPackages),
      fetch: ({ compute, account, options }) => compute.listPackages({ account, ...readFilters(api.listPackages, options) }),
      examples: [
        { line: "cloud packages list --name 'g1*' --sort memory", help: 'One family by size' },
        { line: 'cloud packages list --memory 1024 -o name', help: 'Ids of the packages with 1 GiB' },
      ],
    }),
    get: getCommand({
      summary: 'Show a package',
      perDatacenter: true,
      argument: 'package',
      help: 'Name, id, or beginning of an id',
      values: 'package',
      id: 'id',
      columns: [...columns, 'description', 'disks', 'default'],
      listed: columns,
      shape: pkg,
      fetch: findPackage,
      examples: [
        { line: 'cloud packages get g1-small', help: 'By name' },
        { line: 'cloud packages get g1-small -j --columns memory,disk', help: 'Two fields as JSON' },
      ],
    }),
  },
});
