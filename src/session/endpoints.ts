import type { ServiceName } from '../api/operation.ts';
import { checkTransport } from '../client/client.ts';
import { kebab, readFlag, settings as settingTable, type Sources } from '../config/settings.ts';
import { UsageError } from '../base/errors.ts';

/** A setting is missing because no profile is in use. */
export class NoProfileError extends UsageError {}

/** The error for a missing setting, with a hint how to set it in the profile, or how to create a profile. */
export function explainMissing(settings: Sources, name: 'url' | 'storUrl' | 'account', words: string): UsageError {
  const profile = Object.values(settings).find(({ source }) => source.startsWith('profile '));
  if (profile) {
    const chosen = profile.source.slice('profile '.length);
    return new UsageError(`${profile.source} has no ${words}`, {
      hint: `cloud profile edit ${chosen} --${kebab(name)} ${settingTable[name].placeholder}`,
    });
  }
  return new NoProfileError(`no ${words} is known: there is no profile yet`, {
    hint: 'make a profile, which asks for what it needs: cloud profile create NAME\nor try everything on this machine: cloud local start',
  });
}

/** The value of a required setting. */
function requireSetting(settings: Sources, name: 'url' | 'storUrl', words: string): string {
  const found = settings[name];
  if (found === undefined) throw explainMissing(settings, name, words);
  return found.value;
}

/** The URL of a service. @throws {UsageError} when it is missing, or must not be used */
export function readUrl(settings: Sources, service: ServiceName): URL {
  const name = service === 'compute' ? 'url' : 'storUrl';
  const text = requireSetting(settings, name, service === 'compute' ? 'address of the compute service' : 'address of the object storage');
  if (!URL.canParse(text)) throw new UsageError(`${settings[name]?.source ?? name}: "${text}" is not a URL`);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw new UsageError(`${settings[name]?.source ?? name}: the URL holds a name or password, which these services do not take`, {
      hint: 'requests are signed with a key: leave out what stands before the @',
    });
  checkTransport(url, settings.allowHttp !== undefined && readFlag(settings.allowHttp));
  return url;
}
