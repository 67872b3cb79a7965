import { lazily } from '../base/lazily.ts';
import { settings, settingNames, type Setting, type SettingName } from '../config/settings.ts';
import { choice, count, flag, text, type Option, type Options, type ValueSource } from './parameters.ts';

/** Output options, the same for every command. */
export const outputOptions = lazily(
  () =>
    ({
      output: choice('Output format', ['table', 'json', 'jsonl', 'yaml', 'csv', 'tsv', 'name'], { short: 'o', placeholder: 'FORM' }),
      json: flag('Same as --output json', { short: 'j' }),
      jq: text('Filter JSON output with a jq expression; strings print without quotes; -o jsonl filters each record', {
        placeholder: 'EXPR',
        // A filter that changes nothing.
        mayBeEmpty: true,
      }),
      columns: text('Fields to show: a,b,c or all', { placeholder: 'LIST', values: 'field-list' }),
      sort: text('Fields to sort by: a,-b', { placeholder: 'LIST', values: 'field-list' }),
      noHeader: flag('Omit the header line', { short: 'H' }),
      long: flag('Show more columns, and times and sizes in full', { short: 'l' }),
      color: choice('When to use colour', ['auto', 'always', 'never'], { placeholder: 'WHEN' }),
      noInput: flag('Never prompt; fail if input is needed'),
      noPager: flag('Do not pipe long tables to $PAGER'),
      quiet: flag('Write only errors to stderr', { short: 'q' }),
      verbose: count('Show each request and response; -vv adds headers and bodies', { short: 'v' }),
      curl: flag('Print the first request as a curl command instead of sending it'),
    }) satisfies Options,
);

/** Sources of values of settings, for completion. */
const sources: Partial<Record<SettingName, ValueSource>> = {
  profile: 'profile',
  user: 'user',
  role: 'role-list',
  keyFile: 'file',
  ca: 'file',
};

function optionOf(name: SettingName): Option {
  const setting: Setting = settings[name];
  if (setting.kind === 'flag') return flag(setting.help);
  const source = sources[name];
  return text(setting.help, {
    placeholder: setting.placeholder ?? 'TEXT',
    ...(source !== undefined && { values: source }),
  });
}

/** Options that are settings: the connection and the identity. */
export const settingOptions = lazily((): Options =>
  Object.fromEntries(settingNames.filter((name) => settings[name].given !== 'profile').map((name) => [name, optionOf(name)])),
);

/** All global options. */
export const globalOptions = lazily((): Options => ({ ...outputOptions(), ...settingOptions() }));

/** The settings among parsed global options, as text. */
export function pickSettings(values: Readonly<Record<string, unknown>>): Partial<Record<SettingName, string>> {
  const given = settingNames.filter((name) => settings[name].given !== 'profile' && values[name] !== undefined && values[name] !== false);
  return Object.fromEntries(given.map((name) => [name, String(values[name])]));
}
