import { expect, test } from 'vitest';
import { describeCores } from '../../../src/commands/doctor/machine.ts';

test.each(['core', 'core.%p'])('the pattern %s leaves core files of tasks where the service finds them', (pattern) => {
  expect(describeCores(pattern)).toBeUndefined();
});

test.each(['|/usr/lib/systemd/systemd-coredump %P', '/var/crash/core.%e', '%e.core'])('doctor says that %s does not', (pattern) => {
  expect(describeCores(pattern)).toMatchObject({
    check: 'cores',
    status: 'ok',
    detail: expect.stringContaining(`writes them to ${pattern}`) as string,
  });
});
