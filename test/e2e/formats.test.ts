import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parse } from 'yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import { list, map, object, text, type Field } from '../../src/api/fields.ts';
import * as objects from '../../src/api/objects.ts';
import * as resources from '../../src/api/resources.ts';
import { commands } from '../unit/cli/tree.ts';
import { createSchema, validate } from '../support/schema.ts';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { useShared } from '../support/shared-service.ts';

type Row = Record<string, unknown>;

const user = useShared('--http');
const odd = 'a, "b" \\ c\td';

/** A role as commands show it: also with the members of whom it is a default role, by login. */
const role: Field = { ...resources.role, fields: { ...resources.role.fields, default_members: { ...list(''), optional: true } } };

/** What the service has as a map of addresses by names. */
const place = object('', { name: text(''), url: text('') });

/** Lists, and what each row consists of. */
const lists: readonly (readonly [string, Field])[] = [
  ['keys list', resources.key],
  ['users list', resources.user],
  ['roles list', role],
  ['policies list', resources.policy],
  ['images list --state all', resources.image],
  ['packages list', resources.pkg],
  ['account limits -q', resources.limit],
  ['users keys list alice', resources.key],
  ['datacenters list', place],
  ['services list', place],
  ['jobs list', objects.job],
  ['mpu list', objects.upload],
];

/** Single things. */
const records: readonly (readonly [string, Field])[] = [
  ['account get', resources.account],
  ['account config get', resources.config],
  ['keys get laptop', resources.key],
  ['users get alice --membership', resources.user],
  ['roles get dev', role],
  ['roles tags get keys', resources.roleTags],
  ['policies get read-keys', resources.policy],
  ['images get debian-12', resources.image],
  ['packages get g1-small', resources.pkg],
  ['users keys get alice desk', resources.key],
  ['datacenters get local', place],
  ['services get storage', place],
  ['jobs get pending', objects.job],
  ['mpu get $(cloud mpu list -o name)', objects.upload],
  ['images tags get debian-12', map('')],
];

/** What shows nothing that a service declares: profiles and faults of this machine, accounts of a server of its own, content, headers and snapshots of objects. */
const undeclared = [
  'alias list',
  'local faults list',
  'local snapshot list',
  'server accounts list',
  'profile list',
  'profile get',
  'stor get',
  'stor meta get',
  'stor snapshot list',
  'stor roles get',
];

beforeAll(async () => {
  for (const name of ['laptop', 'desk']) execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-f', join(user.home, name)]);
  for (const line of [
    'cloud keys create laptop.pub --name laptop',
    'echo Passw0rd | cloud users create alice --email a@example.com --password-stdin --wait',
    'cloud users keys create alice desk.pub --name desk',
    `cloud policies create read-keys --rule 'CAN listkeys' --description '${odd}' --wait`,
    'cloud roles create dev --default-member alice --policy read-keys --wait',
    'cloud roles tags add keys dev',
    'cloud jobs create --name pending --map cat',
    'cloud mpu create tree/large',
    'cloud stor mkdir -p tree/below',
    'echo hello | cloud stor put - tree/hello.txt',
  ]) {
    const { code, stderr } = await user.line(line);
    if (code !== 0) throw new Error(`${line}: ${stderr}`);
  }
});

/** A reader of RFC 4180, written for this test alone. */
function readCsv(text: string): string[][] {
  const lines: string[][] = [[]];
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    lines.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end !== ',') lines.push([]);
  }
  return lines.slice(0, -1);
}

function readTsv(text: string): string[][] {
  const letters: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', '\\': '\\' };
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => line.split('\t').map((cell) => cell.replaceAll(/\\(.)/g, (_, letter: string) => letters[letter] ?? '')));
}

