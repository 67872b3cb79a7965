import type * as os from 'node:os';
import { expect, test, vi } from 'vitest';
import { canIdentify } from '../../../src/server/jobs/zone-place.ts';

vi.mock('node:os', async (load) => ({
  ...(await load<typeof os>()),
  userInfo: () => {
    throw new Error('ENOENT: uv_os_get_passwd');
  },
}));

test('a user without an entry in the user database can run jobs, as in containers', () => {
  const getuid = vi.spyOn(process, 'getuid').mockReturnValue(54_321);
  expect(canIdentify()).toBe(false);
  getuid.mockRestore();
});
