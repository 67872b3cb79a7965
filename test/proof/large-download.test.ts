import { expect, test } from 'vitest';
import { useLocal } from '../support/sandbox.ts';

const user = useLocal();

test('a long body comes whole over a TLS session that is resumed', async () => {
  const { code, stdout, stderr } = await user.shell(`head -c 48M /dev/urandom > large && cloud stor put large large -q
for name in 1 2 3; do cloud stor get large back -q --timeout 5s --retries 0 && cmp large back && echo same; done`);
  expect([code, stdout, stderr]).toEqual([0, 'same\nsame\nsame\n', '']);
});