/** A value as a cell of CSV and TSV has it. */
function toCell(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function read(line: string): Promise<string> {
  // A line with a command in it is for a shell.
  const { code, stdout, stderr } = line.includes('$(') ? await user.shell(`cloud ${line}`) : await user.here(line.split(' '));
  expect([line, code, stderr]).toEqual([line, 0, '']);
  return stdout;
}

it('every list and get is looked at', () => {
  const lines = [...lists, ...records].map(([line]) => line);
  const left = commands.filter(([path]) => / (list|get)$/.test(path) && !lines.some((line) => line.startsWith(path)));
  expect(left.map(([path]) => path).sort()).toEqual(undeclared.sort());
});

describe.each(lists)('cloud %s', (line, field) => {
  let rows: Row[] = [];
  beforeAll(async () => {
    rows = JSON.parse(await read(`${line} -j`)) as Row[];
  });

  it('is JSON of the declared fields', () => {
    expect(validate(rows, createSchema(list('', field)))).toEqual([]);
    if (!line.startsWith('account')) expect(rows.length).toBeGreaterThan(0);
  });

  it('is the same in JSON lines, YAML, CSV and TSV', async () => {
    const [lines = '', yaml = '', csv = '', tsv = ''] = await Promise.all(
      ['jsonl', 'yaml', 'csv --columns all', 'tsv --columns all'].map((form) => read(`${line} -o ${form}`)),
    );
    expect(
      lines
        .split('\n')
        .filter(Boolean)
        .map((each) => JSON.parse(each) as unknown),
    ).toEqual(rows);
    expect(parse(yaml)).toEqual(rows);
    for (const [header = [], ...cells] of [readCsv(csv), readTsv(tsv)]) {
      // Columns that are made for people have no field.
      const kept = header.flatMap((name, at) => (rows.some((row) => Object.hasOwn(row, name)) ? [at] : []));
      expect(cells.map((row) => kept.map((at) => row[at]))).toEqual(rows.map((row) => kept.map((at) => toCell(row[header[at] ?? '']))));
      for (const row of rows) expect(header).toEqual(expect.arrayContaining(Object.keys(row)));
    }
  });

  it('has the same cells in a table, read back by its header', async () => {
    const { fields = {} } = field;
    const names = Object.keys(fields).filter((name) => fields[name]?.kind === 'text' && name !== 'description' && name !== 'key');
    const [header = '', ...lines] = (await read(`${line} --columns ${names.join(',')}`)).trimEnd().split('\n');
    const starts = [...header.matchAll(/\S+/g)].map(({ index }) => index);
    const cells = lines.map((text) => starts.map((from, at) => text.slice(from, starts[at + 1]).trim()));
    // Moments are to the second in tables.
    const show = (value: unknown): string => toCell(value).replace(/^(\d{4}-\d\d-\d\dT[\d:]{8})\.\d{3}Z$/, '$1Z') || '-';
    expect(cells).toEqual(rows.map((row) => names.map((name) => show(row[name]))));
  });
});

it.each(records)('cloud %s is JSON and YAML of the declared fields', async (line, field) => {
  const [json, yaml] = await Promise.all([read(`${line} -j`), read(`${line} -o yaml`)]);
  const value = JSON.parse(json) as Row;
  expect(validate(value, createSchema(field))).toEqual([]);
  expect(parse(yaml)).toEqual(value);
});

it('an entry of the storage has the declared fields, and the path', async () => {
  const rows = JSON.parse(await read('stor ls tree -j')) as Row[];
  const { fields = {} } = objects.entry;
  const schema = createSchema({ ...objects.entry, fields: { ...fields, path: { kind: 'text', help: '', optional: true } } });
  expect(rows.flatMap((row) => validate(row, schema))).toEqual([]);
  expect(rows.map(({ name }) => name)).toEqual(['below', 'hello.txt']);
});

it('an empty list is a header, nothing, or []', async () => {
  const line = 'images list --name nothing';
  expect((await read(line)).trimEnd().split('\n')).toHaveLength(1);
  expect(await read(`${line} -H`)).toBe('');
  expect(await read(`${line} -j`)).toBe('[]\n');
  for (const form of ['jsonl', 'name']) expect(await read(`${line} -o ${form}`)).toBe('');
  expect(parse(await read(`${line} -o yaml`))).toEqual([]);
});

it('columns and sorting are checked', async () => {
  expect(await read('packages list --columns name --sort -memory -H')).toMatch(/^\S+\n/);
  for (const option of ['--columns', '--sort']) {
    const { code, stderr } = await user.here(['packages', 'list', option, 'memroy']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('did you mean "memory"') as string]);
  }
});

it('a command that changes something refuses unknown fields before the change', async () => {
  await user.here(['policies', 'create', 'kept', '--rule', 'CAN getobject', '--wait']);
  const rules = user.write('access.yaml', 'version: "1"\npolicies:\n  - { name: unwanted, rules: [CAN getobject] }\n');
  const key = writeRsaKeyFile(join(user.home, 'other'), { comment: 'other' });
  const before = await read('account get -o yaml --columns phone');
  for (const option of [
    ['--columns', 'nosuch'],
    ['--columns', 'name,nosuch', '-o', 'csv'],
    ['--sort', '-nosuch', '-o', 'jsonl'],
  ]) {
    for (const words of [
      ['keys', 'create', key, '--name', 'other'],
      ['policies', 'create', 'unwanted', '--rule', 'CAN getkey'],
      ['policies', 'update', 'kept', '--add-rule', 'CAN getkey'],
      ['policies', 'delete', 'kept', '--yes'],
      ['jobs', 'create', '--map', 'cat'],
      ['jobs', 'run', '--map', 'cat', '~~/stor/none'],
      ['rbac', 'apply', rules],
      ['roles', 'tags', 'set', 'keys'],
      ['account', 'update', '--phone', '12345'],
      ['server', 'accounts', 'create', 'unwanted'],
      ['server', 'accounts', 'disable', 'unwanted'],
      ['server', 'accounts', 'limit', 'unwanted'],
      ['server', 'import'],
    ]) {
      const { code, stdout, stderr } = await user.here([...words, ...option]);
      expect([words, code, stdout]).toEqual([words, 2, '']);
      expect(stderr).toMatch(new RegExp(`${option[0]}: no field `));
    }
  }
  expect(await read('account get -o yaml --columns phone')).toBe(before);
  expect((await read('keys list --columns name -H')).trimEnd().split('\n')).not.toContain('other');
  expect((await read('policies list --columns name -H')).trimEnd().split('\n')).toContain('kept');
  expect(await read('policies list --columns name -H')).not.toContain('unwanted');
  expect(await read(`keys create ${key} -q --columns FINGERPRINT,multifactor --sort name -o csv`)).toMatch(/^fingerprint,multifactor\r\n/);
});
