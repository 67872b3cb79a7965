import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { useHere } from '../../support/run-here.ts';
import { commands } from '../../unit/cli/tree.ts';
import { nasty, raw, serveHostile } from './hostile-service.ts';

const here = useHere();
writeFileSync(join(here.home, nasty.replaceAll(/[\r\n]/gu, '')), 'x');
writeFileSync(join(here.home, 'x'), 'CAN listkeys');

/** Commands that are about this machine, wait for what never comes, or hand on bytes as they are because that is what they are for. */
const others =
  /^(?:local|completion|help|profile|env|doctor|stor (?:cat|get|put|sync|edit)|mpu (?:upload|put)|rbac (?:edit|apply|schema)|policies edit|jobs (?:run|watch|wait|tail|cat))(?: |$)/u;

/** Words that make a command do something: as many arguments as it wants. */
function words(path: string, command: (typeof commands)[number][1]): string[] {
  const values = Object.values(command.arguments).map(() => 'x');
  const yes = 'yes' in command.options ? ['--yes'] : [];
  return [...path.split(' '), ...values, ...yes, '--no-pager', '--retries', '0'];
}

const formats = ['json', 'jsonl', 'yaml', 'csv', 'tsv', 'name'] as const;
const asked = commands.filter(([path]) => !others.test(path));

/** What was shown that a terminal would obey; in a pipe, formats for programs are exact. */
function findOrders({ out, err }: { out: string; err: string }, isTerminal: boolean, format: string): string | undefined {
  const lines = (format === 'csv' ? out.replaceAll('\r\n', '\n') : out) + err;
  const text = isTerminal || format === 'table' ? lines : err;
  const found = raw.exec(text);
  return found === null ? undefined : JSON.stringify(text.slice(Math.max(0, found.index - 100), found.index + 50));
}

describe.each(['answers', 'refuses'] as const)('a service that %s', (mode) => {
  test('with control sequences reaches no terminal, whatever the command and the format', { timeout: 60_000 }, async () => {
    const service = await serveHostile(mode);
    let shown = 0;
    try {
      for (const [at, [path, command]] of asked.entries()) {
        // Every command as a table, and in turn in one of the other formats: at a terminal, and in a pipe.
        for (const [isTerminal, format] of [
          [true, 'table'],
          [true, formats[at % formats.length] ?? 'json'],
          [false, 'table'],
        ] as const) {
          const argv = [...words(path, command), '-o', format, ...(at % 3 === 0 ? ['-vv'] : [])];
          const texts = await here.run(argv, {
            env: { CLOUD_URL: service.computeUrl, CLOUD_STOR_URL: service.storUrl, EDITOR: 'true' },
            isTerminal,
          });
          expect([argv.join(' '), findOrders(texts, isTerminal, format)]).toEqual([argv.join(' '), undefined]);
          if (texts.out.includes('taken') || texts.err.includes('taken')) shown += 1;
        }
      }
    } finally {
      await service.close();
    }
    // Most commands show what the service says, in words that are no orders.
    expect(shown).toBeGreaterThan(asked.length);
  });
});
