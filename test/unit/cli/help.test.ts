import { describe, expect, it } from 'vitest';
import { printCommandHelp, printGroupHelp, printRootHelp } from '../../../src/cli/help.ts';
import { globalOptions } from '../../../src/cli/globals.ts';
import { findCommand } from '../../../src/cli/tree.ts';
import { kebab } from '../../../src/config/settings.ts';
import type { AnyCommand } from '../../../src/cli/command.ts';
import { parseCommandLine } from '../../../src/cli/parser.ts';
import { nouns } from '../../../src/commands/index.ts';
import { commands, groups, tree } from './tree.ts';

/** The lines that do not fit a terminal. */
function findWide(text: string): string[] {
  return text.split('\n').filter((line) => line.length > 80);
}

/** Commands whose help may be longer. */
function hasManyOptions(path: string, { options }: AnyCommand): boolean {
  return (
    ['stor put', 'stor get', 'stor cp', 'stor sync', 'jobs run', 'local start', 'server worker'].includes(path) ||
    Object.keys(options).length > 16
  );
}

function findRepeated(words: readonly (string | undefined)[]): (string | undefined)[] {
  return words.filter((word, at) => word !== undefined && words.indexOf(word) !== at);
}

describe('help', () => {
  it.each(commands)('of %s fits 80 columns', (path, command) => {
    expect(findWide(printCommandHelp(path.split(' '), command, 80))).toEqual([]);
  });

  it.each(groups)('of %s fits 80 columns', (path, group) => {
    expect(findWide(printGroupHelp(path.split(' '), group, 80))).toEqual([]);
  });

  it.each(commands)('of %s shows an example on the first screen and fits 40 lines, or 60 with many options', (path, command) => {
    const lines = printCommandHelp(path.split(' '), command, 80).trimEnd().split('\n');
    const at = lines.findIndex((line) => line.startsWith('  # '));
    expect([at > 0 && at < 23, lines.length <= (hasManyOptions(path, command) ? 60 : 40)]).toEqual([true, true]);
    for (const [name, { topic }] of Object.entries(command.options)) {
      const isShown = lines.some((line) => line.includes(topic === undefined ? kebab(name) : `cloud help ${topic}`));
      expect([name, isShown]).toEqual([name, true]);
    }
    expect(lines.at(-1)).toContain('cloud help options');
  });

  it('gives --dry-run and --yes the same letters everywhere', () => {
    const letters = (option: string) =>
      new Set(commands.flatMap(([, { options }]) => options[option]?.short ?? (option in options ? '' : [])));
    expect([letters('dryRun'), letters('yes')]).toEqual([new Set(['n']), new Set(['y'])]);
  });

  it.each(groups)('of %s shows an example and fits 40 lines', (path, group) => {
    const lines = printGroupHelp(path.split(' '), group, 80).trimEnd().split('\n');
    const at = lines.findIndex((line) => line.startsWith('  # '));
    expect([at > 0 && at < 23, lines.length <= 40]).toEqual([true, true]);
  });

  it('of the program fits 80 columns and names every noun', () => {
    const text = printRootHelp(nouns, 80);
    expect(findWide(text)).toEqual([]);
    for (const { name } of nouns) expect(text).toMatch(new RegExp(`^  ${name} `, 'm'));
  });

  it.each([40, 60, 100])('breaks text at %i columns', (width) => {
    for (const [path, { description = '', ...rest }] of commands) {
      const text = printCommandHelp(path.split(' '), { ...rest, examples: [], description, arguments: {}, options: {} }, width);
      const prose = text.slice(text.indexOf('[OPTION...]') + 11, text.indexOf('Global options')).split('\n');
      expect(prose.filter((line) => line.length > width)).toEqual([]);
    }
  });

  it('breaks an example where a shell goes on with the next line', () => {
    const line = `cloud images create ${'x'.repeat(50)} name 1.0.0 --description "two -- words" -j | jq .id`;
    const example = {
      kind: 'command',
      summary: 'Make',
      arguments: {},
      options: {},
      examples: [{ line, help: 'Long' }],
      run: async () => undefined,
    } as const;
    const help = printCommandHelp(['images', 'create'], example, 60);
    const printed = help.slice(help.indexOf('  # Long\n') + 9, help.indexOf('\n\nGlobal options'));
    expect(printed.split(' \\\n')).toHaveLength(2);
    expect(printed.replaceAll(/ \\\n +/g, ' ').trim()).toBe(line);
  });
});

describe('a declaration', () => {
  it.each(commands)('of %s has two examples or more', (_, { examples }) => {
    expect(examples.length).toBeGreaterThanOrEqual(2);
    for (const { line, help } of examples) {
      expect(line).toContain('cloud ');
      expect(help).not.toMatch(/\.$/);
    }
  });

  it.each(commands)('of %s gives each letter to one option', (_, { options }) => {
    expect(findRepeated(Object.values(options).map(({ short }) => short))).toEqual([]);
    for (const { short } of Object.values({ ...globalOptions(), ...options })) expect(short ?? 'x').toMatch(/^[A-Za-z0-9]$/);
  });

  it.each(groups)('of %s gives each name to one command', (_, { commands }) => {
    const names = Object.keys(commands);
    expect(
      Object.values(commands)
        .flatMap(({ aliases = [] }) => aliases)
        .filter((alias) => names.includes(alias)),
    ).toEqual([]);
    expect(findRepeated(Object.values(commands).flatMap(({ aliases = [] }) => aliases))).toEqual([]);
  });

  it('gives each name to one noun', () => {
    expect(findRepeated(nouns.flatMap(({ name, aliases }) => [name, ...aliases]))).toEqual([]);
  });

  it.each([...commands, ...groups])('of %s has a summary of one sentence without a full stop', (_, { summary }) => {
    expect(summary).toMatch(/^[A-Z].*[^.]$/);
  });

  it('says the same of a noun in the list of nouns and in its module', () => {
    const groups = tree.filter(({ node }) => node.kind === 'group');
    expect(groups.map(({ node }) => node.summary)).toEqual(groups.map(({ summary }) => summary));
  });

  it.each(commands.flatMap(([path, { examples }]) => examples.map(({ line }) => [line, path] as const)))(
    'parses its example %s',
    async (line) => {
      for (const words of readCloudLines(line)) {
        const { node, path, rest } = await findCommand(nouns, words);
        if (node?.kind !== 'command') throw new Error(`cloud ${words.join(' ')} is not a command`);
        expect(parseCommandLine(node, path, rest).wantsHelp).toBe(false);
      }
    },
  );
});

/** The words after each `cloud` of a line that a shell would run, as far as examples go: quotes, pipes, redirections, substitutions. */
function readCloudLines(line: string): string[][] {
  const inner = [...line.matchAll(/[$<]\(([^)]*)\)/g)].map(([, command = '']) => command);
  return [line.replaceAll(/[$<]\([^)]*\)/g, 'substituted'), ...inner]
    .flatMap((each) => each.split(/ (?:\||&&|;|>) /))
    .map((part) => part.trim())
    .filter((part) => part.startsWith('cloud '))
    .map((part) => (part.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []).slice(1).map((word) => word.replaceAll(/["']/g, '')));
}
