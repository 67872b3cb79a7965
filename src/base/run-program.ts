import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { UsageError } from './errors.ts';
import type { World } from './world.ts';

/**
 * Runs another program with the streams of this one. Forwards signals that would end this program; the other program decides when to end.
 * @returns its exit code; if a signal ended it, 128 plus the signal number, as in shells
 * @throws {UsageError} when it cannot be started
 */
export function runProgram(file: string, words: readonly string[], env: NodeJS.ProcessEnv, world: World): Promise<number> {
  const { interrupted, interruptedBy, stdin } = world;
  return new Promise((resolve, reject) => {
    const child = spawn(file, words, { stdio: 'inherit', env, cwd: world.cwd });
    const forward = (): void => {
      const signal = interruptedBy?.() ?? 'SIGTERM';
      // The terminal sends Ctrl-C to all its programs itself.
      if (signal !== 'SIGINT' || !stdin.isTerminal) child.kill(signal);
    };
    interrupted.addEventListener('abort', forward, { once: true });
    child.once('error', (error: NodeJS.ErrnoException) => {
      const problem = error.code === 'ENOENT' ? 'no such program' : error.message;
      reject(new UsageError(`${file}: ${problem}`, { cause: error }));
    });
    child.once('close', (code, signal) => {
      interrupted.removeEventListener('abort', forward);
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
