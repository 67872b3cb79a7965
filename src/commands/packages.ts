import { pkg, type Package } from '../api/resources.ts';
import { group, type Context } from '../cli/command.ts';
import { negatable, number, text } from '../cli/parameters.ts';
import { findNamed, getCommand, listCommand } from '../cli/shapes.ts';
import { ApiError } from '../errors.ts';

/** Finds a package by name, id or the beginning of its id. */
export async function findPackage({ compute, account }: Pick<Context, 'compute' | 'account'>, word: string): Promise<Package> {
  try {
    return await compute.getPackage({ account, id: word });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    const found = findNamed(await compute.listPackages({ account }), word, 'package');
    if (found) return found;
    throw new ApiError(404, error.code, `package "${word}" does not exist`, { requestId: error.requestId, hint: 'cloud packages list' });
  }
}

export const packages = group({
  summary: 'Packages: the sizes that instances come in',
  commands: {
    list: listCommand({
      summary: 'List packages',
      columns: [
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
      ],
      id: 'id',
      shape: pkg,
      options: {
        name: text('Only of this name; * stands for anything'),
        version: text('Only of this version; * stands for anything'),
        group: text('Only of this group; * stands for anything'),
        memory: number('Only with this much memory, MiB'),
        disk: number('Only with this much disk, MiB'),
        swap: number('Only with this much swap, MiB'),
        lwps: number('Only with this many light-weight processes'),
        vcpus: number('Only with this many processors'),
        flexibleDisk: negatable('Only with, or only without a freely divided disk'),
        brand: text('Only for this brand; * stands for anything'),
      },
      fetch: ({ compute, account, options: { flexibleDisk, ...filters } }) =>
        compute.listPackages({ account, ...filters, flexible_disk: flexibleDisk }),
      examples: [
        { line: "cloud packages list --name 'g1*' --sort memory", help: 'One family by size' },
        { line: 'cloud packages list --memory 1024 -o name', help: 'Ids of the packages with 1 GiB' },
      ],
    }),
    get: getCommand({
      summary: 'Show a package',
      argument: 'package',
      help: 'Name, id, or beginning of an id',
      values: 'package',
      id: 'id',
      shape: pkg,
      fetch: findPackage,
      examples: [
        { line: 'cloud packages get g1-small', help: 'By name' },
        { line: 'cloud packages get g1-small -j --columns memory,disk', help: 'Two fields as JSON' },
      ],
    }),
  },
});
