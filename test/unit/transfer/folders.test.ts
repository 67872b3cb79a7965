import { expect, test } from 'vitest';
import { ApiError } from '../../../src/base/errors.ts';
import type { StorageClient } from '../../../src/client/client.ts';
import { createFolder, makeFolder } from '../../../src/transfer/tree/folders.ts';

const directory = 'application/x-json-stream; type=directory';

/** A service on which another client makes something of this type at a path, directly before the first directory is to be made there. */
function createRace(rival: string): { storage: StorageClient; stored: () => string | undefined } {
  let stored: string | undefined;
  const fake: Pick<StorageClient, 'putDirectory'> & { answer: () => Promise<object> } = {
    answer: async () => {
      if (stored === undefined) throw new ApiError(404, 'ResourceNotFound', 'nothing is there');
      return { headers: { 'content-type': stored } };
    },
    putDirectory: async ({ ifNoneMatch }) => {
      stored ??= rival;
      if (ifNoneMatch === '*') throw new ApiError(412, 'PreconditionFailed', 'something is there');
      stored = directory;
      return {};
    },
  };
  return { storage: fake as unknown as StorageClient, stored: () => stored };
}

const path = { account: 'demo', path: 'stor/new' };
const parent = { path: { account: 'demo', path: 'stor' }, ready: async () => true };

test.each([
  ['makeFolder', (storage: StorageClient) => makeFolder(storage, path)],
  ['createFolder, below a directory that is new', (storage: StorageClient) => createFolder(storage, path, parent).ready()],
])('%s replaces no object that another client has stored meanwhile', async (_, make) => {
  const { storage, stored } = createRace('text/plain');
  await expect(make(storage)).rejects.toThrow('/demo/stor/new is an object, not a directory');
  expect(stored()).toBe('text/plain');
  expect(await make(createRace(directory).storage)).toBe(false);
});
