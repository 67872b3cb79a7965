import { quoteShell } from '../base/quote.ts';
import { kebab } from '../config/settings.ts';
import { pickSettings } from './globals.ts';

/** Options that choose the service and the account. The user and the key are left out: some hints are for the account or another key. */
const chosen = new Set(['profile', 'account', 'url', 'storUrl', 'ca', 'insecure']);

/** A command line at the beginning of a line or after a colon, unless its command sends no requests or takes the profile as an argument. */
const commandLine = /(^|: )cloud (?!(?:alias|completion|env|help|keys local|local|profile|resume|server|version)\b)(?!.*--help$)(.*)$/gm;

/**
 * Adds the options that chose the service to the command lines of a hint: without them, a line would act on the service of the current
 * profile.
 * @param globals values of the global options on the command line
 */
export function repeatConnection(hint: string, globals: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(pickSettings(globals)).filter(([name]) => chosen.has(name));
  return hint.replaceAll(commandLine, (_, before: string, line: string) => {
    const missing = given.filter(([name]) => !new RegExp(`--${kebab(name)}(?:[ =]|$)`).test(line));
    const options = missing.map(([name, value]) => (name === 'insecure' ? '--insecure' : `--${kebab(name)} ${quoteShell(value)}`));
    return `${before}${['cloud', ...options, line].join(' ')}`;
  });
}
