import { expect, test } from 'vitest';
import { redactBody, redactPasswords, redactQuery, redactUrls } from '../../../src/base/redact.ts';

const part = (name: string): string => `--edge\r\nContent-Disposition: form-data; ${name}\r\n\r\nhunter2\r\n--x\r\n`;

test.each([
  ['{"login":"a","password":"hunter2"}', '{"login":"a","password":"(redacted)"}'],
  ['{"pass\\u0077ord" : "hunter2","a":1}', '{"pass\\u0077ord" : "(redacted)","a":1}'],
  ['{"Password":"hunter2', '{"Password":"(redacted)"'],
  ['{"password":"\\"hunter2\\', '{"password":"(redacted)"'],
  ['{"password":["hunter2"],"a":["password","kept"]}', '{"password":["(redacted)"],"a":["password","kept"]}'],
  ['{"password_confirmation":-12.5,"a":"password"}', '{"password_confirmation":"(redacted)","a":"password"}'],
  ['{"password":null,"a":"?password=kept"}', '{"password":"(redacted)","a":"?password=kept"}'],
  ['login=a&password=hunter2&b=c', 'login=a&password=(redacted)&b=c'],
  ['%70assword=hunter2=&password%5Fconfirmation=hunter2', '%70assword=(redacted)&password%5Fconfirmation=(redacted)'],
  ['a plain text: 100% "of" it', 'a plain text: 100% "of" it'],
  [`${part('name="login"')}--edge--`, `${part('name="login"')}--edge--`],
  [part('name="password"'), '--edge\r\nContent-Disposition: form-data; name="password"\r\n\r\n(redacted)\r\n'],
  [
    `before\r\n${part('filename="f"; name=password')}--edge--\r\n`,
    'before\r\n--edge\r\nContent-Disposition: form-data; filename="f"; name=password\r\n\r\n(redacted)\r\n--edge--\r\n',
  ],
])('passwords in bodies are redacted, in JSON and forms, whole or truncated: %j', (body, shown) => {
  expect(redactBody(body)).toBe(shown);
});

test('in queries, names count decoded; a request that is printed to be sent keeps its signature', () => {
  const url = 'https://h/a&password=b?x=1&%73ignature=s3cret&PASSWORD=hunter2&pass+word=kept&signature';
  expect(redactQuery(url)).toBe('https://h/a&password=b?x=1&%73ignature=(redacted)&PASSWORD=(redacted)&pass+word=kept&signature');
  expect(redactPasswords(url)).toBe('https://h/a&password=b?x=1&%73ignature=s3cret&PASSWORD=(redacted)&pass+word=kept&signature');
  expect(redactUrls("cannot reach 'https://h/b?x=1&%73ignature=s3cret', or b?password=c")).toBe(
    "cannot reach 'https://h/b?x=1&%73ignature=(redacted)', or b?password=(redacted)",
  );
});

test.each([
  ['/a?keyId=k&amp;signature=s3cret&amp;b=c', '/a?keyId=k&amp;signature=(redacted)&amp;b=c'],
  ['/a?keyId=k;expires=1;%73ignature=s3cret', '/a?keyId=k;expires=1;%73ignature=(redacted)'],
  ['/a?password=hunter2;x=hunter2&b=c;d', '/a?password=(redacted)&b=c;d'],
])('a semicolon before a name hides no signature, and one in a value none of it: %s', (url, shown) => {
  expect([redactQuery(url), redactUrls(`cannot reach ${url}`)]).toEqual([shown, `cannot reach ${shown}`]);
});
