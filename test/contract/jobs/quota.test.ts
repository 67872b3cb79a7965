import { afterAll, beforeAll, expect, test } from 'vitest';
import { readUsage, type Usage } from '../../../src/server/store/usage.ts';
import { createTestJobs, narrow, type Outcome, type TestJobs } from './harness.ts';

/** Outputs of tasks count for the quota of their account: what does not fit fails its task, and the job goes on. */

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs(narrow);
  for (const name of ['a', 'b', 'c']) await service.put(`/demo/stor/${name}`, `${name}\n`);
});
afterAll(() => service.close());

const usage = (): Promise<Usage> => readUsage(service.store.db, 'demo');

/** Lets `demo` have so much more than it has; without a limit where nothing is given. */
async function allow({ bytes, objects }: Partial<Usage>): Promise<void> {
  const used = await usage();
  const most = {
    most_bytes: bytes === undefined ? null : used.bytes + bytes,
    most_objects: objects === undefined ? null : used.objects + objects,
  };
  await service.store.db.updateTable('accounts').set(most).where('login', '=', 'demo').execute();
}

const inputs = ['/demo/stor/a', '/demo/stor/b', '/demo/stor/c'];
const codes = ({ errors }: Outcome): unknown[] => errors.map(({ code, input }) => [code, input]);
/** A large output of the input b, and small ones of others. */
const exec = 'read -r name; if [ $name = b ]; then head -c 100000 /dev/zero; else echo $name; fi';

test('an output that does not fit fails its task, and the others are stored', async () => {
  await allow({ bytes: 50_000 });
  const contents = await service.countContents();
  const outcome = await service.run([{ exec }, { type: 'reduce', exec: 'sort' }], inputs);
  expect([codes(outcome), outcome.contents]).toEqual([[['NotEnoughSpaceError', '/demo/stor/b']], ['a\nc\n']]);
  expect(outcome.errors[0]?.message).toMatch(
    /^the output cannot be stored: account demo may store \d+ bytes: it uses \d+, so 100000 more do not fit \(limit account-bytes\)$/u,
  );
  expect(outcome.job.stats).toMatchObject({ errors: 1, outputs: 1, tasksDone: 4 });
  // Nothing is left of what was refused.
  expect((await service.countContents()) - contents).toBeLessThan(10);
  expect((await usage()).bytes).toBeLessThan(50_000);
});

test('no more objects than there may be, whichever tasks come first', async () => {
  await allow({ objects: 2 });
  const { errors, outputs } = await service.run([{ exec: 'cat' }], inputs);
  expect([errors.map(({ code }) => code), outputs.length]).toEqual([['NotEnoughSpaceError'], 2]);
});

test('a named output is refused by its name, and one that makes less of what is there never is', async () => {
  await allow({});
  await service.put('/demo/stor/named', 'x'.repeat(5000));
  await allow({ bytes: 100 });
  const refused = await service.run([{ exec: 'head -c 9000 /dev/zero | mpipe ~~/stor/named' }], ['/demo/stor/a']);
  expect([codes(refused), refused.outputs]).toEqual([[['NotEnoughSpaceError', '/demo/stor/a']], []]);
  expect(refused.errors[0]?.message).toMatch(/^the output \/demo\/stor\/named cannot be stored: .* so 4000 more do not fit/u);
  await allow({ bytes: 1 });
  const stored = await service.run([{ exec: 'head -c 3000 /dev/zero | mpipe ~~/stor/named' }], ['/demo/stor/a']);
  expect([stored.errors, stored.outputs]).toEqual([[], ['/demo/stor/named']]);
  expect((await service.ask('GET', '/demo/stor/named')).text).toBe('\0'.repeat(3000));
});

test('what a task or an init that failed has said is left out', async () => {
  const say = 'head -c 5000 /dev/zero | tr "\\0" x >&2; exit 3';
  for (const [phase, code] of [
    [{ exec: say }, 'UserTaskError'],
    [{ exec: 'cat', init: say }, 'TaskInitError'],
  ] as const) {
    await allow({});
    const [whole] = (await service.run([phase], ['/demo/stor/a'])).errors;
    expect([whole?.code, typeof whole?.stderr]).toEqual([code, 'string']);
    await allow({ bytes: 1000 });
    const [without] = (await service.run([phase], ['/demo/stor/a'])).errors;
    expect([without?.code, without?.message, without?.stderr]).toEqual([code, whole?.message, undefined]);
  }
});

test('an account without limits of its own has those of the service', async () => {
  const limited = await createTestJobs({ serviceLimits: { accountBytes: 50_000 } });
  try {
    await limited.put('/demo/stor/b', 'b\n');
    const outcome = await limited.run([{ exec }], ['/demo/stor/b']);
    expect(codes(outcome)).toEqual([['NotEnoughSpaceError', '/demo/stor/b']]);
  } finally {
    await limited.close();
  }
});
