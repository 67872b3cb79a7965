import type { Context } from '../../cli/command.ts';
import { globalOptions } from '../../cli/globals.ts';
import { choice, flag, text, type Option, type Options } from '../../cli/parameters.ts';
import type { Profile } from '../../config/profiles.ts';
import { profileSettings, settings, type SettingName } from '../../config/settings.ts';
import { formats } from '../../output/kinds.ts';

function declareOption(name: SettingName): Option {
  const { kind, help } = settings[name];
  if (name === 'defaultOutput') return choice(help, formats);
  return kind === 'flag' ? flag(help) : text(help);
}

/** Settings of a profile that are not global options: options of `create` and `edit` only. */
export const ownOptions: Options = Object.fromEntries(
  profileSettings.filter((name) => !(name in globalOptions())).map((name) => [name, declareOption(name)]),
);

/** The settings given on the command line of `profile create` and `profile edit`. */
export function readGiven(context: Pick<Context, 'global'>, options: Readonly<Record<string, unknown>>): Profile['values'] {
  const all: Readonly<Record<string, unknown>> = { ...context.global, ...options };
  const given = profileSettings.filter((name) => all[name] !== undefined && all[name] !== false);
  return Object.fromEntries(given.map((name) => [name, String(all[name])]));
}

/** The fields of `showProfile`. */
export const profileFields = ['name', ...profileSettings];

/** A profile as a record. */
export function showProfile({ name, values }: Profile): object {
  return { name, ...values };
}
