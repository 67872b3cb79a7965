import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listSandboxes } from '../../support/job-sandboxes.ts';
import { createTestJobs, narrow, type TestJobs } from './harness.ts';

/**
 * Tasks that are made to overload the service which stores their outputs, too many or with holes that would become bytes, or to cripple the
 * tasks after them.
 */

const quota = 50_000_000;

/** Contents are files of this machine: other stores do not say how much room is left, and a copy of gigabytes would fill that of the tests. */
const onFiles = process.env['CLOUD_TEST_BYTES'] === undefined;

/** Bytes that the files of a job that is done have at most. */
const smallFiles = 100_000;

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs(narrow);
  await service.put('/demo/stor/a', 'a\n');
  await service.put('/demo/stor/b', 'b\n');
});
afterAll(() => service.close());

/** Bytes that the service is writing to files, or 0 when a file is gone meanwhile. */
function countWritten(): number {
  const folder = join(service.dir, 'tmp');
  if (!existsSync(folder)) return 0;
  return readdirSync(folder).reduce((sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** Runs a task. @returns its errors, and the bytes that the service wrote at the most */
async function attack(exec: string, disk?: number, on = service): Promise<{ errors: string[]; most: number }> {
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, countWritten())), 5);
  const { errors } = await on.run([{ exec, ...(disk !== undefined && { disk }) }], ['/demo/stor/a']);
  clearInterval(timer);
  return { errors: errors.map(({ code, message }) => `${code}: ${message}`), most };
}

/** Leaves outputs as the tools do: files with nothing but a hole. */
function emitHoles(count: number, size: string): string {
  return `mkdir -p $CLOUD_OUTPUTS; cd $CLOUD_OUTPUTS; for n in $(seq ${count}); do truncate -s ${size} $n.body; printf 'output\\0\\0\\0\\0\\0' >$n.head; done`;
}

test('outputs with holes are larger than the disk limit together: nothing is copied beyond it', async () => {
  const { errors, most } = await attack(emitHoles(3, '600M'), 1);
  expect(errors).toEqual(['UserTaskError: disk limit of 1 GB reached']);
  expect(most).toBeLessThan(smallFiles);
});

test('a list of outputs that is too long fails the task', async () => {
  const exec = `mkdir -p $CLOUD_OUTPUTS; cd $CLOUD_OUTPUTS; printf 'objects\\0\\0\\0\\0\\0' >0.head; yes /demo/stor/a | head -n 50001 | tr '\\n' '\\0' >0.body`;
  expect((await attack(exec)).errors).toEqual(['UserTaskError: the outputs of the task: they name more than 50000 objects']);
});

test.runIf(onFiles)('an output larger than the disk of the service is refused before it is copied', async () => {
  const { errors, most } = await attack('truncate -s 4P /proc/self/fd/1 || truncate -s 15T /proc/self/fd/1');
  expect(errors).toEqual([expect.stringMatching(/^NotEnoughSpaceError: .*disk of the service has \d+ bytes left/u)]);
  expect(most).toBeLessThan(smallFiles);
});

test.runIf(onFiles)('standard error that is larger than the disk is left out of the failure', async () => {
  const { errors, most } = await attack('{ truncate -s 4P /proc/self/fd/2 || truncate -s 15T /proc/self/fd/2; } 2>/dev/null; exit 3');
  expect(errors).toEqual(['UserTaskError: user command exited with code 3']);
  expect(most).toBeLessThan(smallFiles);
});

test('an output larger than the quota of the account is refused before it is copied', async () => {
  const small = await createTestJobs({ ...narrow, serviceLimits: { accountBytes: quota } });
  try {
    await small.put('/demo/stor/a', 'a\n');
    const { errors, most } = await attack('truncate -s 1G /proc/self/fd/1', undefined, small);
    expect(errors).toEqual([expect.stringMatching(/^NotEnoughSpaceError: .*account demo may store 50000000 bytes/u)]);
    expect(most).toBeLessThan(smallFiles);
  } finally {
    await small.close();
  }
});

test.runIf(onFiles)('a cancel aborts the copy of an output, and so does the end of the service', async () => {
  const exec = 'truncate -s 8G /proc/self/fd/1';
  const begin = async (): Promise<string> => {
    const id = await service.create([{ exec }]);
    await service.add(id, ['/demo/stor/a'], true);
    await expect.poll(countWritten, { interval: 5 }).toBeGreaterThan(0);
    return id;
  };
  const cancelled = await begin();
  expect((await service.ask('POST', `/demo/jobs/${cancelled}/live/cancel`)).status).toBe(202);
  const { errors } = await service.wait(cancelled, 5000);
  expect(errors.map(({ code }) => code)).toEqual(['JobCancelledError']);
  expect(countWritten()).toBe(0);

  const running = await begin();
  const begun = performance.now();
  await service.restart(async () => {
    expect(performance.now() - begun).toBeLessThan(5000);
    expect(countWritten()).toBe(0);
    expect((await service.state(running)).stats).toMatchObject({ tasksDone: 0, errors: 0 });
  });
  await service.ask('POST', `/demo/jobs/${running}/live/cancel`);
  await service.wait(running);
});

// Elsewhere the first process is that of this machine, or there is no filter of system calls.
test
  .skipIf(!listSandboxes().includes('bubblewrap'))
  .each([
    'prlimit --pid 1 --nofile=3:3',
    'prlimit --pid 1 --fsize=0:0',
    'prlimit --pid 1 --nproc=1:1',
    'renice -n 19 -p 1',
    'chrt -i -p 0 1',
    'ionice -c 3 -p 1',
  ])('a task does not change what runs the tasks after it: %s', async (command) => {
  const { contents, errors } = await service.run(
    [
      {
        exec: `renice -n 5 -p $$ >/dev/null || echo fails; nice -n 3 true; ulimit -n 100; ${command} >/dev/null 2>&1 && echo changed; cat`,
      },
    ],
    ['/demo/stor/a', '/demo/stor/b'],
  );
  expect([contents.toSorted(), errors]).toEqual([['a\n', 'b\n'], []]);
});
