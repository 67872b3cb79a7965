import type { ServiceName } from '../api/operation.ts';
import { assertNoCredentials, checkTransport } from '../client/client.ts';
import { kebab, readFlag, settings as settingTable, type Sources } from '../config/settings.ts';
import { UsageError } from '../base/errors.ts';

/** A setting is missing because no profile is in use. */
export class NoProfileError extends UsageError {}

/** The error for a missing setting, with a hint how to set it in the profile, or how to create a profile. */
export function explainMissing(settings: Sources, name: 'url' | 'storUrl' | 'account', words: string): UsageError {
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

/** The URL of a service. @throws {UsageError} when it is missing, or must not be used */
export function readUrl(settings: Sources, service: ServiceName): URL {
  const name = service === 'compute' ? 'url' : 'storUrl';
  const found = settings[name];
  const words = service === 'compute' ? 'address of the compute service' : 'address of the object storage';
  if (found === undefined) throw explainMissing(settings, name, words);
  const { value: text, source } = found;
  if (!URL.canParse(text)) throw new UsageError(`${source}: "${text}" is not a URL`);
  const url = new URL(text);
  assertNoCredentials(url, source);
  checkTransport(url, readFlag(settings.allowHttp));
  return url;
}
