import type { AnyCommand, Example, Group, Noun } from './command.ts';
import { outputOptions, settingOptions } from './globals.ts';
import { kebab } from '../config/settings.ts';
import { wrap as wrapLine } from '../output/width.ts';
import type { Argument, Option, Options } from './parameters.ts';

/** Breaks text into lines between words; its own line breaks stay. */
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

/** An argument as it stands in a usage line: `KEY...`, `[NAME]`. */
export function printArgument(name: string, { optional, variadic }: Argument): string {
  const word = kebab(name).toUpperCase() + (variadic ? '...' : '');
  return optional ? `[${word}]` : word;
}

/** An option as help shows it: `-o, --output FORM`. */
export function printOption(name: string, option: Option): string {
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

/** The usage line of a command. */
export function printUsage(path: readonly string[], declared: AnyCommand): string {
  const args =
    declared.usage ??
    Object.entries(declared.arguments)
      .map(([name, argument]) => printArgument(name, argument))
      .join(' ');
  return ['cloud', ...path, args, '[OPTION...]'].filter((part) => part !== '').join(' ');
}

/** A line to type, continued before an option or a pipe where it is wider than the terminal. */
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

/** Help of a command. */
export function printCommandHelp(path: readonly string[], declared: AnyCommand, width: number): string {
  const args = Object.entries(declared.arguments).map(([name, argument]): [string, string] => [
    printArgument(name, argument),
    argument.help,
  ]);
  const own = optionRows(declared.options);
  const lines = [
    ...wrap(`${declared.summary}.`, width),
    '',
    'Usage:',
    `  ${printUsage(path, declared)}`,
    ...(declared.description === undefined ? [] : ['', ...wrap(declared.description, width)]),
    ...(args.length === 0 ? [] : ['', 'Arguments:', ...printTable(args, width)]),
    ...(own.length === 0 ? [] : ['', 'Options:', ...printTable(own, width)]),
    '',
    'Output options:',
    ...printTable(optionRows(outputOptions), width),
    '',
    'Connection options:',
    ...printTable([...optionRows(settingOptions), ['-h, --help', 'This text']], width),
    ...printExamples(declared.examples, width),
  ];
  return `${lines.join('\n')}\n`;
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
    '',
    'Commands:',
    ...printTable(rows, width),
    '',
    ...wrap(`Run "${line} COMMAND --help" for a command's arguments, options and examples.`, width),
  ];
  return `${lines.join('\n')}\n`;
}

/** The text of `cloud --help`. */
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
        ['-h, --help', 'Help of any command: cloud images list --help'],
        ['    --version', 'The version of this program'],
      ],
      width,
    ),
    '',
    ...wrap(
      `Every command takes the output options ${Object.keys(outputOptions)
        .slice(0, 6)
        .map((name) => `--${kebab(name)}`)
        .join(', ')}, and options that say where to connect and as whom.`,
      width,
    ),
    '',
    'Try everything without an account: cloud local try',
  ];
  return `${lines.join('\n')}\n`;
}
