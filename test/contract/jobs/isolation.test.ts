import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runsOnPostgres } from '../../support/cluster-database.ts';
import type { IsolationKind } from '../../../src/api/isolation.ts';
import { listSandboxes } from '../../support/job-sandboxes.ts';
import { createTestJobs, type TestJobs } from './harness.ts';

/** Processes with just this command line; ps is the witness. */
function countProcesses(line: string): number {
  const lines = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n');
  return lines.filter((each) => each.trim() === line).length;
}

/** Command lines that no process of another run of these tests has. */
const staying = `sleep ${process.pid}.4711`;
const waiting = `sleep ${process.pid}.4712`;

const kinds: readonly IsolationKind[] = [...listSandboxes(), 'none'];

describe.each(kinds)('tasks with isolation %s', (isolation) => {
  let service: TestJobs;
  beforeAll(async () => {
    process.env['SECRET_OF_THE_SERVICE'] = 'seen';
    service = await createTestJobs({ isolation });
    await service.put('/demo/stor/a', 'a\n');
    await service.put('/demo/stor/b', 'b\n');
  });
  afterAll(async () => {
    delete process.env['SECRET_OF_THE_SERVICE'];
    await service.close();
  });

  // A program alone is run without a shell.
  test.each(['env', 'env; true'])('find an environment without the variables of the service: %s', async (exec) => {
    const { contents, id } = await service.run([{ exec }], ['/demo/stor/a']);
    const variables = Object.fromEntries((contents[0] ?? '').split('\n').map((line) => line.split(/=(.*)/u, 2)));
    expect(
      Object.keys(variables)
        .filter((name) => !/^(?:MANTA_|CLOUD_|_$)/u.test(name))
        .sort(),
    ).toEqual(['', 'HOME', 'LANG', 'PATH', 'PWD', 'SHLVL', 'TMPDIR'].sort());
    expect(variables).toMatchObject({
      MANTA_INPUT_OBJECT: '/demo/stor/a',
      CLOUD_INPUT_OBJECT: '/demo/stor/a',
      MANTA_JOB_ID: id,
      MANTA_USER: 'demo',
      MANTA_URL: 'https://storage.test',
      CLOUD_URL: 'https://storage.test',
      MANTA_OUTPUT_BASE: `/demo/jobs/${id}/stor/demo/stor/a.0.`,
    });
  });

  test('have no descriptors but the three', async () => {
    const { contents } = await service.run([{ exec: 'for f in /dev/fd/*; do [ ! -e "$f" ] || echo "${f##*/}"; done' }], ['/demo/stor/a']);
    expect(contents).toEqual(['0\n1\n2\n']);
    const reduced = await service.run(
      [{ type: 'reduce', exec: 'for f in /dev/fd/*; do [ ! -e "$f" ] || echo "${f##*/}"; done' }],
      ['/demo/stor/a'],
    );
    expect(reduced.contents).toEqual(['0\n1\n2\n']);
  });

  test('begin each in an empty directory of their own, with an output of their own', async () => {
    const inputs = Array.from({ length: 9 }, (_, index) => `/demo/stor/${'aab'[index % 3] ?? ''}`);
    const exec = 'ls -A | wc -l; touch left; mkdir -p d && chmod 0 d; grep -q b || exit 0; seq 3000';
    const { contents, errors } = await service.run([{ exec }], inputs);
    expect(errors).toEqual([]);
    expect(contents.map((text) => text.split('\n').length - 1).sort((a, b) => a - b)).toEqual([1, 1, 1, 1, 1, 1, 3001, 3001, 3001]);
    expect(new Set(contents.map((text) => text.split('\n')[0]?.trim()))).toEqual(new Set(['0']));
  });

  test('cannot change the object they read', async () => {
    await service.run([{ exec: 'echo changed > "$MANTA_INPUT_FILE"; echo changed > /dev/stdin; true' }], ['/demo/stor/a']);
    expect((await service.ask('GET', '/demo/stor/a')).text).toBe('a\n');
  });

  test('leave no process behind', async () => {
    const { contents } = await service.run([{ exec: `${staying} & cat` }], ['/demo/stor/a', '/demo/stor/b']);
    expect(contents.sort()).toEqual(['a\n', 'b\n']);
    await expect.poll(() => countProcesses(staying)).toBe(0);
  });

  test('are gone after a cancel, grandchildren in sessions of their own too', async () => {
    const id = await service.create([{ exec: `setsid ${waiting} & (${waiting}; true) & ${waiting}` }]);
    await service.add(id, ['/demo/stor/a', '/demo/stor/b']);
    // Three processes of each of the two tasks: from now on both run.
    await expect.poll(() => countProcesses(waiting)).toBe(6);
    expect((await service.ask('POST', `/demo/jobs/${id}/live/cancel`)).status).toBe(202);
    const { job, errors } = await service.wait(id);
    await expect.poll(() => countProcesses(waiting)).toBe(0);
    expect(job).toMatchObject({ state: 'done', cancelled: true, inputDone: true });
    expect(new Set(errors.map(({ code, message }) => `${code}: ${message}`))).toEqual(new Set(['JobCancelledError: job was cancelled']));
    expect(errors.map(({ input }) => input ?? '').toSorted((left, right) => (left < right ? -1 : 1))).toEqual([
      '/demo/stor/a',
      '/demo/stor/b',
    ]);
  });

  test('keep their output and those after them when they remove all they can', async () => {
    const inputs = Array.from({ length: 8 }, (_, index) => `/demo/stor/${index % 2 === 0 ? 'a' : 'b'}`);
    const { contents, errors } = await service.run([{ exec: 'rm -rf "${TMPDIR%/*}"/* 2>/dev/null; cat' }], inputs);
    expect(errors).toEqual([]);
    expect(contents.sort().join('')).toBe('a\na\na\na\nb\nb\nb\nb\n');
  });

  test('a zone leaves no files behind', async () => {
    await service.run([{ exec: 'mkdir -p d/e; touch d/e/f; chmod 0 d' }], ['/demo/stor/a']);
    await expect.poll(() => readdirSync(`${service.dir}/zones`)).toEqual([]);
  });

  test('see neither the data of the service nor the home of its user, nor a network, in a sandbox', async () => {
    const decoy = mkdtempSync(join(homedir(), '.cloud-decoy-'));
    try {
      const places = [service.dir, join(service.dir, 'bytes'), homedir(), decoy].filter((path) => existsSync(path));
      const seen = places.map((path) => `[ ! -e '${path}' ] || echo "sees ${path}"`);
      const exec = `${seen.join('; ')}; grep -c : /proc/net/dev; ls -d /proc/[0-9]* | wc -l`;
      const { contents } = await service.run([{ exec }], ['/demo/stor/a']);
      const lines = (contents[0] ?? '').trim().split('\n');
      const [interfaces, processes] = lines.slice(-2).map(Number);
      if (isolation === 'none') {
        expect(lines.filter((line) => line.startsWith('sees'))).toHaveLength(places.length);
        return;
      }
      expect([lines.length, interfaces]).toEqual([2, 1]);
      expect(processes).toBeLessThan(10);
    } finally {
      rmSync(decoy, { recursive: true });
    }
  });
});

