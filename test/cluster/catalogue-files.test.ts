import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAll } from '../../src/api/message.ts';
import { createTestGateways, type TestGateway, type TestGateways } from '../support/cluster-gateways.ts';
import { createSandbox, type Outcome, type Sandbox } from '../support/sandbox.ts';

/** Files of images in the document of `cloud server apply`. */

let gateways: TestGateways;
let gateway: TestGateway;
let sandbox: Sandbox;
let remove: () => void;
beforeAll(async () => {
  ({ sandbox, remove } = createSandbox());
  gateways = await createTestGateways();
  gateway = await gateways.add();
});
afterAll(async () => {
  await gateways.close();
  remove();
});

const [first, second] = [Buffer.alloc(300_000, 'first '), Buffer.alloc(200_001, 'second ')];
const sha1Of = (bytes: Uint8Array): string => createHash('sha1').update(bytes).digest('hex');

/** A document beside which are the files of its images. */
function write(images: Readonly<Record<string, { bytes?: Buffer; sha1?: string; size?: number; path?: string }>>): string {
  const list = Object.entries(images).map(([name, { bytes = first, sha1 = sha1Of(bytes), size = bytes.length, path }]) => ({
    name,
    version: '1',
    os: 'linux',
    type: 'zvol',
    file: { compression: 'gzip', sha1, size, ...(path !== undefined && { path }) },
  }));
  return sandbox.write('documents/cloud.yaml', JSON.stringify({ version: '1', images: list }));
}

const at = (): string[] => ['--database', gateways.url];
const run = (verb: string, file: string, ...words: string[]): Promise<Outcome> => sandbox.here(['server', verb, file, ...at(), ...words]);
const apply = (file: string, ...words: string[]): Promise<Outcome> =>
  run('apply', file, '--yes', '--bytes', `file://${gateways.dir}`, ...words);

interface Row {
  readonly name: string;
  readonly files: unknown;
  readonly content: string | null;
}
const readImages = async (): Promise<Row[]> => {
  const { db } = gateway.store;
  const rows = await db.selectFrom('images').select(['name', 'files', 'content']).where('version', '=', '1').orderBy('name').execute();
  return rows.map((row) => ({ ...row, files: JSON.parse(row.files) as unknown }));
};
const listContents = async (): Promise<string[]> => {
  const ids: string[] = [];
  for await (const id of gateway.store.bytes.list()) ids.push(id);
  return ids;
};
async function readContent(name: string, size: number): Promise<Buffer> {
  const content = (await readImages()).find((image) => image.name === name)?.content ?? '';
  return Buffer.from(await readAll(await gateway.store.bytes.read(content, 0, size)));
}

test('a file that is missing, or not what the document says, is named by diff and apply, and nothing is done', async () => {
  const before = [await readImages(), await listContents()];
  sandbox.write('documents/files/first.gz', first.toString());
  const path = 'files/first.gz';
  for (const [images, message] of [
    [{ a: { path: 'files/none.gz' } }, 'files/none.gz: '],
    [{ a: { path: 'files' } }, 'files: not a file'],
    [{ a: { path: '' } }, 'images[0].file.path: is empty'],
    [{ a: { path, size: 300_001 } }, 'files/first.gz: has 300000 bytes, but the document says 300001'],
    [{ a: { path, sha1: 'ab'.repeat(20) } }, `files/first.gz: its SHA-1 is ${sha1Of(first)}, but the document says abab`],
    // The first one is as it should be.
    [{ a: { path }, b: { path, size: 5 } }, 'image b 1: another image describes the file files/first.gz differently'],
    [{ a: { path }, b: { path: 'files/none.gz' } }, 'files/none.gz: '],
  ] as const) {
    const document = write(images);
    const [shown, applied] = [await run('diff', document), await apply(document)];
    for (const { code, stdout, stderr } of [shown, applied])
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
  }
  const unplaced = await run('apply', write({ a: { path } }), '--yes');
  expect([unplaced.code, unplaced.stderr]).toEqual([2, expect.stringContaining('no store for object contents is given')]);
  const elsewhere = await run('apply', write({ a: { path } }), '--yes', '--bytes', `file://${sandbox.home}`);
  expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining('has no contents of gateways')]);
  expect([await readImages(), await listContents()]).toEqual(before);
});

