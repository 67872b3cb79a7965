import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findSynonym } from '../../../src/cli/synonyms.ts';
import { explainFailure } from '../../../src/commands/images/creation.ts';
import { removeRules } from '../../../src/commands/policies/rules.ts';
import { removeMembers } from '../../../src/commands/roles/members.ts';
import { CloudError } from '../../../src/base/errors.ts';

/** A hint is a line to paste into a shell; a name in it that a service gave must stay a word. */

const folder = mkdtempSync(join(tmpdir(), 'cloud-hints-'));
afterAll(() => rmSync(folder, { recursive: true }));

const hostile = ['$(touch pwned)', 'a; touch pwned', "a'; touch pwned; '", '`touch pwned`', 'a > pwned', 'a\ntouch pwned'];

function hintOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof CloudError) return error.hint ?? '';
  }
  throw new Error('there was no hint');
}

test('a word that every object of JavaScript has is no command of another tool', () => {
  for (const word of ['constructor', '__proto__', 'toString']) expect(findSynonym([], word, ['list'])).toBeUndefined();
});

test('nor is it a known failure of an image', () => {
  const image = { id: 'i', name: 'n', version: '1', error: { code: 'constructor', message: 'of a service' } };
  expect(explainFailure(image as Parameters<typeof explainFailure>[0]).message).toContain('of a service (constructor)');
});

test.each(hostile)('%s', (name) => {
  for (const hint of [hintOf(() => removeRules([], ['CAN getobject'], name)), hintOf(() => removeMembers([], ['nobody'], name))]) {
    const words = execFileSync('bash', ['-c', `cloud() { printf '%s\\0' "$@"; }; ${hint}`], { cwd: folder, encoding: 'utf8' });
    expect(words.split('\0')).toContain(name);
  }
  expect(readdirSync(folder)).toEqual([]);
});
