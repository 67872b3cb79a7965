import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { builtinModules } from 'node:module';
import { describe, expect, test } from 'vitest';

const source = resolve(import.meta.dirname, '../../../src');

/** Which folders a folder may import, and which outside packages it alone may use. */
const rules: Record<string, { folders: string[]; packages?: string[] }> = {
  base: { folders: [] },
  start: { folders: ['base', ''] },
  api: { folders: ['base'] },
  auth: { folders: ['base', 'api'], packages: ['sshpk'] },
  http: { folders: ['base', 'api'] },
  client: { folders: ['base', 'api', 'http'] },
  policy: { folders: ['base', 'api'] },
  transfer: { folders: ['base', 'api', 'http', 'client'] },
  output: { folders: ['base'], packages: ['chalk', 'cli-table3', 'ora', 'yaml', 'jq-wasm'] },
  config: { folders: ['base'] },
  cli: { folders: ['base', 'api', 'output', 'config', 'client', 'auth'], packages: ['commander', 'yaml'] },
  session: { folders: ['base', 'api', 'auth', 'http', 'client', 'output', 'config', 'cli'] },
  lookup: { folders: ['base', 'api', 'client', 'cli'] },
  rbac: { folders: ['base', 'api', 'policy', 'cli', 'lookup'], packages: ['yaml'] },
  commands: {
    folders: ['base', 'api', 'http', 'client', 'policy', 'transfer', 'output', 'config', 'cli', 'lookup', 'rbac', 'server'],
    packages: ['mime', 'yaml'],
  },
  server: {
    folders: ['base', 'api', 'auth', 'http', 'policy'],
    packages: ['libsql', 'kysely', 'pg', 'yaml', 'aws4fetch', 'undici', 'hash-wasm'],
  },
};
/** Packages that one file alone may name. */
const owners: Record<string, string> = { commander: 'cli/parser.ts', 'jq-wasm': 'output/jq.ts' };

interface Import {
  file: string;
  from: string;
  isType: boolean;
  isDynamic: boolean;
}

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

function listImports(file: string): Import[] {
  const text = readFileSync(join(source, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '');
  const statics = [...text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^;'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm)];
  const dynamics = [...text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g)];
  return [
    ...statics.map(([, type, from = '']) => ({ file, from, isType: type !== undefined, isDynamic: false })),
    ...dynamics.map(([, from = '']) => ({ file, from, isType: false, isDynamic: true })),
  ];
}

const imports = files.flatMap(listImports);
const isInside = ({ from }: Import): boolean => from.startsWith('.');
/** Path below src of what an import names. */
const target = ({ file, from }: Import): string => relative(source, resolve(source, dirname(file), from));
const folderOf = (file: string): string => (file.includes('/') ? (file.split('/')[0] ?? '') : '');
const isBuiltin = (from: string): boolean => from.startsWith('node:') || builtinModules.includes(from);

describe('who may import whom', () => {
  test('there is something to check', () => {
    expect(imports.length).toBeGreaterThan(200);
    expect(new Set(files.map(folderOf))).toEqual(new Set(['', ...Object.keys(rules)]));
  });

  test.each(Object.keys(rules))('%s', (folder) => {
    const allowed = rules[folder]?.folders ?? [];
    const wrong = imports.filter((each) => {
      if (folderOf(each.file) !== folder || !isInside(each)) return false;
      const to = target(each);
      return folderOf(to) !== folder && !allowed.includes(folderOf(to));
    });
    expect(wrong).toEqual([]);
  });

  test('commands reach the service only when they need it', () => {
    const wrong = imports.filter(
      (each) =>
        folderOf(each.file) === 'commands' && isInside(each) && folderOf(target(each)) === 'server' && !each.isDynamic && !each.isType,
    );
    expect(wrong).toEqual([]);
  });

  test('from the command line declarations, the client and the keys are known as types only', () => {
    const wrong = imports.filter(
      (each) => folderOf(each.file) === 'cli' && isInside(each) && ['client', 'auth'].includes(folderOf(target(each))) && !each.isType,
    );
    expect(wrong).toEqual([]);
  });

  test('writes that see what others commit meanwhile are those of the object storage, which lock what they decide by, and of jobs, which lock theirs', () => {
    const wrong = files.filter((file) => /\bwriteEntry\b/u.test(readFileSync(join(source, file), 'utf8')));
    const mayWrite = /^server\/(?:storage\/|store\/|jobs\/(?:record|archive|handlers|inputs|intermediate)\.ts)/u;
    expect(wrong.filter((file) => !mayWrite.test(file))).toEqual([]);
    expect(wrong).toContain('server/storage/objects.ts');
  });

  test('outside packages stay in their folders and files', () => {
    const wrong = imports.filter((each) => {
      if (isInside(each) || isBuiltin(each.from)) return false;
      const name = each.from.split('/')[0] ?? '';
      const allowed = rules[folderOf(each.file)]?.packages ?? [];
      return !allowed.includes(name) || (owners[name] !== undefined && owners[name] !== each.file);
    });
    expect(wrong).toEqual([]);
  });

  test("no method of a file handle is used that Yarn Plug'n'Play does not have", () => {
    const using = files.filter((file) => /\.(?:datasync|sync|utimes|readv)\(/.test(readFileSync(join(source, file), 'utf8')));
    expect(using).toEqual([]);
  });

  test('nothing but commander is reachable from main.ts without a dynamic import', () => {
    const reached = new Set<string>(['main.ts']);
    const packages = new Set<string>();
    for (const file of reached) {
      for (const each of imports.filter((one) => one.file === file && !one.isDynamic && !one.isType)) {
        if (isInside(each)) reached.add(target(each));
        else if (!isBuiltin(each.from)) packages.add(each.from);
      }
    }
    expect([...packages].filter((name) => name !== 'commander')).toEqual([]);
  });

  test('process is used by main.ts with its signals and streams, what starts it and the generator only, but for the clock, what keys and files need to know of the user and the service of its machine', () => {
    const wrong = files.filter((file) => {
      const text = readFileSync(join(source, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
      return /(?<![.\w'])process\.(?=[a-z])(?!env\['CLOUD_(?:VERSION|COMMIT|COMMIT_DATE)'\])/.test(text);
    });
    expect(wrong.toSorted()).toEqual([
      'auth/private-key.ts',
      // The monotonic clock.
      'base/clock.ts',
      'base/lock.ts',
      'base/private-files.ts',
      'generate.ts',
      // The module of test suites starts the program.
      'local.ts',
      'main.ts',
      'server/jobs/detect-isolation.ts',
      'server/jobs/filter-loader.ts',
      // The user of the service may have no name.
      'server/jobs/zone-place.ts',
      // Memory and processor time of the process are what its metrics show.
      'server/operator/member-metrics.ts',
      'server/shed-load.ts',
      'server/store/database.ts',
      'server/store/sqlite.ts',
      'signals.ts',
      'start/code-cache.ts',
      'start/index.ts',
      'start/module-loader.ts',
      'streams.ts',
      'transfer/local/partial-file.ts',
      'transfer/local/write-target.ts',
    ]);
  });
});
