import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { useSandbox } from '../support/sandbox.ts';

/** The session of README.md, line by line as somebody types it who has nothing but a clone. */

const user = useSandbox();
const root = resolve(import.meta.dirname, '../..');
// Where a line fails the last one, which stops the services, is not reached.
afterAll(() => user.cloud(['local', 'stop']));

/** A command of the session, and what stands below it. */
interface Typed {
  readonly line: string;
  readonly shown: readonly string[];
}

function readSession(): Typed[] {
  const [, session = ''] = /\n## A session\n.*?```console\n(.*?)```/s.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? [];
  return session
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [line = '', ...shown] = text.trimEnd().split('\n');
      return { line, shown };
    });
}

/** What a terminal would be asked for is read from stdin, and ports are free ones. */
function adapt(line: string): string {
  if (line.startsWith('cloud users create')) return `${line} --password-stdin <<< 'open sesame 1'`;
  return line === 'cloud local start' ? `${line} --compute-port 0 --stor-port 0` : line;
}

test('the session of the README works, and shows what stands there', async () => {
  mkdirSync(join(user.home, '.ssh'));
  execFileSync('ssh-keygen', ['-q', '-t', 'rsa', '-N', '', '-f', join(user.home, '.ssh/id_rsa')]);
  const session = readSession();
  expect(session.length).toBeGreaterThan(8);
  for (const { line, shown } of session) {
    const { code, stdout, stderr } = await user.shell(adapt(line), { cwd: root });
    expect([line, code], stderr).toEqual([line, 0]);
    expect(`${stdout}${stderr}`.split('\n'), line).toEqual(expect.arrayContaining([...shown]));
  }
});
