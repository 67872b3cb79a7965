import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { splitWords } from '../../src/config/aliases.ts';
import { followHints } from '../support/follow-hint.ts';
import { followRequests } from '../support/measured-run.ts';
import { mistakes } from '../support/mistakes.ts';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { type Outcome } from '../support/sandbox.ts';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');

beforeAll(() => {
  user.write('docs/a.txt', 'a\n');
  user.write('only/here.txt', 'x\n');
  user.write('text.txt', 'hello\n');
  user.write('bad.rules', 'ALLOW x\n');
  mkdirSync(join(user.home, 'hollow'));
  for (const name of ['priv.pem', 'other.pem']) writeRsaKeyFile(join(user.home, name), { pem: true });
  for (const name of ['one', 'two', 'a', 'x', 'docs/a.txt', 'code/a.txt', 'd/a.txt']) user.write(`tree/${name}`, name);
});

/** Answers of somebody at a terminal, as options: to the question whether, and to those for a profile. */
async function answer(line: string, { stderr }: Outcome): Promise<string> {
  if (stderr.includes('hint: add --yes')) return `${line} --yes`;
  const { computeUrl, storUrl, account, keyId, keyFile } = user.local;
  const given = `--url ${computeUrl} --stor-url ${storUrl} --account ${account} --key-id ${keyId} --key-file ${keyFile} --allow-http`;
  return stderr.includes('missing --url, --account, --key-id') ? `${line} ${given}` : '';
}

/** Types a line of a hint, which may be one of the shell. */
async function type(line: string): Promise<Outcome> {
  const isOwn = /^cloud (?!local)/.test(line) && !line.includes(' | ');
  const run = (typed: string): Promise<Outcome> =>
    isOwn ? user.here(splitWords(typed).slice(1), { input: 'open sesame 1\n' }) : user.shell(typed);
  const first = await run(line);
  const answered = first.code === 0 ? '' : await answer(line, first);
  return answered === '' ? first : await run(answered);
}

/** What is shown, without what no two runs have in common. */
function generalise(text: string): string {
  return text.replaceAll(user.home, 'HOME').replaceAll(/, request [0-9a-f-]+/g, '');
}

/** The mistakes after which a line of the hint was typed, and worked. */
let helped = 0;

let tried = 0;

/** The requests to the object storage since the call before. */
let follow: (() => readonly { method: string }[]) | undefined;

/** Gives the object storage what it held at the beginning, if a request can have changed it. */
async function renew(): Promise<void> {
  const isChanged = follow?.().some(({ method }) => method !== 'GET' && method !== 'HEAD') ?? true;
  if (isChanged) await user.here(['stor', 'sync', 'tree', 'stor:', '--delete', '--yes', '--checksum', '-q']);
  follow = followRequests(user);
}

test('there are a hundred mistakes or more', () => {
  expect(mistakes.length).toBeGreaterThanOrEqual(100);
});

describe('what is typed wrongly', () => {
  test.each(mistakes.map((row) => [...row] as const))('cloud %s', async (line, message, hint) => {
    tried += 1;
    await renew();
    const { code, stderr } = await user.here(splitWords(line));
    expect(code).toBeGreaterThan(0);
    const [first = '', ...rest] = generalise(stderr).trimEnd().split('\n');
    // The place is the command, and what of it is wrong: a word that was typed, an option, or an argument that is missing.
    expect(first).toMatch(/^cloud /);
    expect(first.endsWith(`: ${message}`), stderr).toBe(true);
    const words = splitWords(line).map((word) => word.replace(/^(?:\.{0,2}\/|stor:|https?:\/\/)/, ''));
    expect(/--\w|[A-Z]{3}|nothing to|stdout/.test(message) || words.some((word) => message.includes(word)), message).toBe(true);
    expect(
      rest
        .filter((each) => each.startsWith('hint: '))
        .map((each) => each.slice('hint: '.length))
        .join('\n'),
    ).toBe(hint);
    const lines = followHints(line, message, hint);
    for (const typed of lines.map((each) => each.replaceAll('HOME', user.home))) {
      const outcome = await type(typed);
      // What looks for the place of a mistake finds it.
      expect([typed, outcome.code], outcome.stderr).toEqual([typed, typed.endsWith('| cloud policies check -') ? 1 : 0]);
    }
    if (lines.length > 0) helped += 1;
  });
});

test('of a hundred, ninety or more are helped by what the message says', () => {
  expect(helped).toBeGreaterThanOrEqual(0.9 * tried);
});
