import { execFileSync, spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createSandbox } from '../support/sandbox.ts';

/** Every release line of Node.js that the program says it runs on, and those before them that it refuses. */

const program = resolve(import.meta.dirname, '../../bin/cloud');

/** Where a release of Node.js is, fetched from the registry of npm when it is not there. */
function findNode(release: string): string {
  const words = ['exec', '--yes', '--silent', `--package=node@${release}`, '--', 'node', '-p', 'process.execPath'];
  return realpathSync(execFileSync('npm', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim());
}

describe('a release that is too old', () => {
  test.each(['12', '14', '16', '18', '20.18.0'])('Node.js %s is refused in one line', (release) => {
    const node = findNode(release);
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
    for (const words of [['--version'], ['images', 'list'], []]) {
      const { status, stdout, stderr } = spawnSync(node, [program, ...words], { encoding: 'utf8' });
      expect([status, stdout, stderr]).toEqual([2, '', `cloud needs Node.js 20.18.1 or later; this is ${version}\n`]);
    }
  });
});

test.each(['20.18.1', '22', '24', '26'])('the guided tour passes on Node.js %s without a warning', (release) => {
  const node = findNode(release);
  const { sandbox, remove } = createSandbox();
  try {
    const env = { ...sandbox.env, PATH: `${dirname(node)}:${sandbox.env['PATH'] ?? ''}` };
    const { status, stdout, stderr } = spawnSync(node, [program, 'local', 'try'], { env, cwd: sandbox.home, encoding: 'utf8' });
    expect([status, stdout.includes('Everything works')], `${stdout}${stderr}`).toEqual([0, true]);
    expect(stderr).not.toMatch(/warning|deprecat|experimental/i);
  } finally {
    remove();
  }
});
