import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { openAliases, splitWords } from '../config/aliases.ts';
import { findPaths } from '../config/paths.ts';
import { runProgram } from '../base/run-program.ts';
import type { World } from '../base/world.ts';

/** Valid names of aliases and plugins. */
export const extensionName = /^[a-z][a-z0-9-]{0,63}$/;

/** The meaning of a first word that is not a command: an alias for other words, or a program that gets the other words. */
export type Extension =
  | { readonly kind: 'alias'; readonly argv: readonly string[] }
  | { readonly kind: 'plugin'; readonly file: string; readonly argv: readonly string[] };

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The program `cloud-NAME` on the PATH. Ignores relative folders, which would run programs from whatever directory the user is in. */
function findPlugin(name: string, { env }: Pick<World, 'env'>): string | undefined {
  const folders = (env['PATH'] ?? '').split(':').filter((folder) => folder.startsWith('/'));
  return folders.map((folder) => join(folder, `cloud-${name}`)).find(isProgram);
}

/**
 * Finds an alias, else a plugin. The caller looks for commands of the program first.
 * @param at the position of the name in the command line
 */
export function findExtension(name: string, at: number, world: World): Extension | undefined {
  if (!extensionName.test(name)) return undefined;
  const line = openAliases(findPaths(world.env, world.home).config).list().get(name);
  const [before, after] = [world.argv.slice(0, at), world.argv.slice(at + 1)];
  if (line !== undefined) return { kind: 'alias', argv: [...before, ...splitWords(line), ...after] };
  const file = findPlugin(name, world);
  return file === undefined ? undefined : { kind: 'plugin', file, argv: [...before, ...after] };
}

/** Runs a plugin; resolves to its exit code. */
export function runPlugin(file: string, argv: readonly string[], world: World): Promise<number> {
  const { env, program, executable } = world;
  return runProgram(file, argv, { ...env, CLOUD_PROGRAM: program, CLOUD_NODE: executable }, world);
}
