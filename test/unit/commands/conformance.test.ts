import { describe, expect, it } from 'vitest';
import { compute } from '../../../src/api/compute.ts';
import { storage } from '../../../src/api/storage.ts';
import { createAt } from '../../../src/commands/conformance/at.ts';
import { computeChecks } from '../../../src/commands/conformance/compute/index.ts';
import { jobChecks } from '../../../src/commands/conformance/jobs/index.ts';
import { escapePattern } from '../../../src/commands/conformance/response.ts';
import { storageChecks } from '../../../src/commands/conformance/storage/index.ts';

const checks = [...storageChecks, ...jobChecks, ...computeChecks];
const operations = new Set([...Object.keys(compute), ...Object.keys(storage)]);

/** Codes of errors that statements name. */
const codes = [
  'InvalidArgument',
  'InvalidCredentials',
  'InvalidVersion',
  'MissingParameter',
  'MultipartUploadInvalidArgumentError',
  'NotAuthorized',
  'RequestTooLarge',
  'ResourceMoved',
  'ResourceNotFound',
  'TaskInitError',
  'UserTaskError',
];

// The operations of a check are read from its statement, where nothing else would find a misspelt name.
it('names no operation in a statement that there is not', () => {
  const words = checks.flatMap(({ statement }) => Array.from(statement.matchAll(/\b[A-Z][a-z]+[A-Z]\w*/gu), ([word]) => word));
  const others = words.filter((word) => !operations.has(word.charAt(0).toLowerCase() + word.slice(1)));
  expect([...new Set(others)].sort()).toEqual(codes);
});

it('checks every operation', () => {
  const checked = new Set(checks.flatMap((check) => check.operations));
  expect([...operations].filter((name) => !checked.has(name))).toEqual([]);
});

describe('storage/parts-directory', () => {
  const id = '4ef0ff4c-0a6f-4a9c-b0b5-2d5b9d5f0c53';

  /** The decisions of the check for a service that returns this directory. */
  async function decide(partsDirectory: string): Promise<readonly string[]> {
    const body = Buffer.from(JSON.stringify({ id, partsDirectory }));
    const at = createAt({
      requests: {
        send: async (_, method, path) => ({ request: `${method} ${path}`, status: method === 'POST' ? 201 : 204, headers: {}, body }),
        seen: { compute: [], storage: [] },
        urls: { compute: undefined, storage: new URL('https://stor.example.com') },
        prefix: () => '',
        close: () => undefined,
      },
      account: 'demo',
      run: 'run',
      isSubUser: false,
      isReadOnly: false,
      machine: undefined,
      foreignImage: undefined,
      now: Date.now,
      interrupted: new AbortController().signal,
      kept: [],
      made: new Map(),
    });
    await checks.find((check) => check.area === 'storage' && check.id === 'parts-directory')?.run(at);
    return at.decisions;
  }

  it('accepts the specified prefix, and that of deployed services', async () => {
    expect(await decide(`/demo/uploads/4ef/${id}`)).toEqual([]);
    expect(await decide(`/demo/uploads/4/${id}`)).toEqual(['the length of the prefix is the last digit of the id']);
  });

  it.each([
    '/demo/uploads',
    `/demo/uploads//${id}`,
    '/demo/uploads/4',
    `/demo/uploads/4/x${id}`,
    `/demo/other/4/${id}`,
    `/jill/uploads/4ef/${id}`,
  ])('finds %s wrong', async (partsDirectory) => {
    await expect(decide(partsDirectory)).rejects.toThrow(`partsDirectory of ${id} is ${partsDirectory}`);
  });
});

it('escapes the texts that it looks for', () => {
  const pattern = new RegExp(`^${escapePattern('/a.b/c+d-(1)')}$`, 'u');
  expect(['/a.b/c+d-(1)', '/aXb/c+d-(1)', '/a.b/ccd-1'].map((text) => pattern.test(text))).toEqual([true, false, false]);
});
