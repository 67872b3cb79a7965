import { UsageError } from '../base/errors.ts';

/** Which URLs of services are used. */

export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

/** @param source option or setting that the URL is from @throws {UsageError} for a URL with a user name or password, which it does not show */
export function assertNoCredentials({ username, password }: URL, source: string): void {
  if (username === '' && password === '') return;
  throw new UsageError(`${source}: the URL contains a user name or password, which these services do not accept`, {
    hint: 'requests are signed with a key: remove the part before the @',
  });
}

/** Plain HTTP exposes signatures and data: allowed only to this machine, or when the profile allows it. */
export function checkTransport(url: URL, allowHttp: boolean): void {
  if (url.protocol === 'https:') return;
  if (url.protocol !== 'http:')
    throw new UsageError(`${url.href}: not an https URL`, { hint: 'give a URL such as https://cloud.example.com' });
  if (isLoopback(url) || allowHttp) return;
  throw new UsageError(`${url.origin} is not protected by TLS: no request was sent`, {
    hint: 'use an https URL, or allow plain HTTP in the profile: cloud profile edit --allow-http',
  });
}
