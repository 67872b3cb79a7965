import { existsSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { useShared } from '../support/shared-service.ts';
import { openTerminal, type TerminalSession } from '../support/terminal.ts';

/** What draws at a terminal leaves it as it was, whatever ends it. */

const user = useShared('--http');
/** Begins a control sequence. */
const escape = '\u001b';
/** The signals, and the exit code that a shell makes of each. */
const signals = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
  ['SIGQUIT', 131],
  ['SIGKILL', 137],
] as const;
/** What moves the cursor up over the lines that were drawn and clears them; anything else may change how the terminal works. */
const drawing = new RegExp(`${escape}\\[(?:\\d+F|J|[\\d;]*m)`, 'gu');
const colouring = new RegExp(`${escape}\\[[\\d;]*m`, 'gu');

/** What a shell says of a signal. */
const shellWords = /(?:Hangup|Killed|Quit|Terminated)(?: \(core dumped\))?\r\n$/u;

let watched = '';
let runs = 0;

beforeAll(async () => {
  user.write('a', 'a text');
  user.write('large/file', '');
  truncateSync(join(user.home, 'large/file'), 100 * 1024 * 1024);
  await user.here(['stor', 'put', '-q', 'a', 'a']);
  watched = (await user.here(['jobs', 'create', '--map', 'cat', '-o', 'name'])).stdout.trim();
  await user.here(['jobs', 'add', watched, 'a', '-q']);
});

interface Run extends TerminalSession {
  /** Sends a signal to the program alone. */
  signal(name: NodeJS.Signals): void;
  /** Waits for the end. @returns the exit code of the program */
  leave(): Promise<number>;
}

/** Runs a line of the program at a terminal, between two looks at the terminal's settings. @param line begins with `cloud` */
function start(line: string): Run {
  const name = `run${(runs += 1)}`;
  const program = `sh -c 'echo $$ > ${name}.pid; exec ${line}'`;
  // A SIGINT that ended the program does not end the shell.
  const all = `trap : INT; stty -g > ${name}.before; ${program}; echo "code $?."; stty -g > ${name}.after; exit 0`;
  const session = openTerminal(all, { env: user.env, cwd: user.home });
  const read = (file: string): string => readFileSync(join(user.home, `${name}.${file}`), 'utf8');
  return {
    ...session,
    signal: (signal) => void process.kill(Number(read('pid')), signal),
    leave: async () => {
      const { raw } = await session.end();
      expect([line, read('after')]).toEqual([line, read('before')]);
      const other = raw.replaceAll(drawing, '');
      expect([line, other]).toEqual([line, expect.not.stringContaining(escape)]);
      const [, all = '', code] = /^([\s\S]*)code (\d+)\.\r\n$/u.exec(other) ?? [];
      const before = all.replace(shellWords, '');
      // What the shell writes next begins a line, in the usual colours.
      expect([line, before]).toEqual([line, expect.stringMatching(/\n$/u)]);
      const colours = raw.match(colouring) ?? [];
      expect([line, colours.at(-1) ?? `${escape}[0m`]).toEqual([line, expect.stringMatching(/\[(?:0|39|22)?m$/u)]);
      return Number(code);
    },
  };
}

/** A line, and what it shows when it has drawn something. */
const drawn: readonly [name: string, line: () => string, shown: RegExp][] = [
  ['jobs watch', () => `cloud jobs watch ${watched}`, /█{24} 100% {2}1 of 1 tasks done/u],
  ['sync --watch', () => `cloud stor sync large stor:large${runs} --watch --bwlimit 4M`, /MiB\/s/u],
];

test.each(drawn)('%s, ended by each signal', async (_, line, shown) => {
  const ends = signals.map(async ([signal, code]) => {
    const run = start(line());
    await run.until(shown);
    run.signal(signal);
    return [signal, await run.leave(), code];
  });
  for (const end of await Promise.all(ends)) expect(end).toEqual([end[0], end[2], end[2]]);
});

test.each(drawn)('%s, ended by Ctrl-C and by a service that goes away', async (_, line, shown) => {
  const typed = start(line());
  await typed.until(shown);
  typed.type('\u0003');
  expect(await typed.leave()).toBe(130);
  const proxy = await startFaultProxy(user.local.storUrl, () => 'none', 1);
  const left = start(`${line()} --retries 0 --stor-url ${proxy.url}`);
  try {
    await left.until(shown);
  } finally {
    await proxy.close();
  }
  // A sync that watches says that a run failed, and waits for its service to come back.
  const said = await left.until(/code \d+\.|failed/u);
  if (!said.includes('code ')) left.signal('SIGINT');
  expect([1, 130]).toContain(await left.leave());
});

test('jobs watch, ended by its job, by a reader that goes, and by a terminal that goes', async () => {
  const [, line, shown] = drawn[0] ?? expect.unreachable();
  const [left, cut, closed] = [start(line()), start(`${line()} | head -n 1`), start(line())];
  await Promise.all([left.until(shown), closed.until(shown), cut.until(/job /u)]);
  closed.hangUp();
  await closed.end();
  await user.here(['jobs', 'end', watched, '-q']);
  expect(await left.leave()).toBe(0);
  expect(await cut.leave()).toBe(0);
  const pids = Array.from({ length: runs }, (_, at) => join(user.home, `run${at + 1}.pid`)).filter((file) => existsSync(file));
  const isThere = (pid: number): boolean => existsSync(`/proc/${pid}`);
  await expect.poll(() => pids.filter((file) => isThere(Number(readFileSync(file, 'utf8'))))).toEqual([]);
});
