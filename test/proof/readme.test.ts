import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { useSandbox } from '../support/sandbox.ts';
import { openTerminal } from '../support/terminal.ts';

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

/** What is left on the screen: without a spinner, which overwrites its line, and progress, which goes back over the lines before. */
function readScreen(raw: string): string[] {
  const escape = '\u001b\\[';
  const text = raw.replaceAll('\r\n', '\n').replace(new RegExp(`[^\\n]*${escape}1G${escape}0K`, 'g'), '');
  const [first = '', ...parts] = text.split(new RegExp(`${escape}(\\d+)F${escape}J`));
  const lines = first.split('\n');
  for (let at = 0; at < parts.length; at += 2) {
    lines.splice(-1 - Number(parts[at]));
    lines.push(...(parts[at + 1] ?? '').split('\n'));
  }
  return stripVTControlCharacters(lines.join('\n'))
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd());
}

/** Puts a mark in place of what is different for everybody, in exactly the places that the README names. */
function mask(line: string): string {
  return line
    .replace(/^((?:ACCOUNT-)?ID +)[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/, '$1UUID')
    .replace(/^((?:KEY-ID|FINGERPRINT) +)[\da-f]{2}(?::[\da-f]{2}){15}$/, '$1FINGERPRINT')
    .replace(/^((?:COMPUTE|STOR)-URL +https:\/\/localhost:)\d+$/, '$1PORT')
    .replace(/^((?:KEY-FILE|CA-FILE|DATA-DIR) +)\/\S+?(\/\.local\/)/, '$1HOME$2')
    .replace(/^(PID +)\d+$/, '$1NUMBER')
    .replace(/^(COMMIT +)(?:[\da-f]{12}\+?|-)$/, '$1COMMIT')
    .replace(/^(ISOLATION +)[a-z]+$/, '$1ISOLATION')
    .replace(/(?<=(?:lx-dataset|zvol) +)\S+$/, 'AGE')
    .replace(/^\d+ (files?), [\d.]+ [KM]iB in [\d.smh]+ \([\d.]+ [KMG]?i?B\/s\)$/, 'COUNT $1 in TIME')
    .replace(/^[\da-f]{64} {2}-$/, 'CHECKSUM')
    .replace(/^\d+$/, 'COUNT');
}

/** Types a line at a terminal as wide as the README says, with the password where it is asked for. */
async function type(line: string): Promise<{ code: number | null; raw: string }> {
  // Other services of the machine may have the usual ports.
  const typed = line === 'cloud local start' ? `${line} --compute-port 0 --stor-port 0` : line;
  const session = openTerminal(typed, { env: user.env, cwd: root, columns: 120, limit: 120_000 });
  if (line.startsWith('cloud users create')) {
    for (const question of [/new password of jill: $/, /repeat the password: $/]) {
      await session.until(question);
      session.type('open sesame 1\r');
    }
  }
  return await session.end();
}

test('the session of the README works, and shows at a terminal what stands there', { timeout: 600_000 }, async () => {
  mkdirSync(join(user.home, '.ssh'));
  execFileSync('ssh-keygen', ['-q', '-t', 'rsa', '-N', '', '-f', join(user.home, '.ssh/id_rsa')]);
  const session = readSession();
  expect(session.length).toBeGreaterThan(8);
  for (const { line, shown } of session) {
    const { code, raw } = await type(line);
    expect([line, code, readScreen(raw).map(mask)]).toEqual([line, 0, shown.map((text) => mask(text.trimEnd()))]);
  }
});
