import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, expect, test } from 'vitest';
import { header, optional, text, type Fields } from '../../../src/api/fields.ts';
import { storage } from '../../../src/api/storage.ts';
import { readRecord } from '../../../src/cli/from.ts';
import { UsageError } from '../../../src/base/errors.ts';
import type { World } from '../../../src/base/world.ts';

const folder = mkdtempSync(join(tmpdir(), 'cloud-from-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const { fields } = storage.createJob;
const ignore = ['id', 'state', 'timeCreated'];

async function read(content: string, schema: Fields = fields): Promise<Record<string, unknown>> {
  writeFileSync(join(folder, 'job.yaml'), content);
  const world = { cwd: folder, home: folder, stdin: { stream: Readable.from([Buffer.from(content)]), isTerminal: false } };
  return await readRecord(world as unknown as World, 'job.yaml', schema, { ignore });
}

async function refuse(content: string): Promise<{ message: string; hint: string | undefined }> {
  const error: unknown = await read(content).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof UsageError)) throw new Error(`not refused: ${content}`);
  return { message: error.message, hint: error.hint };
}

test('YAML and JSON give the same record', async () => {
  const wanted = { name: 'count', phases: [{ exec: 'wc -l' }, { type: 'reduce', exec: 'cat', count: 2 }] };
  expect(await read('name: count\nphases:\n  - exec: wc -l\n  - type: reduce\n    exec: cat\n    count: 2\n')).toEqual(wanted);
  expect(await read(JSON.stringify(wanted))).toEqual(wanted);
  expect(await read(JSON.stringify(wanted, null, '\t'))).toEqual(wanted);
});

test('what the service adds is left out of a record that is given back, unknown fields too', async () => {
  const given = { id: '1', state: 'done', transient: false, name: 'a', phases: [{ exec: 'wc', image: 'x' }] };
  expect(await read(JSON.stringify(given))).toEqual({ name: 'a', phases: [{ exec: 'wc' }] });
});

test('an unknown field is named with the nearest, in phases too, given back or not', async () => {
  expect(await refuse('nmae: a')).toEqual({ message: 'job.yaml: nmae: is not a known field', hint: 'did you mean name?' });
  expect(await refuse('id: 1\nphases: [{ exce: wc }]')).toEqual({
    message: 'job.yaml: phases[0].exce: is not a known field',
    hint: 'did you mean exec?',
  });
  expect((await refuse('colour: red')).hint).toBe('fields: name, phases');
  expect((await refuse('{"__proto__": {"name": "a"}}')).message).toContain('__proto__: is not a known field');
});

test('a value of another kind is refused with its place', async () => {
  expect(await refuse('name: 1.10')).toEqual({ message: 'job.yaml: name: 1.1 is not text', hint: 'write it in quotes: name: "1.1"' });
  expect((await refuse('phases: wc')).message).toBe('job.yaml: phases: must be a list, not "wc"');
  expect((await refuse('phases: [wc]')).message).toBe('job.yaml: phases[0]: must be a record, not "wc"');
  expect((await refuse('phases: [{ exec: wc, count: two }]')).message).toBe('job.yaml: phases[0].count: must be a number, not "two"');
  expect(await refuse('phases: [{ exec: wc, type: reduc }]')).toEqual({
    message: 'job.yaml: phases[0].type: "reduc" is not one of map, reduce',
    hint: 'did you mean reduce?',
  });
  expect((await refuse('phases: [{ type: map }]')).message).toBe('job.yaml: phases[0].exec: is missing');
});

test('what is no record, or no YAML, is refused with its place', async () => {
  expect((await refuse('- a')).message).toBe('job.yaml: holds a list, not one record');
  expect((await refuse('')).message).toBe('job.yaml: holds nothing, not one record');
  expect((await refuse('name: a\nphases: [')).message).toMatch(/^job\.yaml: line 2, column \d+: /);
  expect((await refuse('name: a\nname: b')).message).toMatch(/^job\.yaml: line 2, column 1: .*unique/);
  expect((await refuse('a: 1\n---\nb: 2')).message).toContain('multiple documents');
});

test('null means not given, headers are no fields of a record', async () => {
  const schema = { name: optional(text('Name')), ifMatch: header('if-match', 'Etag') };
  expect(await read('name: null', schema)).toEqual({});
  await expect(read('ifMatch: a', schema)).rejects.toThrow('ifMatch: is not a known field');
});

test('a key that is a list is refused in words, without a warning of Node.js', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  await refuse('[a, "\\e[2J"]: b\n');
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', note);
  expect(warnings).toEqual([]);
});
