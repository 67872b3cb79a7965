import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { measureContent } from '../../support/byte-stores.ts';
import { runsOnPostgres } from '../../support/cluster-database.ts';
import { createOpenIsolation } from '../../../src/server/jobs/isolation.ts';
import { addUser, createRsaKey } from '../../support/service.ts';
import { createTestStorage } from '../storage/harness.ts';
import { chooseByName, createTestJobs, narrow, resultOf, type Outcome, type TestJobs } from './harness.ts';

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs(narrow);
  await service.put('/demo/stor/a', 'a\n');
  await service.mkdir('/demo/stor/dir');
});
afterAll(() => service.close());

describe('tasks of one job', () => {
  // The pattern of core files is the machine's: where it is a pipe none is left in the sandbox.
  const pattern = readFileSync('/proc/sys/kernel/core_pattern', 'utf8').trim();
  const leavesCores = /^core(?:\.%p)?$/u.test(pattern);
  const ended = [
    ['exit 130', 'user command exited with code 130'],
    ['exit 131', 'user command exited with code 131'],
    ['exit 141', 'user command exited with code 141'],
    ['exit 143', 'user command exited with code 143'],
    ['kill -TERM $$', 'user command terminated by SIGTERM'],
    ['kill -INT $$', 'user command terminated by SIGINT'],
    ['kill -PIPE $$', 'user command terminated by SIGPIPE'],
    ['exec sh -c "kill -QUIT \\$\\$"', 'user command terminated by SIGQUIT'],
    ['kill -KILL $$', 'user command terminated by SIGKILL'],
  ] as const;
  const dumping = [
    ['(kill -SEGV $BASHPID); echo fine; exit 0', 'user command or child process dumped core'],
    ['mkdir -p d/e; (cd d/e; kill -ABRT $BASHPID); true', 'user command or child process dumped core'],
    ['(kill -SEGV $BASHPID); exit 4', 'user command exited with code 4'],
  ] as const;
  let outcome: Outcome;
  beforeAll(async () => {
    const numbered = (name: string, rows: readonly (readonly [string, string])[]): [string, string][] =>
      rows.map(([exec], at) => [`${name}-${at}`, exec]);
    const commands = {
      three: 'echo lost; echo why >&2; exit 3',
      ...Object.fromEntries([...numbered('ended', ended), ...numbered('dumping', dumping)]),
      ignored: 'grep SigIgn /proc/self/status; trap',
      called: 'echo text > core; mkdir core.1; cp /bin/true core.2; ln -s /etc/passwd core.3; echo done',
      abort: 'kill -ABRT $$',
      large: 'dd if=/dev/zero of=/dev/null bs=64M count=1 status=none && echo fits',
    };
    const inputs = Object.keys(commands).map((name) => `/demo/stor/${name}`);
    for (const input of inputs) await service.put(input, '');
    outcome = await service.run([{ exec: chooseByName(commands) }], [...inputs, '/demo/stor/called']);
  });
  const resultAt = (name: string): ReturnType<typeof resultOf> => resultOf(outcome, `/demo/stor/${name}`);
  const readStart = async (path = ''): Promise<string> =>
    Buffer.from((await service.ask('GET', path)).bytes.subarray(0, 4)).toString('latin1');

  test('a command that exits with 3', async () => {
    const { contents, errors } = resultAt('three');
    expect([contents, outcome.failures.includes('/demo/stor/three')]).toEqual([[], true]);
    expect(errors).toEqual([
      {
        taskId: expect.any(String) as unknown,
        phaseNum: 0,
        what: 'phase 0: input "/demo/stor/three"',
        code: 'UserTaskError',
        message: 'user command exited with code 3',
        server: 'east-1',
        machine: expect.any(String) as unknown,
        input: '/demo/stor/three',
        p0input: '/demo/stor/three',
        stderr: expect.stringContaining(`/demo/jobs/${outcome.id}/stor/demo/stor/three.0.err.`) as unknown,
      },
    ]);
    expect((await service.ask('GET', errors[0]?.stderr ?? '')).text).toBe('why\n');
    // All inputs have succeeded or failed, once; `called` is there twice.
    const { stats } = outcome.job;
    expect(stats).toMatchObject({ retries: 0, tasks: 18, tasksDone: 18, errors: outcome.errors.length, outputs: outcome.outputs.length });
    expect([stats.errors + stats.outputs, new Set(outcome.failures).size]).toEqual([18, stats.errors]);
  });

  test('exit codes are told from signals', () => {
    for (const [at, [exec, message]] of ended.entries()) {
      const { contents, errors } = resultAt(`ended-${at}`);
      expect([errors.map((error) => error.message), contents], exec).toEqual([[message], []]);
    }
  });

  test('SIGINT and SIGQUIT have their default action in tasks and in init', async () => {
    expect(resultAt('ignored').contents.map((text) => text.trim())).toEqual(['SigIgn:\t0000000000000000']);
    const init = await service.run([{ init: 'kill -INT $$', exec: 'cat' }], ['/demo/stor/a']);
    expect(init.errors.map(({ message }) => message)).toEqual(['init command terminated by SIGINT']);
  });

  test(`a child that dumps core fails the task, where the kernel leaves a file (${pattern})`, async () => {
    for (const [at, [exec, message]] of dumping.entries()) {
      const { contents, errors } = resultAt(`dumping-${at}`);
      expect(contents.length + errors.length, exec).toBe(1);
      if (!leavesCores) continue;
      expect([errors.map(({ code, message: told }) => [code, told]), contents], exec).toEqual([[['UserTaskError', message]], []]);
      expect(await readStart(errors[0]?.core), exec).toBe('\u007fELF');
    }
  });

  test('a file or directory of the task that is only called core fails nothing', () => {
    expect(resultAt('called')).toEqual({ contents: ['done\n', 'done\n'], errors: [] });
  });

  test('a core file is kept where the kernel writes one', async () => {
    const { errors } = resultAt('abort');
    expect(errors.map(({ code, message }) => [code, message])).toEqual([['UserTaskError', 'user command terminated by SIGABRT']]);
    const { core } = errors[0] ?? {};
    if (core === undefined) return;
    expect(core).toMatch(/\/stor\/demo\/stor\/abort\.0\.core\.[0-9a-f-]{36}$/u);
    expect(await readStart(core)).toBe('\u007fELF');
  });

  test('memory is limited where the phase says so', async () => {
    expect(resultAt('large')).toEqual({ contents: ['fits\n'], errors: [] });
    const exec = 'dd if=/dev/zero of=/dev/null bs=64M count=1 status=none && echo fits';
    const { contents, errors } = await service.run([{ exec, memory: 40 }], ['/demo/stor/a']);
    expect([contents, errors.map(({ code }) => code)]).toEqual([[], ['UserTaskError']]);
  });
});

