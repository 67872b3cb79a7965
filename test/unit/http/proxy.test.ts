import { expect, test } from 'vitest';
import { UsageError } from '../../../src/base/errors.ts';
import { findProxy } from '../../../src/http/proxy.ts';

test.each([
  ['https://[fd00::10]/', 'fd00::10', true],
  ['https://[fd00::10]/', '[fd00::10]', true],
  ['https://[fd00::10]/', 'fd00:0:0::10', true],
  ['https://[fd00::10]:8443/', '[fd00::10]:8443', true],
  ['https://[fd00::10]/', '[fd00::10]:8443', false],
  ['https://[fd00::10]/', 'fd00::1', false],
  ['https://a.test:8443/', 'a.test:8443', true],
  ['https://a.test/', 'a.test:8443', false],
])('%s with no_proxy=%s is reached directly: %s', (url, no_proxy, isDirect) => {
  const proxy = findProxy(new URL(url), { https_proxy: 'http://proxy.test:3128', no_proxy });
  expect(proxy === undefined).toBe(isDirect);
});

test('a percent sign in the password of a proxy is an error that does not show the password', () => {
  const find = (https_proxy: string) => findProxy(new URL('https://a.test/'), { https_proxy });
  expect(find('http://me:a%25b@proxy.test:3128')?.credentials).toBe('me:a%b');
  expect(find('http://proxy.test:3128')?.credentials).toBeUndefined();
  expect(() => find('http://me:sesame%@proxy.test:3128')).toThrow(UsageError);
  expect(() => find('http://me:sesame%@proxy.test:3128')).not.toThrow(/sesame/);
});
