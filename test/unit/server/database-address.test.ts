import { describe, expect, test } from 'vitest';
import { explainConnection, findAddressProblem, readAddress } from '../../../src/server/store/postgres/address.ts';

/** URLs of databases, as libpq reads them. */

const secret = 'hush-hush';

describe('a URL', () => {
  test.each([
    `postgresql://cloud:${secret}@more@db.example.com/cloud`,
    `postgresql://cloud:${secret}#more@db.example.com/cloud`,
    `postgresql://cloud:12/${secret}@db.example.com/cloud`,
    `postgresql://cloud:12?${secret}@db.example.com/cloud`,
  ])('whose password has special characters is refused, and not shown: %s', (url) => {
    const found = findAddressProblem(url);
    expect(found?.problem).toContain('must be percent-encoded');
    expect(JSON.stringify(found)).not.toContain(secret);
  });

  test.each([
    ['mysql://db/cloud', 'must be the URL of a PostgreSQL database'],
    ['postgresql://db/cloud?sslmode=always', 'sslmode=always is not known'],
    ['postgresql://db/cloud?connect_time=5', 'connect_time is not a known parameter'],
    ['postgresql://db/cloud?sslmode=verify-ca', 'needs sslrootcert'],
  ])('%s is refused', (url, problem) => {
    expect(findAddressProblem(url)?.problem).toContain(problem);
  });

  test.each(['postgresql:///cloud?host=/run/postgresql&user=cloud', 'postgres://c%40d:p%23@[::1]:5433/cloud?sslmode=require'])(
    '%s is accepted',
    (url) => {
      expect(findAddressProblem(url)).toBeUndefined();
    },
  );
});

test.each([
  ['', { isOptional: true, ssl: { rejectUnauthorized: false } }],
  ['?sslmode=disable', { isOptional: false, ssl: false }],
  ['?sslmode=require', { isOptional: false, ssl: { rejectUnauthorized: false } }],
  ['?sslmode=verify-full', { isOptional: false, ssl: {} }],
  ['?host=/run/postgresql&sslmode=require', { isOptional: false, ssl: false }],
])('encryption for %s', (query, expected) => {
  const { connectionString, ...address } = readAddress(`postgresql://db/cloud${query}`);
  expect([address, connectionString.includes('ssl')]).toEqual([expected, false]);
});

test('a certificate that cannot be read is named', () => {
  expect(() => readAddress('postgresql://db/cloud?sslmode=verify-full&sslrootcert=/none.pem')).toThrow('sslrootcert=/none.pem');
});

test.each([
  ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'a password is required'],
  ['The server does not support SSL connections', 'the server offers no encryption'],
  ['', 'no connection'],
])('"%s" is explained', (message, reason) => {
  expect(explainConnection(new Error(message)).reason).toBe(reason);
});

test('a pooler that refuses time limits is not taken for a database that is not there', () => {
  const { hint } = explainConnection(new Error('unsupported startup parameter: statement_timeout'));
  expect(hint).toContain('ignore_startup_parameters = statement_timeout');
});
