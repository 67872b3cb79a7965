import { readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');

function timeOf(name: string): bigint {
  return statSync(join(user.home, name), { bigint: true }).mtimeNs;
}

test('a time before 1970 comes back as it was', async () => {
  user.write('old/moon', 'landing');
  // As text: a negative number means now.
  utimesSync(join(user.home, 'old/moon'), '-14182940.25', '-14182940.25');
  user.write('old/war', 'over');
  utimesSync(join(user.home, 'old/war'), '-780000000', '-780000000');
  expect((await user.here(['stor', 'put', '-r', 'old', 'old', '-q'])).code).toBe(0);
  expect((await user.here(['stor', 'get', '-r', 'old', 'back', '-q'])).code).toBe(0);
  expect([timeOf('back/moon'), timeOf('back/war')]).toEqual([-14_182_940_250_000_000n, -780_000_000_000_000_000n]);
  expect(await user.json('stor', 'sync', '-n', 'stor:old', 'back')).toEqual([]);
});

test('times go up in nanoseconds, and what went there and back three times is not sent again', async () => {
  for (let number = 0; number < 20; number += 1) user.write(`round0/f${number}`, `${number}`);
  await user.shell('touch -d "2024-05-06T07:08:09.123456789Z" round0/f0; touch -d "1999-12-31T23:59:59.999999999Z" round0/f1');
  for (let trip = 0; trip < 3; trip += 1) {
    await user.here(['stor', 'put', '-r', `round${trip}`, `round${trip}`, '-q']);
    await user.here(['stor', 'get', '-r', `round${trip}`, `round${trip + 1}`, '-q']);
  }
  const headers = await user.json<Record<string, string>>('stor', 'meta', 'get', 'round0/f0');
  expect(headers['m-mtime']).toBe('2024-05-06T07:08:09.123456789Z');
  for (const [local, remote] of [
    ['round0', 'round0'],
    ['round0', 'round2'],
    ['round3', 'round0'],
  ]) {
    expect(await user.json('stor', 'sync', '-n', local ?? '', `stor:${remote ?? ''}`)).toEqual([]);
    expect(await user.json('stor', 'sync', '-n', `stor:${remote ?? ''}`, local ?? '')).toEqual([]);
  }
  for (const name of readdirSync(join(user.home, 'round0'))) {
    const difference = timeOf(`round3/${name}`) - timeOf(`round0/${name}`);
    expect(difference < 4000n && difference > -4000n).toBe(true);
  }
});

test('times of other tools, in whole milliseconds or seconds, are compared as exactly as they are', async () => {
  user.write('tool/a', 'a');
  await user.shell('touch -d "2024-05-06T07:08:09.123456789Z" tool/a');
  await user.here(['stor', 'put', '-r', 'tool', 'tool', '-q']);
  for (const [time, steps] of [
    ['2024-05-06T07:08:09.123Z', 0],
    ['2024-05-06T07:08:09', 0],
    ['1714979289', 0],
    ['2024-05-06T07:08:09.124Z', 0],
    ['2024-05-06T07:08:09.125Z', 1],
    ['2024-05-06T07:08:11Z', 1],
  ] as const) {
    await user.here(['stor', 'meta', 'set', 'tool/a', `mtime=${time}`, '-q']);
    expect([time, await user.json('stor', 'sync', '-n', 'tool', 'stor:tool')]).toEqual([
      time,
      Array.from({ length: steps }, () => expect.anything() as unknown),
    ]);
  }
});
