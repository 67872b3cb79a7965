import { afterAll, expect, test } from 'vitest';
import { guides } from '../../src/cli/guides/index.ts';
import { report } from '../support/figures.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { openTerminal } from '../support/terminal.ts';
import { commands } from '../unit/cli/tree.ts';
import { stories, type Story } from './example-stories.ts';

/** The examples of the manual, typed into bash at a terminal as they stand there, against a local service. */

const examples = new Map<string, string[]>();
for (const [path, { examples: lines }] of commands) {
  const noun = path.split(' ')[0] ?? '';
  examples.set(noun, [...(examples.get(noun) ?? []), ...lines.map(({ line }) => line)]);
}
for (const { page, sections } of guides) {
  const lines = sections
    .flatMap(({ blocks }) => blocks)
    .flatMap((block) => (typeof block === 'object' && 'lines' in block ? block.lines : []));
  const lively = lines.filter((line) => /(?:^|[|(] ?)(?:cloud|jq) /.test(line));
  if (lively.length > 0) examples.set(page, [...lively]);
}
let played = 0;

/** Runs an example; what went wrong, if anything did. */
async function play(
  sandbox: Sandbox,
  line: string,
  { before = {}, answers = {}, words = [], shells = {} }: Story,
): Promise<string | undefined> {
  const script = sandbox.write(
    'line.sh',
    `${before[line] ?? ''}\n${words.reduce((filled, [word, found]) => filled.replaceAll(word, found), line)}\n`,
  );
  const session = openTerminal(`${shells[line] ?? 'bash -o pipefail'} ${script}`, {
    env: sandbox.env,
    cwd: sandbox.home,
    columns: 200,
    term: 'dumb',
  });
  const typed = answers[line];
  if (typed === undefined) session.type('y\r');
  for (const [question, keys] of typed ?? []) {
    await session.until(question);
    session.type(keys);
  }
  const { code, text } = await session.end();
  played += 1;
  return code === 0 ? undefined : `${line} ended with ${code}: ${text}`;
}

test('every noun and every guide has its story', () => {
  expect(Object.keys(stories).sort()).toEqual([...examples.keys()].sort());
});

test.concurrent.each([...examples.keys()])('the examples of %s work', { timeout: 300_000 }, async (noun) => {
  const story = stories[noun] ?? {};
  const { sandbox, remove } = createSandbox();
  const failures: string[] = [];
  try {
    await sandbox.json('local', 'start', '--compute-port', '0', '--stor-port', '0');
    const prepared = await sandbox.shell(`set -e\n${story.prepare ?? ''}`);
    expect([noun, prepared.code, prepared.stderr]).toEqual([noun, 0, '']);
    for (const line of examples.get(noun) ?? []) {
      if (story.left?.[line] !== undefined) continue;
      const failure = await play(sandbox, line, story);
      if (failure !== undefined) failures.push(failure);
    }
  } finally {
    await sandbox.cloud(['local', 'stop']);
    remove();
  }
  expect(failures).toEqual([]);
});

afterAll(() =>
  report('proof', {
    name: 'examples of the manual that were run',
    ours: String(played),
    promise: 'all but those that need the usual ports',
  }),
);
