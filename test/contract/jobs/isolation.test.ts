import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runsOnPostgres } from '../../support/cluster-database.ts';
import type { IsolationKind } from '../../../src/api/isolation.ts';
import { listSandboxes } from '../../support/job-sandboxes.ts';
import { chooseByName, createTestJobs, resultOf, type Outcome, type TestJobs } from './harness.ts';

/** Processes with just this command line; ps is the witness. */
function countProcesses(line: string): number {
  const lines = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n');
  return lines.filter((each) => each.trim() === line).length;
}

/** Command lines that no process of another run of these tests has. */
const staying = `sleep ${process.pid}.4711`;
const waiting = `sleep ${process.pid}.4712`;

/** Each look is a process. */
const slowly = { interval: 150 };

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

  const readVariables = (text = ''): Record<string, string | undefined> =>
    Object.fromEntries(text.split('\n').map((line) => line.split(/=(.*)/u, 2)));

  /** The variables that a task finds, of the input `/demo/stor/NAME`. */
  function expectVariables(id: string, text: string | undefined, name: string, program: string): void {
    const variables = readVariables(text);
    const others = Object.keys(variables).filter((each) => !/^(?:MANTA_|CLOUD_|_$)/u.test(each));
    expect(others.sort(), program).toEqual(['', 'HOME', 'LANG', 'PATH', 'PWD', 'SHLVL', 'TMPDIR'].sort());
    expect(variables, program).toMatchObject({
      MANTA_INPUT_OBJECT: `/demo/stor/${name}`,
      CLOUD_INPUT_OBJECT: `/demo/stor/${name}`,
      MANTA_JOB_ID: id,
      MANTA_USER: 'demo',
      MANTA_URL: 'https://storage.test',
      CLOUD_URL: 'https://storage.test',
      MANTA_OUTPUT_BASE: `/demo/jobs/${id}/stor/demo/stor/${name}.0.`,
    });
  }

  const listDescriptors = 'for f in /dev/fd/*; do [ ! -e "$f" ] || echo "${f##*/}"; done';

  describe('of one job', () => {
    let decoy: string;
    let places: string[];
    let outcome: Outcome;
    beforeAll(async () => {
      decoy = mkdtempSync(join(homedir(), '.cloud-decoy-'));
      places = [service.dir, join(service.dir, 'bytes'), homedir(), decoy].filter((path) => existsSync(path));
      const seen = places.map((path) => `[ ! -e '${path}' ] || echo "sees ${path}"`);
      const begin = '[ -z "$(ls -A)" ] || { echo "not empty" >&2; exit 9; }; touch left; mkdir -p d/e; touch d/e/f; chmod 0 d';
      const commands = {
        variables: 'env; true',
        descriptors: listDescriptors,
        short: 'echo 1',
        long: 'seq 3000',
        change: 'echo changed > "$MANTA_INPUT_FILE"; echo changed > /dev/stdin; true',
        stay: `${staying} & cat`,
        remove: 'rm -rf "${TMPDIR%/*}"/* 2>/dev/null; cat',
        view: `${seen.join('; ')}; grep -c : /proc/net/dev; ls -d /proc/[0-9]* | wc -l`,
      };
      const names = Object.keys(commands);
      for (const name of names) await service.put(`/demo/stor/${name}`, `${name}\n`);
      // Each of them before and behind others.
      const inputs = [...names, ...names.toReversed()].map((name) => `/demo/stor/${name}`);
      outcome = await service.run([{ exec: `${begin}\n${chooseByName(commands)}` }], inputs);
    });
    afterAll(() => rmSync(decoy, { recursive: true }));
    const contentsOf = (name: string): string[] => {
      const { contents, errors } = resultOf(outcome, `/demo/stor/${name}`);
      expect(errors, name).toEqual([]);
      return contents;
    };

    test('find an environment without the variables of the service', () => {
      const texts = contentsOf('variables');
      expect(texts).toHaveLength(2);
      for (const text of texts) expectVariables(outcome.id, text, 'variables', 'from a shell');
    });

    test('have no descriptors but the three', () => {
      expect(contentsOf('descriptors')).toEqual(['0\n1\n2\n', '0\n1\n2\n']);
    });

    test('begin each in an empty directory of their own, with an output of their own', () => {
      // Each task leaves files and fails where it finds any.
      expect(outcome.errors).toEqual([]);
      expect(contentsOf('short')).toEqual(['1\n', '1\n']);
      const long = Array.from({ length: 3000 }, (_, at) => `${at + 1}\n`).join('');
      expect(contentsOf('long')).toEqual([long, long]);
    });

    test('cannot change the object they read', async () => {
      contentsOf('change');
      expect((await service.ask('GET', '/demo/stor/change')).text).toBe('change\n');
    });

    test('leave no process behind', async () => {
      expect(contentsOf('stay')).toEqual(['stay\n', 'stay\n']);
      await expect.poll(() => countProcesses(staying), slowly).toBe(0);
    });

    test('keep their output and those after them when they remove all they can', () => {
      expect(contentsOf('remove')).toEqual(['remove\n', 'remove\n']);
      expect(outcome.errors).toEqual([]);
      expect(outcome.outputs).toHaveLength(16);
    });

    test('a zone leaves no files behind', async () => {
      await expect.poll(() => readdirSync(`${service.dir}/zones`)).toEqual([]);
    });

    test('see neither the data of the service nor the home of its user, nor a network, in a sandbox', () => {
      for (const text of contentsOf('view')) {
        const lines = text.trim().split('\n');
        const [interfaces, processes] = lines.slice(-2).map(Number);
        if (isolation === 'none') {
          expect(lines.filter((line) => line.startsWith('sees'))).toHaveLength(places.length);
          continue;
        }
        expect([lines.length, interfaces]).toEqual([2, 1]);
        expect(processes).toBeLessThan(10);
      }
    });
  });

  test('of a program that is run without a shell find the same environment, and reducers have no other descriptors either', async () => {
    const { contents, errors, id } = await service.run(
      [{ exec: 'env' }, { type: 'reduce', exec: `${listDescriptors}; cat` }],
      ['/demo/stor/a'],
    );
    expect(errors).toEqual([]);
    const [text = ''] = contents;
    expect(text.slice(0, 6)).toBe('0\n1\n2\n');
    expectVariables(id, text.slice(6), 'a', 'without a shell');
  });

  test('are gone after a cancel, grandchildren in sessions of their own too', async () => {
    const id = await service.create([{ exec: `setsid ${waiting} & (${waiting}; true) & ${waiting}` }]);
    await service.add(id, ['/demo/stor/a', '/demo/stor/b']);
    // Three processes of each of the two tasks: from now on both run.
    await expect.poll(() => countProcesses(waiting), slowly).toBe(6);
    expect((await service.ask('POST', `/demo/jobs/${id}/live/cancel`)).status).toBe(202);
    const { job, errors } = await service.wait(id);
    await expect.poll(() => countProcesses(waiting), slowly).toBe(0);
    expect(job).toMatchObject({ state: 'done', cancelled: true, inputDone: true });
    expect(new Set(errors.map(({ code, message }) => `${code}: ${message}`))).toEqual(new Set(['JobCancelledError: job was cancelled']));
    expect(errors.map(({ input }) => input ?? '').toSorted((left, right) => (left < right ? -1 : 1))).toEqual([
      '/demo/stor/a',
      '/demo/stor/b',
    ]);
  });
});

