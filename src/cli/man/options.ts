import { kebab } from '../../config/settings.ts';
import { printArgument } from '../help.ts';
import type { Argument, Option, Options } from '../parameters.ts';
import { bold, entry, italic } from './roff.ts';

function describeChoices({ choices, placeholder }: Option): string {
  return choices && placeholder !== choices.join('|') ? `: ${choices.join(', ')}` : '';
}

function printName(name: string, { short, kind, placeholder }: Option): string {
  const long = kind === 'negatable' ? `${bold(`--${kebab(name)}`)}, ${bold(`--no-${kebab(name)}`)}` : bold(`--${kebab(name)}`);
  const names = short === undefined ? long : `${bold(`-${short}`)}, ${long}`;
  return placeholder === undefined ? names : `${names} ${italic(placeholder)}`;
}

export function printOptions(options: Options): string[] {
  return Object.entries(options).flatMap(([name, option]) => entry(printName(name, option), `${option.help}${describeChoices(option)}.`));
}

export function printArguments(args: Readonly<Record<string, Argument>>): string[] {
  return Object.entries(args).flatMap(([name, argument]) => {
    const choices = argument.choices ? `: ${argument.choices.join(', ')}` : '';
    return entry(italic(printArgument(name, argument)), `${argument.help}${choices}.`);
  });
}
