import { UsageError } from '../base/errors.ts';
import { lazily } from '../base/lazily.ts';
import { nearest } from '../base/nearest.ts';
import { quoteShell } from '../base/quote.ts';
import type { AnyCommand, Group, Noun } from './command.ts';
import { globalOptions } from './globals.ts';
import { kebab } from '../config/settings.ts';
import type { Option } from './parameters.ts';
import { findSynonym } from './synonyms.ts';

/** The command that a command line names, or the group whose help it requests. */
export interface Found {
  /** Words of the command: `['keys', 'list']`. */
  path: string[];
  node: AnyCommand | Group | undefined;
  /** All other words of the command line, in order. */
  rest: string[];
  wantsHelp: boolean;
  wantsVersion: boolean;
}

/** True if an option is followed by a value. */
export function takesValue(option: Option): boolean {
  return !['flag', 'negatable', 'count'].includes(option.kind);
}

/** Global options that are followed by a value, in long and short form. */
const valued = lazily(
  () =>
    new Set(
      Object.entries(globalOptions()).flatMap(([name, option]) =>
        takesValue(option) ? [`--${kebab(name)}`, ...(option.short === undefined ? [] : [`-${option.short}`])] : [],
      ),
    ),
);

/** A noun and its loaded command or group. */
export interface LoadedNoun extends Noun {
  readonly node: AnyCommand | Group;
}

export async function loadNouns(nouns: readonly Noun[]): Promise<LoadedNoun[]> {
  return await Promise.all(nouns.map(async (noun) => ({ ...noun, node: await noun.load() })));
}

/** Finds a command of a group by name or alias; returns it with its name. */
export function findChild(parent: Group, word: string): [string, AnyCommand | Group] | undefined {
  const child = Object.hasOwn(parent.commands, word) ? parent.commands[word] : undefined;
  if (child) return [word, child];
  return Object.entries(parent.commands).find(([, { aliases }]) => aliases?.includes(word) === true);
}

export function findNoun(nouns: readonly Noun[], word: string): Noun | undefined {
  return nouns.find((noun) => noun.name === word || noun.aliases.includes(word));
}

/** @param rest the words after the unknown one; the hint repeats them up to the first option */
function createUnknownError(path: readonly string[], word: string, names: readonly string[], rest: readonly string[]): UsageError {
  const line = ['cloud', ...path].join(' ');
  const close = nearest(word, names);
  const end = rest.findIndex((each) => each.startsWith('-'));
  const kept = (end < 0 ? rest : rest.slice(0, end)).map(quoteShell);
  const hint = findSynonym(path, word, names, kept) ?? (close === undefined ? `${line} --help` : [line, close, ...kept].join(' '));
  return new UsageError(`"${word}" is not a command of ${line}`, { hint });
}

/** The position of the first word that is neither an option nor the value of one; -1 if there is none before `--`. */
export function findFirstWord(argv: readonly string[]): number {
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (word === '--') return -1;
    if (!word.startsWith('-') || word === '-') return at;
    if (at + 1 < argv.length && valued().has(word)) at += 1;
  }
  return -1;
}

/** Resolves the words of a command line to a command. Loads only the noun that is named. */
export async function findCommand(nouns: readonly Noun[], argv: readonly string[]): Promise<Found> {
  const found: Found = { path: [], node: undefined, rest: [], wantsHelp: false, wantsVersion: false };
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (found.node?.kind === 'command' || word === '--') {
      found.rest.push(...argv.slice(at));
      break;
    }
    if (word.startsWith('-') && word !== '-') {
      if (word === '-h' || word === '--help') found.wantsHelp = true;
      else if (word === '--version' && found.node === undefined) found.wantsVersion = true;
      else found.rest.push(...(valued().has(word) ? argv.slice(at, (at += 1) + 1) : [word]));
      continue;
    }
    if (!(await descend(nouns, found, word, argv.slice(at + 1)))) {
      found.rest.push(...argv.slice(at));
      break;
    }
  }
  const node = found.node;
  if (node?.kind === 'group' && node.fallback !== undefined && !found.wantsHelp && found.rest.some((word) => !word.startsWith('-'))) {
    found.node = node.commands[node.fallback];
    found.path.push(node.fallback);
  }
  return found;
}

/** Descends one level; false if the word belongs to the group's fallback command. */
async function descend(nouns: readonly Noun[], found: Found, word: string, rest: readonly string[]): Promise<boolean> {
  if (found.node === undefined) {
    const noun = findNoun(nouns, word);
    if (noun === undefined)
      throw createUnknownError(
        [],
        word,
        nouns.flatMap(({ name, aliases }) => [name, ...aliases]),
        rest,
      );
    found.path.push(noun.name);
    found.node = await noun.load(rest[0]);
    return true;
  }
  const parent = found.node as Group;
  const child = findChild(parent, word);
  if (child === undefined && parent.fallback !== undefined) return false;
  if (child === undefined) throw createUnknownError(found.path, word, Object.keys(parent.commands), rest);
  found.path.push(child[0]);
  found.node = child[1];
  return true;
}
