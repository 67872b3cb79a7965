import { quoteShell } from '../base/quote.ts';
import { kebab } from '../config/settings.ts';
import { pickSettings } from './globals.ts';

/** Options that choose the service and the account. The user and the key are left out: some hints are for the account or another key. */
const chosen = new Set(['profile', 'account', 'url', 'storUrl', 'ca', 'insecure']);

/** A command line at the beginning of a line or after a colon, unless its command sends no requests or takes the profile as an argument. */
const commandLine = /(^|: )cloud (?!(?:alias|completion|env|help|keys local|local|profile|resume|server|version)\b)(?!.*--help$)(.*)$/gm;

/** Adds the options that a command line of a hint lacks, at its beginning or end. @param options their names in kebab case, and values */
function addOptions(line: string, options: readonly (readonly [name: string, value: string | undefined])[], isLast: boolean): string {
  const missing = options.filter(([name]) => !new RegExp(`--${name}(?:[ =]|$)`).test(line));
  const words = missing.map(([name, value]) => (value === undefined ? `--${name}` : `--${name} ${quoteShell(value)}`));
  return (isLast ? [line, ...words] : [...words, line]).join(' ');
}

function changeLines(hint: string, change: (line: string) => string): string {
  return hint.replaceAll(commandLine, (_, before: string, line: string) => `${before}cloud ${change(line)}`);
}

/**
 * Adds the options that chose the service to the command lines of a hint: without them, a line would act on the service of the current
 * profile.
 * @param globals values of the global options on the command line
 */
export function repeatConnection(hint: string, globals: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(pickSettings(globals)).filter(([name]) => chosen.has(name));
  const options = given.map(([name, value]) => [kebab(name), name === 'insecure' ? undefined : value] as const);
  return changeLines(hint, (line) => addOptions(line, options, false));
}

/** Adds `--dc` to the command lines of a hint that list what a datacenter has. */
export function repeatDatacenter(hint: string, dc: string): string {
  return changeLines(hint, (line) => (/^[a-z]+ list$/.test(line) ? addOptions(line, [['dc', dc]], true) : line));
}