test('a dry run refuses a place for files that the run would refuse, and writes nothing there', async () => {
  const document = write({ a: { path: 'files/first.gz' } });
  const before = [await readImages(), await listContents()];
  const dry = (...words: string[]): Promise<Outcome> => run('apply', document, '--dry-run', ...words);
  for (const [words, code, message] of [
    [[], 2, 'no store for object contents is given'],
    [['--bytes', `file://${sandbox.home}`], 1, 'has no contents of gateways'],
    [['--bytes', `file://${sandbox.home}/foreign`], 1, 'has the contents of another cluster'],
    [['--bytes', `file://${sandbox.home}/unmarked`], 1, 'is not the folder of the contents of this database'],
    [['--bytes', `file://${gateways.dir}`], 0, ''],
  ] as const) {
    sandbox.write('foreign/bytes/.keep', '');
    sandbox.write('foreign/.cloud-bytes', '00000000-0000-4000-8000-000000000000\n');
    mkdirSync(join(sandbox.home, 'unmarked/bytes'), { recursive: true });
    const { code: is, stderr } = await dry(...words);
    expect([words, is, stderr]).toEqual([words, code, expect.stringContaining(message)]);
  }
  expect(existsSync(join(sandbox.home, 'unmarked/.cloud-bytes'))).toBe(false);
  expect([await readImages(), await listContents()]).toEqual(before);
});

test('apply stores the files once, and again has nothing to do', async () => {
  writeFileSync(join(sandbox.home, 'documents/files/second.gz'), second);
  const document = write({ a: { path: 'files/first.gz' }, b: { path: 'files/first.gz' }, c: { bytes: second } });
  const shown = await run('diff', document, '-j');
  expect(JSON.parse(shown.stdout)).toEqual(
    [true, true, false].map((hasPath) =>
      expect.objectContaining({
        action: 'create',
        differences: expect.objectContaining({ length: hasPath ? 6 : 5 }) as unknown,
      }),
    ),
  );
  const { code, stderr } = await apply(document);
  expect([code, stderr]).toEqual([0, '3 changes done\n']);
  const images = await readImages();
  expect(images).toEqual([
    { name: 'a', files: [{ compression: 'gzip', sha1: sha1Of(first), size: first.length }], content: expect.any(String) },
    { name: 'b', files: [{ compression: 'gzip', sha1: sha1Of(first), size: first.length }], content: images[0]?.content },
    { name: 'c', files: [{ compression: 'gzip', sha1: sha1Of(second), size: second.length }], content: null },
  ]);
  expect(first.equals(await readContent('a', first.length))).toBe(true);
  // Its lease has ended with it.
  const { rows } = {
    rows: await gateway.store.db
      .selectFrom('gateways' as never)
      .select('address' as never)
      .execute(),
  };
  expect(JSON.stringify(rows)).not.toContain('apply ');
  const kept = await listContents();
  expect((await apply(document)).stderr).toBe('Nothing to change\n');
  expect(await listContents()).toEqual(kept);
});

test('a file that the cloud does not have is brought later; another one takes the place of the first, which collectors remove', async () => {
  const brought = write({
    a: { path: 'files/first.gz' },
    b: { path: 'files/second.gz', bytes: second },
    c: { bytes: second, path: 'files/second.gz' },
  });
  const shown = await run('diff', brought);
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('~ image c 1\n    + file.path: files/second.gz\n')]);
  expect((await apply(brought)).stderr).toBe('2 changes done\n');
  for (const name of ['b', 'c']) expect(second.equals(await readContent(name, second.length))).toBe(true);
  const old = (await readImages())[0]?.content ?? '';
  // Of a file that is only described the cloud has nothing, and what it had is not that.
  expect((await apply(write({ a: { sha1: 'cd'.repeat(20) }, b: { bytes: second } }))).stderr).toBe('1 change done\n');
  expect((await readImages()).map(({ content }) => content === null)).toEqual([true, false, false]);
  const collect = (...words: string[]): Promise<Outcome> =>
    sandbox.here(['server', 'collect', ...at(), '--bytes', `file://${gateways.dir}`, ...words]);
  await collect();
  await gateways.renewAll();
  await collect();
  const { content = '' } = (await readImages())[1] ?? {};
  expect(await listContents()).toEqual(expect.not.arrayContaining([old]));
  expect(await listContents()).toContain(content);
  expect((await collect('--verify')).code).toBe(0);
  // With the last image that has it, its file goes.
  expect((await apply(write({ a: { sha1: 'cd'.repeat(20) } }), '--prune')).stderr).toMatch(/^\d+ changes done\n$/u);
  await collect();
  await gateways.renewAll();
  await collect();
  expect(await listContents()).not.toContain(content);
});
