import { join } from 'node:path';
import { UsageError } from '../base/errors.ts';
import { withLock } from '../base/lock.ts';
import { readJsonFile, writeFileAtomically } from './files.ts';

/** User-defined names of command lines: `linux` for `images list --os linux`. */
export interface Aliases {
  list(): ReadonlyMap<string, string>;
  set(name: string, line: string): void;
  /** @returns true if the alias existed */
  remove(name: string): boolean;
}

/** Opens the aliases, which are kept in one file of the configuration. */
export function openAliases(config: string): Aliases {
  const file = join(config, 'aliases.json');
  function list(): Map<string, string> {
    const entries = Object.entries(readJsonFile(file, 'config') ?? {});
    for (const [name, line] of entries)
      if (typeof line !== 'string') throw new UsageError(`${file}: alias ${name} is not a string`, { hint: 'fix or delete the file' });
    return new Map(entries as [string, string][]);
  }
  function change(work: (aliases: Map<string, string>) => void): void {
    withLock(`${file}.lock`, () => {
      const aliases = list();
      work(aliases);
      writeFileAtomically(file, `${JSON.stringify(Object.fromEntries(aliases), undefined, 2)}\n`);
    });
  }
  return {
    list,
    set: (name, line) => change((aliases) => void aliases.set(name, line)),
    remove: (name) => {
      if (!list().has(name)) return false;
      change((aliases) => void aliases.delete(name));
      return true;
    },
  };
}

/** Splits a line into words; quotation marks group words with blanks. @throws {UsageError} for an unclosed quotation mark */
export function splitWords(line: string): string[] {
  const words = [...line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'));
  if (/["']/.test(line.replaceAll(/"[^"]*"|'[^']*'/g, ''))) throw new UsageError(`${line}: a quotation mark is not closed`);
  return words;
}
