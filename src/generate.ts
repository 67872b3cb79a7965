import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { printBash } from './cli/completion/bash.ts';
import { printFish } from './cli/completion/fish.ts';
import { readWords } from './cli/completion/words.ts';
import { printZsh } from './cli/completion/zsh.ts';
import { printCommandTable } from './cli/markdown.ts';
import { loadNouns } from './cli/tree.ts';
import { nouns } from './commands/index.ts';
import { explain, isSystemError, UsageError } from './errors.ts';

/** Writes what is made from the declarations of the commands, in the current folder; with `--check` it only names the files that are stale. */

const [begin, end] = ['<!-- commands -->', '<!-- /commands -->'];

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A document with other content between its markers. @throws {UsageError} when it or they are missing */
function replaceBetween(file: string, content: string): string {
  const document = readText(file);
  if (document === undefined) throw new UsageError(`${file} is missing`);
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new UsageError(`${file} does not have the lines ${begin} and ${end}`);
  return `${document.slice(0, from)}${begin}\n\n${content}\n\n${document.slice(to)}`;
}

/** Writes a file, or only compares it; false when it was stale. */
function settle(file: string, content: string, isCheck: boolean): boolean {
  if (readText(file) === content) return true;
  if (isCheck) return false;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return true;
}

async function generate(isCheck: boolean): Promise<void> {
  const tree = await loadNouns(nouns);
  const words = readWords(tree);
  const files: [string, () => string][] = [
    ['completions/cloud.bash', () => printBash(words)],
    ['completions/_cloud', () => printZsh(words)],
    ['completions/cloud.fish', () => printFish(words)],
    ['README.md', () => replaceBetween('README.md', printCommandTable(tree))],
  ];
  for (const [file, print] of files) {
    try {
      if (settle(file, print(), isCheck)) continue;
      process.stderr.write(`${file} is stale: npm run generate\n`);
    } catch (error) {
      process.stderr.write(`generate: ${explain(error).message}\n`);
    }
    process.exitCode = 1;
  }
}

void generate(process.argv.includes('--check'));
