import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../src/cli/parser.ts';
import { findCommand } from '../../src/cli/tree.ts';
import { nouns } from '../../src/commands/index.ts';
import { splitWords } from '../../src/config/aliases.ts';
import { mistakes } from '../support/mistakes.ts';
import { useLocal } from '../support/sandbox.ts';

const user = useLocal();

beforeAll(async () => {
  user.write('docs/a.txt', 'a\n');
  user.write('only/here.txt', 'x\n');
  user.write('text.txt', 'hello\n');
  user.write('bad.rules', 'ALLOW x\n');
  mkdirSync(join(user.home, 'hollow'));
  copyFileSync(user.local.keyFile, join(user.home, 'priv.pem'));
  await user.here(['stor', 'put', 'text.txt', 'one']);
  await user.here(['stor', 'put', '-r', 'docs', 'docs']);
});

/** The command lines of this program in a hint, as far as they are whole: places for values are words in capitals. */
function findLines(hint: string): string[] {
  return [...hint.matchAll(/(?:^|: )(cloud [a-z].*?)(?=$|;|, and|, or)/gm)].map(([, line = '']) => line);
}

test('there are a hundred mistakes or more, and of six five have a hint', () => {
  expect(mistakes.length).toBeGreaterThanOrEqual(100);
  expect(mistakes.filter(([, , hint]) => hint !== undefined).length / mistakes.length).toBeGreaterThan(5 / 6 - 0.01);
});

describe('what is typed wrongly', () => {
  test.each(mistakes.map((row) => [...row] as const))('cloud %s', async (line = '', message = '', hint?: string) => {
    const { code, stderr } = await user.here(splitWords(line));
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(message);
    if (hint === undefined) return;
    expect(stderr).toContain(`hint: ${hint}`);
    for (const typed of findLines(hint)) {
      const { node, path, rest } = await findCommand(nouns, splitWords(typed).slice(1));
      // A hint may end at a noun or with an option to be filled in; what it has is known to the program.
      if (node?.kind === 'command')
        expect(() => parseCommandLine(node, path, rest.length === 0 ? ['--help'] : rest)).not.toThrow(/unknown option/);
    }
  });
});
