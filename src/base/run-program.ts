import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { checkInterrupted, CloudError, describeSystemError, isSystemError } from './errors.ts';
import type { World } from './world.ts';

/** A program cannot be started. The exit codes are those of shells: 127 if it does not exist, else 126. */
class ProgramError extends CloudError {
  readonly code = 'ProgramError';
  readonly exitCode: number;

  constructor(message: string, exitCode: 126 | 127, cause: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

function explainFailure(file: string, { cwd }: World, error: unknown): Error {
  if (!isSystemError(error)) return error instanceof Error ? error : new Error(String(error));
  if (error.code !== 'ENOENT') return new ProgramError(describeSystemError(Object.assign(error, { path: file })), 126, error);
  const isThere = file.includes('/') && existsSync(resolve(cwd, file));
  return isThere
    ? new ProgramError(`${file}: cannot be executed: the interpreter in its first line does not exist`, 126, error)
    : new ProgramError(`${file}: no such program`, 127, error);
}

/**
 * Runs another program with the streams of this one. Forwards all signals that would end this program; the other program decides when to end.
 * @returns its exit code; if a signal ended it, 128 plus the signal number, as in shells
 * @throws {ProgramError} when it cannot be started
 */
export function runProgram(file: string, words: readonly string[], env: NodeJS.ProcessEnv, world: World): Promise<number> {
  checkInterrupted(world.interrupted);
  return new Promise((resolve, reject) => {
    const child = spawn(file, words, { stdio: 'inherit', env, cwd: world.cwd });
    const release = world.takeSignals?.((signal) => {
      // The terminal sends Ctrl-C to all its programs itself.
      if (signal !== 'SIGINT' || !world.stdin.isTerminal) child.kill(signal);
    });
    child.once('error', (error) => {
      release?.();
      reject(explainFailure(file, world, error));
    });
    child.once('close', (code, signal) => {
      release?.();
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
