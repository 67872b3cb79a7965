import { expect, test } from 'vitest';
import { repeatConnection, repeatDatacenter } from '../../../src/cli/hint.ts';

const given = { profile: 'my east', user: 'jill', timeout: '3s', insecure: true };

test.each([
  ['cloud images list', "cloud --profile 'my east' --insecure images list"],
  ['did you mean b?\ncloud keys list', "did you mean b?\ncloud --profile 'my east' --insecure keys list"],
  ['to create it: cloud stor mkdir -p a', "to create it: cloud --profile 'my east' --insecure stor mkdir -p a"],
  ['again: cloud stor put -p a b --profile=x', 'again: cloud --insecure stor put -p a b --profile=x'],
  ['cloud stor get --help', 'cloud stor get --help'],
  ['cloud profile list', 'cloud profile list'],
  ['cloud resume 3f', 'cloud resume 3f'],
  ['use cloud stor put or cp', 'use cloud stor put or cp'],
])('the hint "%s" is "%s" with --profile and --insecure', (hint, repeated) => {
  expect(repeatConnection(hint, given)).toBe(repeated);
  expect(repeatConnection(hint, {})).toBe(hint);
});

test.each([
  ['cloud keys list', "cloud keys list --dc 'my east'"],
  ['did you mean b?\nto list them: cloud keys list', "did you mean b?\nto list them: cloud keys list --dc 'my east'"],
  ['cloud profile list', 'cloud profile list'],
  ['cloud stor ls a', 'cloud stor ls a'],
])('the hint "%s" is "%s" for a datacenter', (hint, repeated) => {
  expect(repeatDatacenter(hint, 'my east')).toBe(repeated);
});
