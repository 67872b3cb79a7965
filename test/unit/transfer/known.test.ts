import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import type { Headers } from '../../../src/api/message.ts';
import { ApiError } from '../../../src/base/errors.ts';
import type { Engine } from '../../../src/transfer/engine.ts';
import { openSource, type FileSource } from '../../../src/transfer/local/source.ts';
import { createKnownStore } from '../../../src/transfer/upload/known.ts';

/** Attacks between the look at an object that was stored before and the link to it. */

const folder = mkdtempSync(join(tmpdir(), 'known-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => rmSync(join(folder, 'stored.jsonl'), { force: true }));

const target = { account: 'demo', path: 'stor/second' };
const content = Buffer.alloc(200_000, 'content');

interface StoredObject {
  etag: string;
  md5: string;
  body: Buffer;
}

/** A service of two objects; links compare versions where it heeds conditions. */
function createService(heedsConditions: boolean, beforeLink: (objects: Map<string, StoredObject>) => void) {
  const objects = new Map<string, StoredObject>();
  const calls: string[] = [];
  let version = 0;
  const ticket = { move: () => undefined, keep: () => undefined, end: () => undefined };
  const headersOf = (path: string): Headers => {
    const found = objects.get(path);
    if (!found) throw new ApiError(404, 'ResourceNotFound', path);
    return { etag: found.etag, 'content-md5': found.md5, 'content-length': String(found.body.length), 'content-type': 'text/plain' };
  };
  const storage = {
    answer: async (_operation: unknown, { path }: { path: string }) => ({ headers: headersOf(path) }),
    putObject: async ({ path, body, contentMd5 }: { path: string; body: Buffer; contentMd5: string }) => {
      calls.push(`put ${path}`);
      version += 1;
      objects.set(path, { etag: `v${version}`, md5: contentMd5, body });
      return { etag: `v${version}` };
    },
    putSnapLink: async ({ path, ifMatch, location }: { path: string; ifMatch: string; location: string }) => {
      calls.push(`link ${path}`);
      beforeLink(objects);
      const source = objects.get(location.replace(/^\/[^/]+\//, ''));
      if (!source) throw new ApiError(404, 'SourceObjectNotFound', location);
      if (heedsConditions && source.etag !== ifMatch) throw new ApiError(412, 'PreconditionFailed', location);
      objects.set(path, source);
      return { etag: source.etag };
    },
    putMetadata: async () => ({}),
  };
  const engine = { storage, monitor: { begin: () => ticket }, retries: 0 } as unknown as Engine;
  return { engine, objects, calls };
}

function openFile(): FileSource {
  const file = join(folder, 'file');
  writeFileSync(file, content);
  const source = openSource('file', file, new AbortController().signal);
  if (source.kind !== 'file') throw new Error('no file');
  return source;
}

const other: StoredObject = { etag: 'theirs', md5: 'another', body: Buffer.alloc(content.length, 'theirs') };

test.each([
  ['changed', true, (objects: Map<string, StoredObject>) => void objects.set('stor/first', other)],
  [
    'changed, at a service that does not compare versions',
    false,
    (objects: Map<string, StoredObject>) => void objects.set('stor/first', other),
  ],
  ['removed', true, (objects: Map<string, StoredObject>) => void objects.delete('stor/first')],
])('an object that is %s after the look is not what the file becomes', async (_what, heeds, attack) => {
  const { engine, objects, calls } = createService(heeds, attack);
  const known = createKnownStore(join(folder, 'stored.jsonl'));
  const options = { headers: { 'content-type': 'text/plain' }, copies: undefined };
  await known.store(engine, openFile(), { account: 'demo', path: 'stor/first' }, options);
  const stored = await known.store(engine, openFile(), target, options);
  expect(calls).toEqual(['put stor/first', 'link stor/second', 'put stor/second']);
  expect(objects.get('stor/second')?.body.equals(content)).toBe(true);
  expect([stored.etag, known.linked()]).toEqual([objects.get('stor/second')?.etag, 0]);
  known.close();
});

test('an unchanged one is linked, also by a later run; another account has none of it', async () => {
  const file = join(folder, 'stored.jsonl');
  const { engine, calls } = createService(true, () => undefined);
  const options = { headers: { 'content-type': 'text/plain' }, copies: undefined };
  const first = createKnownStore(file);
  await first.store(engine, openFile(), { account: 'demo', path: 'stor/first' }, options);
  first.close();
  const second = createKnownStore(file);
  await second.store(engine, openFile(), { account: 'other', path: 'stor/second' }, options);
  expect(calls).toEqual(['put stor/first', 'put stor/second']);
  second.close();
  const third = createKnownStore(file);
  await third.store(engine, openFile(), { account: 'other', path: 'stor/third' }, options);
  expect([calls.at(-1), third.linked()]).toEqual(['link stor/third', 1]);
  third.close();
});
