import { expect, it } from 'vitest';
import { compute } from '../../../src/api/compute.ts';
import { storage } from '../../../src/api/storage.ts';
import { computeChecks } from '../../../src/commands/conformance/compute/index.ts';
import { jobChecks } from '../../../src/commands/conformance/jobs/index.ts';
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
