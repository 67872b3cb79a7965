import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from './base/build.ts';
import { printBash } from './cli/completion/bash.ts';
import { printFish } from './cli/completion/fish.ts';
import { readWords } from './cli/completion/words.ts';
import { printZsh } from './cli/completion/zsh.ts';
import { guides } from './cli/guides/index.ts';
import { printGuidePage } from './cli/man/guide.ts';
import { printNounPage } from './cli/man/noun.ts';
import { printProgramPage } from './cli/man/program.ts';
import { printCommandTable } from './cli/markdown.ts';
import { loadNouns, type LoadedNoun } from './cli/tree.ts';
import { nouns } from './commands/index.ts';
import { explain, unlessNoEntry, UsageError } from './base/errors.ts';

/** Generates files from the declarations of commands, in the current folder; with `--check` only names the files that are stale. */

const [begin, end] = ['<!-- commands -->', '<!-- /commands -->'];

function readText(file: string): string | undefined {
  return unlessNoEntry(() => readFileSync(file, 'utf8'));
}

/** A document with the content between its markers replaced. @throws {UsageError} when the document or a marker is missing */
function replaceBetween(file: string, content: string): string {
  const document = readText(file);
  if (document === undefined) throw new UsageError(`${file} is missing`);
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new UsageError(`${file} does not have the lines ${begin} and ${end}`);
  return `${document.slice(0, from)}${begin}\n\n${content}\n\n${document.slice(to)}`;
}

/** Writes a file, or with `isCheck` only compares it; false if it is stale. */
function settle(file: string, content: string, isCheck: boolean): boolean {
  if (readText(file) === content) return true;
  if (isCheck) return false;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return true;
}

/** Guides related to each noun. */
const relatedGuides: Readonly<Record<string, readonly string[]>> = {
  keys: ['cloud-signing'],
  api: ['cloud-signing'],
  profile: ['cloud-signing'],
  users: ['cloud-policies'],
  roles: ['cloud-policies'],
  policies: ['cloud-policies'],
  rbac: ['cloud-policies'],
  local: ['cloud-local', 'cloud-testing'],
  env: ['cloud-scripting'],
  server: ['cloud-cluster'],
};

function printPages(tree: readonly LoadedNoun[]): [string, () => string][] {
  return [
    ['man/cloud.1', () => printProgramPage(tree, guides, build.version)],
    ...tree.map((noun): [string, () => string] => [
      `man/cloud-${noun.name}.1`,
      () =>
        printNounPage(
          noun,
          (relatedGuides[noun.name] ?? []).map((page) => [page, 7]),
          build.version,
        ),
    ]),
    ...guides.map((guide): [string, () => string] => [`man/${guide.page}.7`, () => printGuidePage(guide, guides, build.version)]),
  ];
}

/** The text of package.json with the pages of the manual, which npm installs with the program. */
function listManual(pages: readonly (readonly [string, unknown])[]): string {
  const record = JSON.parse(readText('package.json') ?? '{}') as Record<string, unknown>;
  return `${JSON.stringify({ ...record, man: pages.map(([file]) => `./${file}`).sort() }, null, 2)}\n`;
}

/** Pages of commands that no longer exist. */
function listOrphans(pages: readonly (readonly [string, unknown])[]): string[] {
  const known = pages.map(([file]) => file);
  const there = existsSync('man') ? readdirSync('man') : [];
  return there.map((name) => join('man', name)).filter((file) => /\.[17]$/.test(file) && !known.includes(file));
}

async function generate(isCheck: boolean): Promise<void> {
  const tree = await loadNouns(nouns);
  const words = readWords(tree);
  const pages = printPages(tree);
  const files: [string, () => string][] = [
    ...pages,
    ['completions/cloud.bash', () => printBash(words)],
    ['completions/_cloud', () => printZsh(words)],
    ['completions/cloud.fish', () => printFish(words)],
    ...(existsSync('package.json') ? [['package.json', () => listManual(pages)] satisfies [string, () => string]] : []),
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
  for (const file of listOrphans(pages)) {
    if (!isCheck) rmSync(file);
    else process.stderr.write(`${file} is of no command: npm run generate\n`);
    if (isCheck) process.exitCode = 1;
  }
}

void generate(process.argv.includes('--check'));
