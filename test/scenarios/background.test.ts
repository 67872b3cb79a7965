import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';
import { openTerminal } from '../support/terminal.ts';

/** Commands in the background of a shell with job control, at a terminal of its own: the shell says "Stopped" of those that are stopped. */

const user = useShared('--http');
/** Lists more lines than the terminal has. */
const names = Array.from({ length: 60 }, (_, at) => `file-${at}`);
const open = () => openTerminal('bash --norc --noprofile -i', { env: { ...user.env, PAGER: 'less', PS1: '@ ' }, cwd: user.home, rows: 20 });

beforeAll(async () => {
  mkdirSync(join(user.home, 'tree'));
  for (const name of names) writeFileSync(join(user.home, 'tree', name), name);
  const { code, stderr } = await user.here(['stor', 'put', '-rq', 'tree', 'tree']);
  if (code !== 0) throw new Error(stderr);
});

test('a long table is shown without the pager, which would be stopped', async () => {
  const shell = open();
  shell.type('cloud stor ls tree; echo in the "foreground"\n');
  await shell.until(/file-0/);
  shell.type('q');
  await shell.until(/in the foreground/);
  shell.type('clear; cloud stor ls tree & wait; echo then "$?"; jobs; echo no more "jobs"\n');
  const text = await shell.until(/no more jobs/);
  expect(text).toContain('file-59');
  expect(text).toContain('then 0');
  expect(text).not.toContain('Stopped');
  shell.type('exit\n');
  await shell.end();
});

test('a transfer draws no progress and is not stopped, also where the terminal stops whoever writes (stty tostop)', async () => {
  const shell = open();
  const put = 'cloud stor put -rT tree slow --bwlimit 400';
  shell.type(`stty tostop; ${put} 2> said & sleep 1; jobs; wait; echo then "$?"; cat said; echo no more "jobs"\n`);
  const text = await shell.until(/no more jobs/);
  expect(text).toContain('then 0');
  expect(text).toContain('Running');
  shell.type('stty -tostop; clear; cloud stor put -rT tree slow --bwlimit 400 & wait; echo "done" now\n');
  const shown = await shell.until(/done now/);
  expect(shown).toMatch(/60 files, .* in /);
  expect(shown).not.toMatch(/ of 60 files/);
  shell.type('exit\n');
  await shell.end();
});

test('what has to ask waits in the background until it is brought to the foreground', async () => {
  const shell = open();
  shell.type('cloud stor rm -r tree &\n');
  await shell.until(/\[1\] \d+/);
  shell.type('while [ -z "$(jobs -s)" ]; do sleep 0.1; done; fg\n');
  await shell.until(/Delete/);
  shell.type('n\n');
  await shell.until(/nothing was done/);
  expect((await user.here(['stor', 'ls', 'tree', '-o', 'name'])).stdout.split('\n')).toHaveLength(61);
  shell.type('exit\n');
  await shell.end();
});
