import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AnyCommand, Group } from '../../src/cli/command.ts';
import { server } from '../../src/commands/server/index.ts';
import { createDatabase } from '../support/cluster-database.ts';
import { createSandbox, type Outcome, type Sandbox } from '../support/sandbox.ts';
import { createRsaKey } from '../support/service.ts';

/** Secrets that operators hand to `cloud server`: none of them comes out of it again, whatever goes wrong. */

const secret = 'hush-hush-7f3a';

function listCommands(node: AnyCommand | Group, path: readonly string[]): { path: readonly string[]; command: AnyCommand }[] {
  if (node.kind !== 'group') return [{ path, command: node }];
  return Object.entries(node.commands).flatMap(([name, each]) => listCommands(each, [...path, name]));
}

/** Those that use a database. */
const commands = listCommands(server, ['server']).filter(({ command }) => 'database' in command.options);

let sandbox: Sandbox;
let remove: () => void;
beforeAll(() => {
  ({ sandbox, remove } = createSandbox());
  sandbox.write('cloud.yaml', 'version: "1"\n');
  sandbox.write('key.pub', createRsaKey().line);
});
afterAll(() => remove());

/** The words of a command with everything that it asks for before it looks at the database. */
function wordsOf(path: readonly string[], { arguments: given, options }: AnyCommand): string[] {
  const some: Record<string, string[]> = {
    from: ['--from', sandbox.home],
    // A place of contents, or the limit of an account.
    bytes: ['--bytes', path.includes('limit') ? '1G' : `file://${sandbox.home}/bytes`],
    http: ['--http'],
    computePort: ['--compute-port', '0'],
    storPort: ['--stor-port', '0'],
    email: ['--email', 'a@example.com'],
    publicKey: ['--public-key', join(sandbox.home, 'key.pub')],
    yes: ['--yes'],
  };
  const values = Object.keys(given).map((name) => (name === 'file' ? join(sandbox.home, 'cloud.yaml') : 'alice'));
  return [...path, ...values, ...Object.keys(options).flatMap((name) => some[name] ?? [])];
}

function assertSilent({ stdout, stderr, code }: Outcome): void {
  expect([code === 0, stdout.includes(secret), stderr.includes(secret)]).toEqual([false, false, false]);
}

describe.each(commands.map(({ path, command }) => [path.join(' '), path, command] as const))('cloud %s', (_, path, command) => {
  const run = (words: readonly string[], env = {}): Promise<Outcome> => sandbox.here([...wordsOf(path, command), ...words], { env });

  test.each([`postgresql://cloud:${secret}@localhost:1/cloud`, `postgresql://localhost:1/cloud?user=cloud&password=${secret}`])(
    'refuses a password on the command line, and does not repeat it: %s',
    async (url) => {
      const refused = await run(['--database', url]);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('contains a password')]);
      assertSilent(refused);
      assertSilent(await run(['--database', url, '-v']));
    },
  );

  test('does not show that of a file or a variable when the database is away, or the URL is none', async () => {
    for (const url of [
      `postgresql://cloud:${secret}@localhost:1/cloud`,
      `mysql://cloud:${secret}@localhost/cloud`,
      `postgresql://cloud:${secret}@local host/`,
    ]) {
      const file = sandbox.write('database', `${url}\n`);
      chmodSync(file, 0o600);
      for (const words of [[], ['-v'], ['-j']]) assertSilent(await run(['--database-file', file, ...words]));
      assertSilent(await run([], { CLOUD_SERVER_DATABASE: url }));
    }
  });
});

test('a file of the database that others can read is refused', async () => {
  const file = sandbox.write('database', 'postgresql://cloud:x@localhost:1/cloud\n');
  chmodSync(file, 0o644);
  const { code, stderr } = await sandbox.here(['server', 'status', '--database-file', file]);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/--database-file .*other users can read[\s\S]*chmod 600/u)]);
});

test('a private key given for a public one is refused, and not repeated', async () => {
  const { url, drop } = await createDatabase();
  try {
    const pem = createRsaKey().privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const file = sandbox.write('key.pem', pem);
    const words = ['server', 'accounts', 'create', 'alice', '--email', 'a@example.com', '--public-key', file, '--database', url];
    const { code, stdout, stderr } = await sandbox.here(words);
    const lines = pem.split('\n').filter((line) => line.length > 20);
    expect([code, stdout, lines.filter((line) => stderr.includes(line))]).toEqual([2, '', []]);
  } finally {
    await drop();
  }
});
