import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { InterruptedError, UsageError } from '../base/errors.ts';
import { escapeControl } from '../output/escape.ts';
import type { World } from '../base/world.ts';

/** Runs of the program that must not ask questions. */
const silent = new WeakSet<World>();

/** `--no-input`: disables questions, as without a terminal. */
export function forbidQuestions(world: World): void {
  silent.add(world);
}

/** True if the user can be asked. */
export function canAsk(world: World): boolean {
  return !silent.has(world) && world.stdin.isTerminal && world.stderr.isTerminal;
}

/** The reason why the user cannot be asked. */
function explainSilence(world: World): string {
  return silent.has(world) ? '--no-input is given' : 'there is no terminal';
}

/** Reads one line from the terminal; with `hidden`, without echo. */
function readLine(world: World, question: string, hidden: boolean): Promise<string> {
  const silent = new Writable({ write: (_piece, _encoding, done) => done() });
  // The terminal must be ready for the answer before the question is shown.
  const reader = createInterface({ input: world.stdin.stream, output: hidden ? silent : world.stderr.stream, terminal: true });
  // Closing the reader restores the terminal's echo.
  const forget = world.beforeHangup?.(() => reader.close());
  world.stderr.stream.write(escapeControl(question));
  return new Promise((resolve, reject) => {
    const interrupt = (): void => stop(() => reject(new InterruptedError('interrupted')));
    const stop = (settle: () => void, isShown = false): void => {
      world.interrupted.removeEventListener('abort', interrupt);
      forget?.();
      settle();
      reader.off('close', end).close();
      // With echo, the terminal has already shown the line end.
      if (!isShown) world.stderr.stream.write('\n');
    };
    const end = (): void => stop(() => reject(new InterruptedError('no answer')));
    reader.once('line', (line) => stop(() => resolve(line), !hidden));
    reader.once('SIGINT', interrupt);
    reader.once('close', end);
    world.interrupted.addEventListener('abort', interrupt, { once: true });
    if (world.interrupted.aborted) interrupt();
  });
}

/** Asks for text. @throws {UsageError} if the user cannot be asked. */
export async function askText(world: World, question: string, fallback = ''): Promise<string> {
  if (!canAsk(world)) throw new UsageError(`cannot ask "${question}": ${explainSilence(world)}`);
  const suffix = fallback === '' ? ': ' : ` [${fallback}]: `;
  const answer = await readLine(world, question + suffix, false);
  return answer.trim() === '' ? fallback : answer.trim();
}

/** Asks for a secret without echo. @throws {UsageError} if the user cannot be asked. */
export async function askSecret(world: World, question: string, hint?: string): Promise<string> {
  if (!canAsk(world)) throw new UsageError(`cannot ask for the ${question}: ${explainSilence(world)}`, { hint });
  return await readLine(world, `${question}: `, true);
}

/** Asks for confirmation before a deletion. @throws {UsageError} without a terminal or when the answer is no. */
export async function confirm(world: World, question: string): Promise<void> {
  if (!canAsk(world)) {
    const reason = silent.has(world) ? explainSilence(world) : 'there is no terminal to confirm it';
    throw new UsageError(`${question} Nothing was done: ${reason}`, { hint: 'add --yes' });
  }
  const answer = await readLine(world, `${question} [y/N] `, false);
  if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError('nothing was done');
}
