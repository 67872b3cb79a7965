import { expect, test } from 'vitest';
import { copyObject } from '../../../src/commands/stor/copy-objects.ts';
import { everything } from '../../../src/transfer/sync/tree.ts';
import type { Headers } from '../../../src/api/message.ts';
import type { Engine } from '../../../src/transfer/engine.ts';

/** The source of a move is deleted afterwards: the target must have its content, whatever the service has made of the link. */

const source = { etag: 'v1', 'content-md5': 'AAAA', 'content-type': 'text/plain', 'content-length': '4' };
const step = {
  kind: 'object',
  from: { account: 'demo', path: 'stor/a' },
  to: { account: 'demo', path: 'stor/b' },
  etag: 'v1',
  folder: undefined,
} as const;
const options = { recursive: true, filter: everything, noClobber: false, copy: false, verb: 'mv' } as const;

/** @param answer the response to the link @param stored what the service has at the target then */
function createService(answer: Headers, stored: Headers): { engine: Engine; asked: string[] } {
  const asked: string[] = [];
  const storage = {
    putSnapLink: async () => answer,
    answer: async (_: unknown, { path }: { path: string }) => {
      asked.push(path);
      return { headers: path === 'stor/a' ? source : stored };
    },
  };
  return { engine: { storage, retries: 0 } as unknown as Engine, asked };
}

test('the etag of the response says that the target is the source: nothing else is requested', async () => {
  const { engine, asked } = createService({ etag: 'v1' }, {});
  expect(await copyObject({ engine }, step, options)).toMatchObject({ how: 'link', etag: 'v1' });
  expect(asked).toEqual([]);
});

test.each([
  ['no etag', {}, source],
  ['an etag of its own', { etag: 'v2' }, { ...source, etag: 'v2' }],
])('a response with %s: the MD5s are compared', async (_, answer, stored) => {
  const { engine, asked } = createService(answer, stored);
  expect(await copyObject({ engine }, step, options)).toMatchObject({ how: 'link' });
  expect(asked).toContain('stor/b');
});

test.each([
  ['an empty object', { ...source, etag: 'v2', 'content-md5': '1B2M2Y8AsgTpgAmY7PhCfg==', 'content-length': '0' }],
  ['an object without MD5', { etag: 'v2', 'content-length': '4' }],
])('%s in place of the link: the move fails', async (_, stored) => {
  const { engine } = createService({ etag: 'v2' }, stored);
  await expect(copyObject({ engine }, step, options)).rejects.toThrow(
    '/demo/stor/b does not have the content of /demo/stor/a: the source is kept',
  );
});