describe('over a restart', () => {
  test('a job goes on, with one output an input', async () => {
    const service = await createTestJobs();
    try {
      const inputs = Array.from({ length: 40 }, (_, index) => `/demo/stor/n${index}`);
      for (const input of inputs) await service.put(input, `${input}\n`);
      const id = await service.create([{ exec: 'sleep 0.02; cat' }]);
      await service.add(id, inputs, true);
      await expect.poll(async () => (await service.state(id)).stats.tasksDone).toBeGreaterThan(3);
      await service.restart(async () => {
        const { tasksDone } = (await service.state(id)).stats;
        expect(tasksDone).toBeLessThan(40);
        await sleep(20);
      });
      const { contents, errors, job } = await service.wait(id);
      expect(errors).toEqual([]);
      expect(contents.sort()).toEqual(inputs.map((input) => `${input}\n`).sort());
      expect(job.stats).toMatchObject({ tasks: 40, tasksDone: 40, outputs: 40 });
    } finally {
      await service.close();
    }
  });

  test('open files do not grow with the tasks', async () => {
    const service = await createTestJobs();
    try {
      await service.put('/demo/stor/a', 'a');
      const countFiles = (): number => readdirSync('/proc/self/fd').length;
      await service.run(
        [{ exec: 'cat' }],
        Array.from({ length: 5 }, () => '/demo/stor/a'),
      );
      const before = countFiles();
      const { outputs } = await service.run(
        [{ exec: 'cat' }],
        Array.from({ length: 100 }, () => '/demo/stor/a'),
      );
      expect(outputs).toHaveLength(100);
      // A database of its own has up to 12 connections.
      expect(countFiles()).toBeLessThanOrEqual(before + (runsOnPostgres() ? 15 : 3));
    } finally {
      await service.close();
    }
  });
});
