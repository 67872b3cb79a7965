import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { printCurl } from '../../../src/session/curl.ts';

/** What curl gets when the line is pasted into a shell: its arguments, and then its stdin. */
function paste(headers: Record<string, string>, body: Uint8Array | undefined): { words: string[]; stdin: Buffer } {
  const line = printCurl({ method: 'PUT', url: new URL('https://cloud.example.com/x'), headers, body }, { insecure: false });
  const run = (curl: string): Buffer => execFileSync('bash', ['-c', `curl() { ${curl}; }; ${line}`], { input: '' });
  return { words: run(`printf '%s\\0' "$@"`).toString().split('\0').slice(0, -1), stdin: run('cat') };
}

test.each(['@/etc/hostname', '{"a":"@b"}', 'ü\n$(x)'])('a body of text is sent as it is: %s', (text) => {
  expect(paste({}, Buffer.from(text)).words.slice(-3)).toEqual(['--data-raw', text, 'https://cloud.example.com/x']);
});

test.each([Buffer.from([0xff, 0x00, 0x40]), Buffer.from('a\0b')])('bytes that no argument can contain come from stdin', (body) => {
  const { words, stdin } = paste({}, body);
  expect(words.slice(-3)).toEqual(['--data-binary', '@-', 'https://cloud.example.com/x']);
  expect(stdin).toEqual(body);
});

test('headers are sent with the same bytes, also empty ones', () => {
  const { words } = paste({ 'm-name': Buffer.from('ü').toString('latin1'), 'role-tag': '' }, undefined);
  expect(words).toEqual(expect.arrayContaining(['m-name: ü', 'role-tag;']));
});
