import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { KeyError, quietly } from '../base/errors.ts';
import { inspectKeyFile, readKeyText, type KeyFile } from './private-key.ts';
import { readKeyLine, type KeyLine } from './public-key.ts';

/** A key in a directory such as `~/.ssh`, found by its `.pub` file or by the private key file itself. */
export interface StoredKey extends KeyLine {
  /** Path of the private key. */
  path: string;
}

/** A key file that cannot be read. */
interface Problem {
  readonly path: string;
  /** One line. */
  readonly message: string;
}

/** The keys in a directory, and the key files that could not be read. */
export interface KeyFolder {
  keys: StoredKey[];
  problems: Problem[];
}

/** Files of `~/.ssh` that are never keys; they may be large. */
const others = /^(?:config|environment|rc|known_hosts.*|authorized_keys.*|.*\.old|.*-cert\.pub)$/;

function describeFile({ path, publicKey }: KeyFile): StoredKey | undefined {
  return publicKey && { path, ...readKeyLine(publicKey.openssh) };
}

function readPublicLine(path: string): StoredKey | undefined {
  try {
    const { text } = readKeyText(path);
    return { path: path.slice(0, -'.pub'.length), ...readKeyLine(text) };
  } catch {
    return undefined;
  }
}

async function readPrivateFile(path: string, problems: Problem[]): Promise<StoredKey | undefined> {
  try {
    const { text } = readKeyText(path);
    if (!text.includes('PRIVATE KEY-----')) return undefined;
    const key = describeFile(await inspectKeyFile(path));
    if (key === undefined)
      problems.push({ path, message: `${path} is encrypted and has no .pub file, so it can only be used with --key-file` });
    return key;
  } catch (error) {
    if (error instanceof KeyError) problems.push({ path, message: error.message });
    return undefined;
  }
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => !others.test(name))
      .sort();
  } catch {
    return [];
  }
}

export function hasFile(path: string): boolean {
  return quietly(() => statSync(path).isFile(), false);
}

/** Reads the keys of a directory: `.pub` files first, then private keys without one. Skips invalid files; a missing directory is empty. */
export async function readKeyFolder(folder: string): Promise<KeyFolder> {
  const names = listNames(folder);
  const problems: Problem[] = [];
  const known = names.filter((name) => name.endsWith('.pub')).map((name) => readPublicLine(join(folder, name)));
  const keys = known.filter((key) => key !== undefined);
  const described = new Set(keys.map(({ path }) => path));
  const bare = names.map((name) => join(folder, name)).filter((path) => !path.endsWith('.pub') && !described.has(path));
  const found = await Promise.all(bare.map((path) => readPrivateFile(path, problems)));
  return { keys: [...keys, ...found.filter((key) => key !== undefined)], problems };
}
