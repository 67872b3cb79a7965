import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { bindNode, prepareVisibleSystem } from '../../../src/server/jobs/visible-system.ts';

/** Which directory of the machine tasks see because Node.js is installed there. */

const root = mkdtempSync(join(tmpdir(), 'cloud-node-'));
afterEach(() => rmSync(root, { recursive: true, force: true }));

function install(prefix: string, files: readonly string[]): string {
  for (const file of ['bin/node', ...files]) {
    mkdirSync(dirname(join(prefix, file)), { recursive: true });
    writeFileSync(join(prefix, file), '');
  }
  return join(prefix, 'bin/node');
}

const whole = ['include/node/node.h', 'lib/node_modules/npm/package.json'];

test('an installation of its own is seen whole', () => {
  const prefix = join(root, 'home/.nvm/v20');
  expect(bindNode(install(prefix, whole), [join(root, 'home')]).binds).toEqual([{ source: prefix, target: '/opt/node' }]);
});

test('a program in a directory that may hold anything is seen alone', () => {
  const home = join(root, 'home');
  const alone = [{ source: join(home, 'bin/node'), target: '/opt/node/bin/node' }];
  expect(bindNode(install(home, []), []).binds).toEqual(alone);
  // Also when it looks like an installation: what must be hidden is below it.
  expect(bindNode(install(home, whole), [home]).binds).toEqual(alone);
  expect(bindNode(install(home, whole), [join(home, 'data')]).binds).toEqual(alone);
});

test('the program as a single file is not given to tasks as Node.js', () => {
  const file = join(root, 'home/.local/bin/cloud');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  expect(bindNode(file, [])).toEqual({ binds: [], programs: [] });
});

test('with a strict umask too, the users of zones reach the files that sandboxes share, and nobody lists or changes them', () => {
  const former = process.umask(0o077);
  try {
    const kit = join(root, 'kit');
    prepareVisibleSystem({ kit, bash: '/bin/bash', node: process.execPath, kept: [], tools: [] });
    const modes = ['.', 'shell', 'passwd', 'hosts'].map((name) => (statSync(join(kit, name)).mode & 0o777).toString(8));
    expect(modes).toEqual(['711', '111', '644', '644']);
  } finally {
    process.umask(former);
  }
});