test('over a restart a job goes on, with one output an input; open files do not grow with the tasks', async () => {
  const service = await createTestJobs();
  try {
    const inputs = Array.from({ length: 24 }, (_, index) => `/demo/stor/n${index}`);
    for (const input of inputs) await service.put(input, `${input}\n`);
    const id = await service.create([{ exec: 'sleep 0.15; cat' }]);
    await service.add(id, inputs, true);
    await expect.poll(async () => (await service.state(id)).stats.tasksDone).toBeGreaterThan(3);
    await service.restart(async () => {
      const { tasksDone } = (await service.state(id)).stats;
      expect(tasksDone).toBeLessThan(24);
      await sleep(20);
    });
    const { contents, errors, job } = await service.wait(id);
    expect(errors).toEqual([]);
    expect(contents.sort()).toEqual(inputs.map((input) => `${input}\n`).sort());
    expect(job.stats).toMatchObject({ tasks: 24, tasksDone: 24, outputs: 24 });

    const countFiles = (): number => readdirSync('/proc/self/fd').length;
    const before = countFiles();
    const { outputs } = await service.run([{ exec: 'cat' }], [...inputs, ...inputs]);
    expect(outputs).toHaveLength(48);
    // A database of its own has up to 12 connections.
    expect(countFiles(), 'open files').toBeLessThanOrEqual(before + (runsOnPostgres() ? 15 : 3));
  } finally {
    await service.close();
  }
});
