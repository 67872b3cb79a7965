import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { addUser, createRsaKey } from '../../support/service.ts';
import { createTestStorage } from '../storage/harness.ts';
import { createTestJobs, type TestJobs } from './harness.ts';

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs();
  await service.put('/demo/stor/a', 'a\n');
  await service.mkdir('/demo/stor/dir');
});
afterAll(() => service.close());

describe('tasks that fail', () => {
  test('a command that exits with 3', async () => {
    const { id, errors, failures, outputs, job } = await service.run([{ exec: 'echo lost; echo why >&2; exit 3' }], ['/demo/stor/a']);
    expect([outputs, failures]).toEqual([[], ['/demo/stor/a']]);
    const [error] = errors;
    expect(error).toEqual({
      taskId: expect.any(String) as unknown,
      phaseNum: '0',
      what: 'phase 0: input "/demo/stor/a"',
      code: 'UserTaskError',
      message: 'user command exited with code 3',
      server: 'east-1',
      machine: expect.any(String) as unknown,
      input: '/demo/stor/a',
      p0input: '/demo/stor/a',
      stderr: expect.stringContaining(`/demo/jobs/${id}/stor/demo/stor/a.0.err.`) as unknown,
    });
    expect((await service.ask('GET', error?.stderr ?? '')).text).toBe('why\n');
    expect(job.stats).toEqual({ errors: 1, outputs: 0, retries: 0, tasks: 1, tasksDone: 1 });
  });

  test('one that a signal ends is told from one that exits with the same number', async () => {
    const signalled = await service.run([{ exec: 'kill -TERM $$' }], ['/demo/stor/a']);
    expect(signalled.errors.map(({ message }) => message)).toEqual(['user command terminated by SIGTERM']);
    const exited = await service.run([{ exec: 'exit 143' }], ['/demo/stor/a']);
    expect(exited.errors.map(({ message }) => message)).toEqual(['user command exited with code 143']);
  });

  test('a core file is kept where the kernel writes one', async () => {
    const { errors } = await service.run([{ exec: 'kill -ABRT $$' }], ['/demo/stor/a']);
    expect(errors.map(({ code, message }) => [code, message])).toEqual([['UserTaskError', 'user command terminated by SIGABRT']]);
    const { core } = errors[0] ?? {};
    if (core === undefined) return;
    expect(core).toMatch(/\/stor\/demo\/stor\/a\.0\.core\.[0-9a-f-]{36}$/u);
    const { bytes } = await service.ask('GET', core);
    expect(Buffer.from(bytes.subarray(0, 4)).toString('latin1')).toBe('\u007fELF');
  });

  test('what cannot be read: nothing there, a directory, another account, no path at all', async () => {
    await service.put('/demo/public/open', 'open\n');
    const put = await service.storage('PUT', '/other/stor/x', {
      signing: { key: service.otherKey, keyId: `/other/keys/${service.otherKey.fingerprint}` },
    });
    expect(put.status).toBe(204);
    const inputs = [
      '/demo/stor/none',
      '/demo/stor/dir',
      '/other/stor/x',
      '/nobody/stor/x',
      'stor/a',
      '/demo/stor/../x',
      '/demo/public/open',
    ];
    const { errors, failures, contents } = await service.run([{ exec: 'cat' }], inputs);
    expect(contents).toEqual(['open\n']);
    expect(failures.sort()).toEqual(inputs.slice(0, -1).sort());
    expect(Object.fromEntries(errors.map(({ input, code, message }) => [input, [code, message]]))).toEqual({
      '/demo/stor/none': ['EJ_NOENT', 'no such object: "/demo/stor/none"'],
      '/demo/stor/dir': ['EJ_NOENT', 'a directory, not an object: "/demo/stor/dir"'],
      '/other/stor/x': ['EJ_ACCES', 'permission denied: "/other/stor/x"'],
      '/nobody/stor/x': ['EJ_NOENT', 'no such object: "/nobody/stor/x"'],
      'stor/a': ['EJ_NOENT', 'not the path of an object: "stor/a"'],
      '/demo/stor/../x': ['EJ_NOENT', expect.stringContaining('a path cannot have the component') as unknown],
    });
  });

  test('inputs are read with the rights of the creator', async () => {
    const key = createRsaKey();
    await addUser(service.store, service.account, 'ann', key);
    const id = await service.create([{ exec: 'cat' }]);
    const user = await service.store.db.selectFrom('users').select('id').where('login', '=', 'ann').executeTakeFirstOrThrow();
    await service.restart(async () => {
      await service.store.write(async (transaction) => {
        await transaction.updateTable('jobs').set({ user: user.id }).where('id', '=', id).execute();
      });
    });
    await service.add(id, ['/demo/stor/a'], true);
    const { errors } = await service.wait(id);
    expect(errors.map(({ code, message }) => [code, message])).toEqual([['EJ_ACCES', 'permission denied: "/demo/stor/a"']]);
  });

  test('reducers go on without the inputs that cannot be read', async () => {
    const { errors, contents, failures } = await service.run([{ type: 'reduce', exec: 'cat' }], ['/demo/stor/none', '/demo/stor/a']);
    expect(contents).toEqual(['a\n']);
    expect(failures).toEqual(['/demo/stor/none']);
    expect(errors.map(({ what, code }) => [what, code])).toEqual([['phase 0: input "/demo/stor/none"', 'EJ_NOENT']]);
  });

  test('a reducer that fails', async () => {
    const { errors, failures } = await service.run([{ type: 'reduce', exec: 'exit 1' }], ['/demo/stor/a']);
    expect(failures).toEqual([]);
    expect(errors[0]).toMatchObject({ what: 'phase 0: reduce', code: 'UserTaskError', message: 'user command exited with code 1' });
    expect(errors[0]?.input).toBeUndefined();
  });

  test('a failure in a later phase names the object it was about and the first input', async () => {
    const { errors, failures } = await service.run([{ exec: 'cat' }, { exec: 'exit 9' }], ['/demo/stor/a']);
    expect(failures).toEqual(['/demo/stor/a']);
    expect(errors[0]).toMatchObject({ phaseNum: '1', p0input: '/demo/stor/a', input: expect.stringContaining('/jobs/') as unknown });
  });

  test('a failing init', async () => {
    const phases = [{ init: 'echo broken >&2; exit 7', exec: 'cat' }];
    const { errors, job } = await service.run(phases, ['/demo/stor/a', '/demo/stor/a']);
    expect(errors.map(({ code, message }) => [code, message])).toEqual(
      Array.from({ length: 2 }, () => ['TaskInitError', 'init command exited with code 7']),
    );
    expect((await service.ask('GET', errors[0]?.stderr ?? '')).text).toBe('broken\n');
    expect(job.stats.tasksDone).toBe(2);
  });

  test('an asset that is not there', async () => {
    const { errors } = await service.run([{ exec: 'cat', assets: ['/demo/stor/nothing'] }], ['/demo/stor/a']);
    expect(errors.map(({ code, message }) => [code, message])).toEqual([
      ['TaskInitError', 'failed to load asset "/demo/stor/nothing": no such object: "/demo/stor/nothing"'],
    ]);
  });

  test('a task that takes too long is killed, and the others go on', async () => {
    const limited = await createTestJobs({ timeLimit: 1500 });
    try {
      await limited.put('/demo/stor/slow', '1000');
      await limited.put('/demo/stor/a', 'a\n');
      const exec = 'read n; [ "$n" != 1000 ] || sleep 1000; echo $n';
      const { errors, contents } = await limited.run([{ exec }], ['/demo/stor/slow', '/demo/stor/a']);
      expect(contents).toEqual(['a\n']);
      expect(errors.map(({ code, message }) => [code, message])).toEqual([
        ['TaskKilledError', 'user command took longer than 1.5 s and was killed'],
      ]);
    } finally {
      await limited.close();
    }
  });

  test('memory is limited', async () => {
    const exec = 'dd if=/dev/zero of=/dev/null bs=64M count=1 status=none && echo fits';
    const { contents, errors } = await service.run([{ exec, memory: 40 }], ['/demo/stor/a']);
    expect(contents).toEqual([]);
    expect(errors[0]?.code).toBe('UserTaskError');
    expect((await service.run([{ exec }], ['/demo/stor/a'])).contents).toEqual(['fits\n']);
  });

  test('a task that kills its runner is given up after three times', async () => {
    const { createOpenIsolation } = await import('../../../src/server/jobs/isolation.ts');
    const open = await createTestJobs({ isolation: createOpenIsolation('/bin/bash') });
    try {
      await open.put('/demo/stor/a', 'a\n');
      const { errors, job } = await open.run([{ exec: 'kill -KILL $PPID' }], ['/demo/stor/a']);
      expect(errors.map(({ code }) => code)).toEqual(['InternalError']);
      expect(job.stats.retries).toBe(2);
    } finally {
      await open.close();
    }
  });

  test('tasks whose inputs could not be looked up, as the database failed, are claimed again', async () => {
    const { claimTasks } = await import('../../../src/server/jobs/claims.ts');
    const { loadJob } = await import('../../../src/server/jobs/active-job.ts');
    const idle = await createTestStorage({ startJobs: () => ({ wake: () => undefined, close: () => Promise.resolve() }) });
    try {
      await idle.put('/demo/stor/a', 'a\n');
      const { headers } = await idle.ask('POST', '/demo/jobs', { json: { phases: [{ exec: 'cat' }] } });
      const location = headers['location'] ?? '';
      await idle.ask('POST', `${location}/live/in`, { body: '/demo/stor/a\n/demo/stor/a\n' });
      const { db } = idle.store;
      const job = await loadJob(db, location.split('/').at(-1) ?? '');
      const [phase] = job?.phases ?? [];
      if (!job || !phase) throw new Error('no job');
      const select = db.selectFrom.bind(db);
      const failing = vi.spyOn(db, 'selectFrom').mockImplementationOnce(select);
      failing.mockImplementationOnce(() => {
        throw new Error('disk I/O error');
      });
      await expect(claimTasks(idle.store, job, phase, 10)).rejects.toThrow('disk I/O error');
      failing.mockRestore();
      expect((await claimTasks(idle.store, job, phase, 10)).tasks).toHaveLength(2);
    } finally {
      await idle.close();
    }
  });
});
