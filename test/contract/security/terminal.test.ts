import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useSharedPairs } from '../../support/quick-crypto.ts';
import { createEcdsaKey } from '../../support/rsa-keys.ts';
import { useHere } from '../../support/run-here.ts';
import { commands } from '../../unit/cli/tree.ts';
import { nasty, raw, serveHostile } from './hostile-service.ts';

const here = useHere();
writeFileSync(join(here.home, nasty.replaceAll(/[\r\n]/gu, '')), 'x');
writeFileSync(join(here.home, 'x'), 'CAN listkeys');

/** Signing takes less time with this key than with an RSA key. */
const keyFile = join(here.home, 'ecdsa.pem');
writeFileSync(keyFile, createEcdsaKey().privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });

useSharedPairs();

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

/** One of several things for a command, the same in each run and whatever other commands there are. */
function choose<T>(path: string, things: readonly T[]): T | undefined {
  return things[Buffer.from(path).reduce((sum, byte) => sum + byte, 0) % things.length];
}

/** What was shown that a terminal would obey; in a pipe, formats for programs are exact. */
function findOrders({ out, err }: { out: string; err: string }, isTerminal: boolean, format: string): string | undefined {
  const lines = (format === 'csv' ? out.replaceAll('\r\n', '\n') : out) + err;
  const text = isTerminal || format === 'table' ? lines : err;
  const found = raw.exec(text);
  return found === null ? undefined : JSON.stringify(text.slice(Math.max(0, found.index - 100), found.index + 50));
}

describe.each(['answers', 'refuses'] as const)('a service that %s with control sequences', (mode) => {
  let service: Awaited<ReturnType<typeof serveHostile>>;
  beforeAll(async () => {
    service = await serveHostile(mode);
  });
  afterAll(() => service.close());

  test.each(asked)('reaches no terminal by %s', async (path, command) => {
    const before = service.count();
    let shown = false;
    // As a table and in one of the other formats at a terminal, and as a table in a pipe.
    for (const [isTerminal, format] of [
      [true, 'table'],
      [true, choose(path, formats) ?? 'json'],
      [false, 'table'],
    ] as const) {
      const argv = [...words(path, command), '-o', format, ...(choose(path, [['-vv'], [], []]) ?? [])];
      const texts = await here.run(argv, {
        env: {
          CLOUD_URL: service.computeUrl,
          CLOUD_STOR_URL: service.storUrl,
          CLOUD_KEY_FILE: keyFile,
          CLOUD_STOR_ECDSA: 'true',
          EDITOR: 'true',
        },
        isTerminal,
      });
      expect([argv.join(' '), findOrders(texts, isTerminal, format)]).toEqual([argv.join(' '), undefined]);
      shown ||= texts.out.includes('taken') || texts.err.includes('taken');
    }
    // What the service says is shown, in words that are no orders. Not every command shows something when it succeeds:
    // snapshots are listed by the form of their names, which none of these has.
    if (mode === 'refuses' || (path.endsWith(' list') && path !== 'stor snapshot list')) expect(shown).toBe(service.count() > before);
  });
});
