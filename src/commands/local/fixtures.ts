import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodes, LocalError, UsageError } from '../../base/errors.ts';
import type { World } from '../../base/world.ts';

/** Initial content of services for a test: objects from a directory, users and roles from an access document. */

/** Directories of the account that a directory of fixtures can have. */
const trees = ['stor', 'public'] as const;

/** Name of the access document in a directory of fixtures. */
const accessFile = 'access.yaml';

/** Command lines that add fixtures, in order; objects come first, because documents may refer to them. */
type Lines = readonly (readonly string[])[];

function putTree(folder: string, name: string): readonly string[] {
  return ['stor', 'put', '--quiet', '--recursive', '--no-target-directory', folder, `~~/${name}`];
}

function applyDocument(file: string): readonly string[] {
  return ['rbac', 'apply', '--quiet', file];
}

/**
 * Returns the command lines for fixtures.
 * @param source an access document, or a directory with `stor`, `public` and `access.yaml`; a directory without any of them is the content
 * of `stor`
 * @throws {UsageError}
 */
export function readFixtures(source: string): Lines {
  const stats = statSync(source, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`${source} does not exist`);
  if (stats.isFile()) return [applyDocument(source)];
  if (!stats.isDirectory()) throw new UsageError(`${source} is neither a directory nor a file`);
  const names = readdirSync(source);
  const known: readonly string[] = [...trees, accessFile];
  if (!names.some((name) => known.includes(name))) return [putTree(source, 'stor')];
  const other = names.find((name) => !known.includes(name));
  if (other !== undefined)
    throw new UsageError(`${join(source, other)}: only ${trees.join(', ')} and ${accessFile} are allowed here`, {
      hint: `objects belong below ${join(source, 'stor')}`,
    });
  return [
    ...trees.filter((name) => existsSync(join(source, name))).map((name) => putTree(join(source, name), name)),
    ...(names.includes(accessFile) ? [applyDocument(join(source, accessFile))] : []),
  ];
}

/** Reads the error that this program has printed with --json. */
function readFailure(said: string): LocalError {
  const line = said.trim().split('\n').at(-1) ?? '';
  const { message, hint } = line.startsWith('{') ? (JSON.parse(line) as { message: string; hint?: string }) : { message: line };
  return new LocalError(`the fixtures could not be added: ${message}`, { hint: hint?.split('\n') });
}

/** Runs this program. @throws {LocalError} with its error message when it fails */
function runSelf(world: World, words: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(world.executable, [world.program, ...words, '--json'], {
      env,
      cwd: world.cwd,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const stop = (): void => void child.kill('SIGTERM');
    world.interrupted.addEventListener('abort', stop, { once: true });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.once('error', reject);
    child.once('close', (code) => {
      world.interrupted.removeEventListener('abort', stop);
      if (code === exitCodes.done) resolve();
      else reject(readFailure(said));
    });
  });
}

/** Adds fixtures to the services that the environment names. Existing objects and users stay unless a fixture has the same name. */
export async function putFixtures(world: World, lines: Lines, env: NodeJS.ProcessEnv): Promise<void> {
  for (const line of lines) await runSelf(world, line, env);
}
