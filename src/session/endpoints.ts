import type { ServiceName } from '../api/operation.ts';
import { assertNoCredentials, checkTransport } from '../client/transport.ts';
import { kebab, readFlag, settings as settingTable, type Sources } from '../config/settings.ts';
import { UsageError } from '../base/errors.ts';

/** A setting is missing because no profile is in use. */
export class NoProfileError extends UsageError {}

/** The error for a missing setting, with a hint how to set it in the profile, or how to create a profile. */
export function createUnsetError(settings: Sources, name: 'url' | 'storUrl' | 'account', words: string): UsageError {
  const found = Object.values(settings).find(({ source }) => source.startsWith('profile '));
  const profile = found?.source.slice('profile '.length) ?? settings.profile?.value;
  if (profile !== undefined) {
    const line = `cloud profile edit ${profile} --${kebab(name)} ${settingTable[name].placeholder}`;
    const isNamed = settings.profile?.source.startsWith('option ') === true;
    const hint = isNamed ? [line, `with --profile, ${settingTable[name].env} has no effect`] : line;
    return new UsageError(`profile ${profile} has no ${words}`, { hint });
  }
  return new NoProfileError(`no ${words} is known: there is no profile yet`, {
    hint: ['create a profile interactively: cloud profile create NAME', 'or try everything on this machine: cloud local start'],
  });
}

/** A hint that the environment names a key, which the profile that the user named lacks; none in any other case. */
export function adviseOnUnusedKey({ profile, keyId, keyFile }: Sources, env: Readonly<Record<string, string | undefined>>): string[] {
  if (profile?.source.startsWith('option ') !== true || keyId !== undefined || keyFile !== undefined) return [];
  const names = [settingTable.keyFile.env, settingTable.keyId.env].filter((name) => (env[name] ?? '') !== '');
  if (names.length === 0) return [];
  const variables = `${names.join(' and ')} ${names.length === 1 ? 'has' : 'have'}`;
  return [
    `with --profile, ${variables} no effect: give --key-file FILE, or set it in the profile: cloud profile edit ${profile.value} --key-file FILE`,
  ];
}

/** The URL of a service. @throws {UsageError} when it is missing, or must not be used */
export function readUrl(settings: Sources, service: ServiceName): URL {
  const name = service === 'compute' ? 'url' : 'storUrl';
  const found = settings[name];
  const words = service === 'compute' ? 'address of the compute service' : 'address of the object storage';
  if (found === undefined) throw createUnsetError(settings, name, words);
  const { value: text, source } = found;
  if (!URL.canParse(text)) throw new UsageError(`${source}: "${text}" is not a URL`);
  const url = new URL(text);
  assertNoCredentials(url, source);
  checkTransport(url, readFlag(settings.allowHttp));
  return url;
}
