import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { RbacDocument } from '../../src/rbac/document.ts';
import { report } from '../support/figures.ts';
import { createDocumentEditor } from '../support/random-document.ts';
import { useLocal, type Sandbox } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';

/** Accounts that are edited at the same time: most of the time is spent on waiting. */
const accounts = 4;
const edits = scale(2, 75);
const staleness = scale(300, 3000);
const env = { SECRET: 'open sesame 1' };

const users = Array.from({ length: accounts }, () => useLocal('--staleness', String(staleness)));

/** Edits the document of an account at random, again and again, and applies each edit once. */
async function editAgainAndAgain(user: Sandbox, at: number): Promise<void> {
  const edit = createDocumentEditor(seed + at, ['images/debian-12@20250401', 'datacenters']);
  for (let round = 0; round < edits; round += 1) {
    const exported = await user.cloud(['rbac', 'export']);
    expect(exported).toMatchObject({ code: 0, stderr: '' });
    const same = await user.cloud(['rbac', 'apply', '-', '--prune'], { input: exported.stdout });
    expect(same).toMatchObject({ code: 0, stdout: '', stderr: 'Nothing to change\n' });
    const file = user.write(`edit-${round}.yaml`, stringify(edit(parse(exported.stdout) as RbacDocument)));
    const applied = await user.cloud(['rbac', 'apply', file, '--prune', '--yes'], { env });
    expect(applied, `seed ${seed}, ${file}`).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/\d+ changes? done\n$|^Nothing/) as string,
    });
    const left = await user.cloud(['rbac', 'diff', file, '--prune']);
    expect(left, `seed ${seed}, ${file}`).toMatchObject({ code: 0, stdout: '', stderr: 'No differences\n' });
  }
}

test(`random documents converge in one apply each although reads lag ${staleness} ms (seed ${seed})`, { timeout: 1_800_000 }, async () => {
  await Promise.all(users.map(editAgainAndAgain));
  report('proof', {
    name: 'rbac apply of random documents, reads of users, roles and policies lagging',
    ours: `${accounts * edits} converge in one apply each, lag ${staleness} ms, seed ${seed}`,
    promise: 'all; an export changes nothing',
  });
});