describe('tasks that fail', () => {
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

  test('reducers go on without the inputs that cannot be read; one that fails names no input', async () => {
    const inputs = ['/demo/stor/a', '/demo/stor/none', '/demo/stor/a', '/demo/stor/a'];
    const exec = '[ $MANTA_REDUCER = 1 ] || exit 1; cat';
    const { errors, contents, failures } = await service.run([{ type: 'reduce', count: 2, exec }], inputs);
    expect([contents, failures]).toEqual([['a\n'], ['/demo/stor/none']]);
    const [missing, failed] = errors.toSorted(({ code: left }, { code: right }) => (left < right ? -1 : 1));
    expect([errors.length, missing?.what, missing?.code]).toEqual([2, 'phase 0: input "/demo/stor/none"', 'EJ_NOENT']);
    expect(failed).toMatchObject({ what: 'phase 0: reduce', code: 'UserTaskError', message: 'user command exited with code 1' });
    expect(failed).not.toHaveProperty('input');
  });

  test('a failure in a later phase names the object it was about and the first input', async () => {
    const { errors, failures } = await service.run([{ exec: 'cat' }, { exec: 'exit 9' }], ['/demo/stor/a']);
    expect(failures).toEqual(['/demo/stor/a']);
    expect(errors[0]).toMatchObject({ phaseNum: 1, p0input: '/demo/stor/a', input: expect.stringContaining('/jobs/') as unknown });
  });

  test('an input that fails as several objects of a later phase is one failed input, live and in the archive', async () => {
    await service.put('/demo/stor/empty', '');
    const split = 'if [ -s "$MANTA_INPUT_FILE" ]; then for n in 1 2 3; do echo $n | mpipe; done; else echo ok; fi';
    const { id, failures, errors } = await service.run([{ exec: split }, { exec: 'grep ok' }], ['/demo/stor/a', '/demo/stor/empty']);
    expect(errors.map(({ p0input }) => p0input)).toEqual(['/demo/stor/a', '/demo/stor/a', '/demo/stor/a']);
    expect(failures).toEqual(['/demo/stor/a']);
    expect((await service.ask('HEAD', `/demo/jobs/${id}/live/fail`)).headers['result-set-size']).toBe('1');
    expect(await service.lines(`/demo/jobs/${id}/fail.txt`)).toEqual(['/demo/stor/a']);
  });

  test('an object that a reducer cannot read names the first input that it came from', async () => {
    const inputs = ['/demo/stor/a', '/demo/stor/other'];
    await service.put('/demo/stor/other', 'b\n');
    const phases = [{ exec: chooseByName({ a: 'mcat /demo/stor/nope', other: 'cat' }) }, { type: 'reduce', exec: 'wc -c' } as const];
    const { contents, errors, failures } = await service.run(phases, inputs);
    const what = 'phase 1: input "/demo/stor/nope"';
    expect(errors).toMatchObject([{ what, code: 'EJ_NOENT', input: '/demo/stor/nope', p0input: '/demo/stor/a' }]);
    expect([contents.map((text) => text.trim()), failures]).toEqual([['2'], ['/demo/stor/a']]);
  });

  test('behind a reduce no input is named: what failed there is none that was added', async () => {
    const { errors, failures } = await service.run([{ type: 'reduce', exec: 'cat' }, { exec: 'false' }], ['/demo/stor/a']);
    expect(errors).toMatchObject([{ phaseNum: 1, input: expect.stringContaining('/stor/reduce.0.') as string }]);
    expect([Object.keys(errors[0] ?? {}).includes('p0input'), failures]).toEqual([false, []]);
  });

  test('records always name a server and a machine: the zone, or the server where none was made, as for an asset that is not there', async () => {
    const missing = await service.run([{ exec: 'cat' }], ['/demo/stor/none']);
    expect(missing.errors).toMatchObject([{ phaseNum: 0, server: 'east-1', machine: 'east-1' }]);
    const asset = await service.run([{ exec: 'cat', assets: ['/demo/stor/none'] }], ['/demo/stor/a']);
    expect(asset.errors).toMatchObject([{ code: 'TaskInitError', server: 'east-1', machine: 'east-1' }]);
    expect(asset.errors.map(({ message }) => message)).toEqual([
      'failed to load asset "/demo/stor/none": no such object: "/demo/stor/none"',
    ]);
    const phases = [{ init: 'echo broken >&2; exit 7', exec: 'cat' }];
    const init = await service.run(phases, ['/demo/stor/a', '/demo/stor/a']);
    const failed = { code: 'TaskInitError', message: 'init command exited with code 7', server: 'east-1' };
    const told = { ...failed, machine: expect.stringMatching(/^[0-9a-f-]{36}$/u) as unknown };
    expect(init.errors, 'a failing init').toMatchObject([told, told]);
    expect((await service.ask('GET', init.errors[0]?.stderr ?? '')).text).toBe('broken\n');
    expect(init.job.stats.tasksDone).toBe(2);
    const raw = await service.lines(`/demo/jobs/${init.id}/live/err`);
    expect(raw[0]).toContain('"phaseNum":0');
  });

  test('inputs with characters of every kind come back in their errors as they were given', async () => {
    const inputs = ['/demo/stor/"quoted"', "/demo/stor/$& $1 $'", '/demo/stor/\\ \t', '/demo/stor/ünï→☃', 'x'];
    const { errors, failures } = await service.run([{ exec: 'cat' }], inputs);
    expect(failures.toSorted()).toEqual(inputs.toSorted());
    for (const { input = '', p0input, what, message } of errors) {
      expect([p0input, what]).toEqual([input, `phase 0: input "${input}"`]);
      expect(message).toContain(`: "${input}"`);
    }
  });

  test('many errors of the same cause take little room, live and in the archive, and none of it is lost', async () => {
    const count = 5000;
    const { db } = service.store;
    const measure = async (): Promise<number> => {
      const sqlite = sql<{ size: number }>`select (page_count - freelist_count) * page_size as size
        from pragma_page_count(), pragma_freelist_count(), pragma_page_size()`;
      // What was replaced is not free again before the next vacuum; the bare rows are what counts.
      const postgres = sql<{ size: number }>`select sum(pg_column_size(e)) as size from job_errors e`;
      const { rows } = await (runsOnPostgres() ? postgres : sqlite).execute(db);
      let size = rows[0]?.size ?? 0;
      for await (const content of service.store.bytes.list()) size += await measureContent(service.dir, content);
      return size;
    };
    const before = await measure();
    const id = await service.create([{ exec: 'cat' }]);
    await service.add(
      id,
      Array.from({ length: count }, () => 'x'),
      true,
    );
    const { errors, job } = await service.wait(id, 60_000);
    const grown = (await measure()) - before;
    expect(grown / count).toBeLessThan(200);
    expect([errors.length, job.stats.errors, new Set(errors.map(({ taskId }) => taskId)).size]).toEqual([count, count, count]);
    const archived = await service.ask('GET', `/demo/jobs/${id}/err.txt`);
    expect(archived.text).toBe(errors.map((error) => `${JSON.stringify(error)}\n`).join(''));
    expect(archived.headers['content-md5']).toBe(createHash('md5').update(archived.text).digest('base64'));
    const part = await service.ask('GET', `/demo/jobs/${id}/err.txt`, { headers: { range: 'bytes=1000000-1000099' } });
    expect([part.status, part.text]).toEqual([206, archived.text.slice(1_000_000, 1_000_100)]);
    const read = await service.run([{ exec: 'grep -c EJ_NOENT' }], [`/demo/jobs/${id}/err.txt`]);
    expect(read.contents).toEqual([`${count}\n`]);
  });

  test('a task that takes too long is killed, and the others go on', async () => {
    const limited = await createTestJobs({ ...narrow, timeLimit: 1500 });
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

  test('a task that kills its runner is given up after three times', async () => {
    const open = await createTestJobs({ isolation: 'none' });
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
    const { createTaskLeases } = await import('../../../src/server/jobs/leases.ts');
    const detected = Promise.resolve({ isolation: createOpenIsolation('/bin/bash') });
    const idle = await createTestStorage({
      startJobs: () => ({ wake: () => undefined, problemOf: () => undefined, close: () => Promise.resolve(), detected }),
    });
    try {
      await idle.put('/demo/stor/a', 'a\n');
      const { headers } = await idle.ask('POST', '/demo/jobs', { json: { phases: [{ exec: 'cat' }] } });
      const location = headers['location'] ?? '';
      await idle.ask('POST', `${location}/live/in`, { body: '/demo/stor/a\n/demo/stor/a\n' });
      const { db } = idle.store;
      const job = await loadJob(db, location.split('/').at(-1) ?? '', Date.now);
      const [phase] = job?.phases ?? [];
      if (!job || !phase) throw new Error('no job');
      const select = db.selectFrom.bind(db);
      const failing = vi.spyOn(db, 'selectFrom').mockImplementation(((table: 'entries') => {
        if (table === 'entries') throw new Error('disk I/O error');
        return select(table);
      }) as typeof select);
      const leases = createTaskLeases(idle.store, 'an engine');
      await expect(claimTasks(idle.store, leases, job, phase, 10)).rejects.toThrow('disk I/O error');
      failing.mockRestore();
      expect((await claimTasks(idle.store, leases, job, phase, 10)).tasks).toHaveLength(2);
    } finally {
      await idle.close();
    }
  });
});
