import type { AnyCommand, Example, Group, Noun } from './command.ts';
import { kebab } from '../config/settings.ts';
import { wrap as wrapLine } from '../output/width.ts';
import { optionTopics, type Argument, type Option, type Options, type OptionTopic } from './parameters.ts';

/** Number of examples in help; the manual shows all. */
const shownExamples = 3;

/** Wraps text between words and keeps its line breaks. */
function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((paragraph) => wrapLine(paragraph, width));
}

/** Two columns: names, and their explanations wrapped beside them. */
function printTable(rows: readonly (readonly [string, string])[], width: number): string[] {
  const longest = Math.max(...rows.map(([name]) => name.length));
  const indent = Math.min(longest, 30) + 4;
  return rows.flatMap(([name, help]) => {
    const [first = '', ...others] = wrap(help, Math.max(20, width - indent));
    const head = name.length + 4 > indent ? [`  ${name}`, ' '.repeat(indent) + first] : [`  ${name.padEnd(indent - 2)}${first}`];
    return [...head, ...others.map((line) => ' '.repeat(indent) + line)];
  });
}

/** An argument in a usage line: `KEY...`, `[NAME]`. */
export function printArgument(name: string, { optional, variadic }: Argument): string {
  const word = kebab(name).toUpperCase() + (variadic ? '...' : '');
  return optional ? `[${word}]` : word;
}

/** An option in help: `-o, --output FORM`. */
function printOption(name: string, option: Option): string {
  const short = option.short === undefined ? '    ' : `-${option.short}, `;
  const long = option.kind === 'negatable' ? `--[no-]${kebab(name)}` : `--${kebab(name)}`;
  return `${short}${long}${option.placeholder === undefined ? '' : ` ${option.placeholder}`}`;
}

function optionRows(options: Options): [string, string][] {
  return Object.entries(options).map(([name, option]) => {
    const choices = option.choices && option.placeholder !== option.choices.join('|') ? `: ${option.choices.join(', ')}` : '';
    return [printOption(name, option), `${option.help}${choices}`];
  });
}

export function printUsage(path: readonly string[], declared: AnyCommand): string {
  const args =
    declared.usage ??
    Object.entries(declared.arguments)
      .map(([name, argument]) => printArgument(name, argument))
      .join(' ');
  return ['cloud', ...path, args, '[OPTION...]'].filter((part) => part !== '').join(' ');
}

/** Breaks an example before an option or a pipe where it is wider than the terminal. */
function breakExample(line: string, width: number): string[] {
  const lines: string[] = [];
  for (const part of line.match(/(?:"[^"]*"|'[^']*'|[^"' ]| (?![-|"]))+/g) ?? [line]) {
    const joined = `${lines.at(-1) ?? ' '} ${part}`;
    if (lines.length > 0 && joined.length > width - 2) lines.push(`    ${part}`);
    else lines.splice(-1, 1, joined);
  }
  return lines.map((each, at) => (at < lines.length - 1 ? `${each} \\` : each));
}

function printExamples(examples: readonly Example[], width: number): string[] {
  return examples.length === 0
    ? []
    : ['', 'Examples:', ...examples.flatMap(({ line, help }) => [`  # ${help}`, ...breakExample(line, width)])];
}

function printArguments(declared: AnyCommand, width: number): string[] {
  const rows = Object.entries(declared.arguments).map(([name, argument]): [string, string] => [
    printArgument(name, argument),
    argument.help,
  ]);
  return rows.length === 0 ? [] : ['', 'Arguments:', ...printTable(rows, width)];
}

/** The command's own options, and one line for each topic of options that it shares with other commands. */
function printOwnOptions({ options }: AnyCommand, width: number): string[] {
  const own = Object.fromEntries(Object.entries(options).filter(([, { topic }]) => topic === undefined));
  const rows = optionRows(own);
  const shared = (Object.keys(optionTopics) as OptionTopic[]).flatMap((topic) => {
    const [first, ...rest] = Object.entries(options).filter(([, option]) => option.topic === topic);
    if (first === undefined) return [];
    return wrap(`${optionTopics[topic]} (--${kebab(first[0])}${rest.length > 0 ? ', ...' : ''}): cloud help ${topic}`, width);
  });
  return [...(rows.length === 0 ? [] : ['', 'Options:', ...printTable(rows, width)]), '', ...shared];
}

/** Help of a command: examples first, so that they are on the first screen. */
export function printCommandHelp(path: readonly string[], declared: AnyCommand, width: number): string {
  const lines = [
    ...wrap(`${declared.summary}.`, width),
    '',
    'Usage:',
    `  ${printUsage(path, declared)}`,
    ...printExamples(declared.examples.slice(0, shownExamples), width),
    ...(declared.description === undefined ? [] : ['', ...wrap(declared.description, width)]),
    ...printArguments(declared, width),
    ...printOwnOptions(declared, width),
    ...wrap(`Global options: cloud help options. Manual: man cloud-${path[0] ?? ''}`, width),
  ];
  return `${lines.join('\n')}\n`;
}

/** A topic of options, as a table. */
export function printOptionTopic(title: string, options: Options, width: number): string[] {
  return [`${title}:`, ...printTable(optionRows(options), width)];
}

/** The first example of each command of a noun. */
function listExamples({ commands }: Group): Example[] {
  return Object.values(commands).flatMap((child) => (child.kind === 'group' ? listExamples(child) : child.examples.slice(0, 1)));
}

/** Help of a noun: its verbs. */
export function printGroupHelp(path: readonly string[], declared: Group, width: number): string {
  const rows = Object.entries(declared.commands).map(([name, child]): [string, string] => [
    child.kind === 'group'
      ? `${name} ...`
      : [name, ...Object.entries(child.arguments).map(([word, argument]) => printArgument(word, argument))].join(' '),
    child.summary,
  ]);
  const line = ['cloud', ...path].join(' ');
  const lines = [
    ...wrap(`${declared.summary}.`, width),
    '',
    'Usage:',
    `  ${line} COMMAND [ARGUMENT...] [OPTION...]`,
    ...(declared.description === undefined ? [] : ['', ...wrap(declared.description, width)]),
    ...printExamples(listExamples(declared).slice(0, 1), width),
    '',
    'Commands:',
    ...printTable(rows, width),
    '',
    ...wrap(`Run "${line} COMMAND --help" for a command's arguments, options and examples.`, width),
  ];
  return `${lines.join('\n')}\n`;
}

export function printRootHelp(nouns: readonly Noun[], width: number): string {
  const sections = [...new Set(nouns.map(({ section }) => section))];
  const lines = [
    'cloud manages a cloud and its object storage from the command line.',
    '',
    'Usage:',
    '  cloud COMMAND [ARGUMENT...] [OPTION...]',
    ...sections.flatMap((section) => [
      '',
      `${section}:`,
      ...printTable(
        nouns.filter((noun) => noun.section === section).map(({ name, summary }) => [name, summary]),
        width,
      ),
    ]),
    '',
    'Options:',
    ...printTable(
      [
        ['-h, --help', 'Help for any command: cloud images list --help'],
        ['    --version', 'The version of this program'],
      ],
      width,
    ),
    '',
    'Options of every command: cloud help options',
    'Topics, such as signing and scripting: cloud help --help',
    '',
    'Try everything without an account: cloud local try',
  ];
  return `${lines.join('\n')}\n`;
}
