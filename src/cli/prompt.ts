import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { InterruptedError, UsageError } from '../errors.ts';
import { escapeControl } from '../output/escape.ts';
import type { World } from '../world.ts';

/** Whether somebody is there to answer a question. */
export function canAsk({ stdin, stderr }: World): boolean {
  return stdin.isTerminal && stderr.isTerminal;
}

/** Reads one line from the terminal. With `hidden` nothing of it is shown. */
function readLine(world: World, question: string, hidden: boolean): Promise<string> {
  const silent = new Writable({ write: (_piece, _encoding, done) => done() });
  // Before the question is seen the terminal has to be ready for the answer.
  const reader = createInterface({ input: world.stdin.stream, output: hidden ? silent : world.stderr.stream, terminal: true });
  world.stderr.stream.write(escapeControl(question));
  return new Promise((resolve, reject) => {
    const interrupt = (): void => stop(() => reject(new InterruptedError('interrupted')));
    const stop = (settle: () => void, isShown = false): void => {
      world.interrupted.removeEventListener('abort', interrupt);
      settle();
      reader.off('close', end).close();
      // The end of a line that is shown stands there already.
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

/** Asks for a text. @throws {UsageError} where nobody can answer. */
export async function askText(world: World, question: string, fallback = ''): Promise<string> {
  if (!canAsk(world)) throw new UsageError(`cannot ask "${question}": there is no terminal`);
  const suffix = fallback === '' ? ': ' : ` [${fallback}]: `;
  const answer = await readLine(world, question + suffix, false);
  return answer.trim() === '' ? fallback : answer.trim();
}

/** Asks for a secret without showing it. @throws {UsageError} where nobody can answer. */
export async function askSecret(world: World, question: string, hint?: string): Promise<string> {
  if (!canAsk(world)) throw new UsageError(`cannot ask for the ${question}: there is no terminal`, { hint });
  return await readLine(world, `${question}: `, true);
}

/** Asks for a yes before something is deleted. @throws {UsageError} without a terminal or when the answer is no. */
export async function confirm(world: World, question: string): Promise<void> {
  if (!canAsk(world)) throw new UsageError(`${question} Nothing was done: there is no terminal to confirm it`, { hint: 'add --yes' });
  const answer = await readLine(world, `${question} [y/N] `, false);
  if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError('nothing was done');
}
