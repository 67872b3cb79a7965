import { expect, test } from 'vitest';
import { compute } from '../../../src/api/compute.ts';
import { filtersOf, readFilters } from '../../../src/cli/filters.ts';

test('a list command has an option for each field by which its operation filters', () => {
  const options = filtersOf(compute.listPackages);
  expect(Object.keys(options)).toContain('flexibleDisk');
  expect(options.memory).toMatchObject({ kind: 'number', help: 'Filter by memory in MiB' });
  expect(options.flexibleDisk.kind).toBe('negatable');
  expect(filtersOf(compute.listImages).owner).toMatchObject({ kind: 'text', help: 'Filter by UUID of the owner' });
});

test('filters are sent under the names of the fields; those that are not given are left out', () => {
  const options = { memory: 1024, flexibleDisk: false, name: undefined, other: 'x' };
  expect(readFilters(compute.listPackages, options)).toEqual({ memory: 1024, flexible_disk: false });
});
