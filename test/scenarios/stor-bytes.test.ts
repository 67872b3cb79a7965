import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';
import { useHere } from '../support/run-here.ts';

/** Names that are not UTF-8: Node.js shows them with U+FFFD, under which there may be another file or directory. */

const user = useShared('--http');
const here = useHere();

beforeAll(async () => {
  await user.shell(
    `mkdir $'d\\xff' $'d\\uFFFD'; echo theirs > $'d\\xff/theirs'; echo mine > $'d\\uFFFD/mine'; mkdir remote; echo r > remote/r`,
  );
  await user.here(['stor', 'put', '-r', 'remote', 'x', '-q']);
  await user.here(['stor', 'put', 'remote/r', 'd\uFFFD', '-q']);
});

const refusal = 'the name is not valid UTF-8';

test.each([
  `sync stor:x $'d\\xff' --delete`,
  `sync $'d\\xff' stor:y`,
  `get x/r $'d\\xff/r'`,
  `get -r x $'d\\xff'`,
  `put $'d\\xff/theirs' y`,
  `sync stor:x remote --plan $'d\\xff/plan'`,
  `rm -y $'d\\xff'`,
])('cloud stor %s is refused', async (line) => {
  const { code, stderr } = await user.shell(`cloud stor ${line}`);
  expect([code, stderr.includes(refusal)]).toEqual([2, true]);
});

test.each([`get -r x`, `get -r x .`, `sync stor:x . --delete`, `put -r . y`])(
  'cloud stor %s in such a directory is refused',
  async (line) => {
    const { code, stderr } = await user.shell(`cd $'d\\xff' && cloud stor ${line}`);
    expect([code, stderr.includes(refusal)]).toEqual([2, true]);
    const below = await user.shell(`mkdir -p $'d\\xff/below' && cd $'d\\xff/below' && cloud stor ${line}`);
    expect([below.code, below.stderr.includes(refusal)]).toEqual([2, true]);
  },
);

test('nothing was done by what was refused, and U+FFFD itself is a character like others', async () => {
  expect(readdirSync(join(user.home, 'd\uFFFD'))).toEqual(['mine']);
  expect((await user.here(['stor', 'stat', 'y'])).code).toBe(3);
  expect((await user.shell(`cloud stor sync stor:x $'d\\uFFFD' -q; ls $'d\\uFFFD'`)).stdout).toBe('mine\nr\n');
  expect((await user.shell(`cd $'d\\uFFFD' && cloud stor get x/r again -q && cat again`)).stdout).toBe('r\n');
  expect((await user.here(['stor', 'cat', 'd\uFFFD'])).stdout).toBe('r\n');
});

test('where the system does not say the bytes of arguments, every U+FFFD of a local path is refused', async () => {
  const env = { CLOUD_STOR_URL: 'http://127.0.0.1:1', CLOUD_URL: 'http://127.0.0.1:1' };
  const { code, err } = await here.run(['stor', 'get', 'x', 'd\uFFFD'], { env, hidesBytes: true });
  expect([code, err.includes(refusal)]).toEqual([2, true]);
});
