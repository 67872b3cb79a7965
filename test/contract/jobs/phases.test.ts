import { randomBytes, createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Phase } from '../../../src/api/objects.ts';
import { chooseByName, createTestJobs, narrow, resultOf, type Outcome, type TestJobs } from './harness.ts';

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs();
  await service.put('/demo/stor/a.txt', 'one two\nthree ERROR\n');
  await service.put('/demo/stor/b.txt', 'ERROR four\nERROR\n');
});
afterAll(() => service.close());

const both = ['/demo/stor/a.txt', '/demo/stor/b.txt'];
const reduce = (exec: string): Phase => ({ type: 'reduce', exec });

describe('phases', () => {
  test('a map runs before the input ends, and has one output an input, an object named after it', async () => {
    const id = await service.create([{ exec: 'wc -w' }]);
    await service.add(id, both);
    await expect.poll(async () => (await service.state(id)).stats.tasksDone).toBe(2);
    expect(await service.state(id)).toMatchObject({ state: 'running', inputDone: false });
    expect((await service.ask('POST', `/demo/jobs/${id}/live/in/end`)).status).toBe(202);
    const { job, outputs, contents, errors } = await service.wait(id);
    expect(errors).toEqual([]);
    expect(contents.map((text) => text.trim()).sort()).toEqual(['3', '4']);
    for (const input of both) {
      const output = outputs.find((path) => path.includes(input)) ?? '';
      expect(output).toMatch(new RegExp(`^/demo/jobs/${id}/stor${input}\\.0\\.[0-9a-f-]{36}$`, 'u'));
    }
    expect(job).toMatchObject({ id, state: 'done', cancelled: false, inputDone: true, phases: [{ exec: 'wc -w' }] });
    expect(job.stats).toEqual({ errors: 0, outputs: 2, retries: 0, tasks: 2, tasksDone: 2 });
    expect(Date.parse(job.timeDone ?? '')).toBeGreaterThanOrEqual(Date.parse(job.timeCreated));
    const listed = await service.list(`/demo/jobs/${id}/stor/demo/stor`);
    expect(listed.map(({ size, contentMD5 }) => [size, contentMD5])).toEqual(
      outputs.toSorted().map((path) => {
        const content = contents[outputs.indexOf(path)] ?? '';
        return [content.length, createHash('md5').update(content).digest('base64')];
      }),
    );
  });

  test('are chained, and a reduce sums up; only outputs of the last stay when the job is done, and stderr of every phase', async () => {
    await service.put('/demo/stor/none.txt', 'nothing\n');
    const phases = [
      { exec: 'grep ERROR || { echo why >&2; exit 1; }' },
      { exec: 'tr " " "\\n"' },
      { exec: 'sort | uniq -c' },
      reduce("sort | awk '{print $2, $1; s+=$1} END {print s}'"),
    ];
    const { id, outputs, contents, errors, job } = await service.run(phases, [...both, '/demo/stor/none.txt']);
    // Of the first input `three ERROR` comes through, of the second everything.
    expect(contents).toEqual(['ERROR 1\nfour 1\nthree 1\nERROR 2\n5\n']);
    expect(outputs).toEqual([expect.stringMatching(new RegExp(`^/demo/jobs/${id}/stor/reduce\\.3\\.[0-9a-f-]{36}$`, 'u'))]);
    expect(job.stats).toMatchObject({ tasks: 3 + 2 + 2 + 1, errors: 1, outputs: 1 });
    const left = await service.list(`/demo/jobs/${id}/stor/demo/stor`);
    expect(left.map(({ name }) => name)).toEqual([expect.stringMatching(/^none\.txt\.0\.err\./u)]);
    expect(errors.map(({ stderr }) => stderr?.split('/').at(-1))).toEqual(left.map(({ name }) => name));
    const { headers } = await service.ask('HEAD', `/demo/jobs/${id}/stor/demo/stor`);
    expect(headers['result-set-size']).toBe('1');
    expect(await service.countContents()).toBeGreaterThan(0);
  });

  test('the directories of removed outputs are removed with them, also when the job was cancelled', async () => {
    await service.mkdir('/demo/stor/deep');
    await service.put('/demo/stor/deep/c.txt', 'three\n');
    const inputs = [...both, '/demo/stor/deep/c.txt'];
    const { id } = await service.run([{ exec: 'cat' }, { exec: 'cat' }, reduce('wc -l')], inputs);
    const list = async (job: string): Promise<unknown[]> => (await service.list(`/demo/jobs/${job}/stor`)).map(({ name }) => name);
    expect(await list(id)).toEqual([expect.stringMatching(/^reduce\.2\./u)]);
    const kept = await service.run([{ exec: 'cat' }, { exec: 'cat' }], inputs);
    expect((await service.list(`/demo/jobs/${kept.id}/stor/demo/stor`)).map(({ type }) => type)).toEqual(['object', 'object', 'directory']);
    const cancelled = await service.create([{ exec: 'cat' }, reduce('cat')]);
    await service.add(cancelled, inputs);
    await expect.poll(async () => (await service.state(cancelled)).stats.tasksDone).toBe(3);
    expect(await list(cancelled)).toEqual(['demo']);
    await service.ask('POST', `/demo/jobs/${cancelled}/live/cancel`);
    await service.wait(cancelled);
    expect(await list(cancelled)).toEqual([]);
  });

  test('two reducers share the inputs', async () => {
    const inputs = Array.from({ length: 6 }, (_, index) => `/demo/stor/n${index}`);
    for (const [index, input] of inputs.entries()) await service.put(input, `${index}\n`);
    const { contents } = await service.run([{ type: 'reduce', count: 2, exec: 'echo $MANTA_REDUCER $CLOUD_REDUCER; cat' }], inputs);
    expect(contents.sort()).toEqual(['0 0\n0\n2\n4\n', '1 1\n1\n3\n5\n']);
  });

  test('while many inputs of a reducer are placed, which takes long on a busy disk, the service has its turns', async () => {
    const { bytes } = service.store;
    const { place } = bytes;
    const counts = { now: 0, most: 0, all: 0 };
    const slowly: typeof place = (...given) => {
      counts.all += 1;
      counts.most = Math.max(counts.most, (counts.now += 1));
      for (const end = performance.now() + 1; performance.now() < end;);
      return place.apply(bytes, given);
    };
    let turn: NodeJS.Immediate | undefined;
    const next = (): void => {
      counts.now = 0;
      turn = setImmediate(next);
    };
    try {
      Object.assign(bytes, { place: slowly });
      next();
      const { contents } = await service.run(
        [reduce('wc -l')],
        Array.from({ length: 300 }, () => '/demo/stor/a.txt'),
      );
      expect(contents).toEqual(['600\n']);
    } finally {
      clearImmediate(turn);
      Object.assign(bytes, { place });
    }
    expect(counts.all).toBe(300);
    expect(counts.most).toBeLessThan(20);
  });

  test('a job without a name has none, and a map without any input is done at once', async () => {
    const { id, job, outputs } = await service.run([{ exec: 'cat' }]);
    expect(Object.keys(job)).not.toContain('name');
    expect(JSON.parse((await service.ask('GET', `/demo/jobs/${id}/job.json`)).text)).not.toHaveProperty('name');
    expect([outputs, job.stats.tasks]).toEqual([[], 0]);
  });
});

/** Jobs of one task at a time. */
describe('tasks', () => {
  let single: TestJobs;
  beforeAll(async () => {
    single = await createTestJobs(narrow);
    await single.put('/demo/stor/a.txt', 'one two\nthree ERROR\n');
    await single.put('/demo/stor/b.txt', 'ERROR four\nERROR\n');
  });
  afterAll(() => single.close());

  test('a reduce runs even without any input', async () => {
    const { contents, job } = await single.run([reduce('wc -c')]);
    expect(contents.map((text) => text.trim())).toEqual(['0']);
    expect(job.stats.tasks).toBe(1);
  });

  test('a reduce runs also when every input of the first of several maps failed; the command "false" fails as it does in bash', async () => {
    const phases = [{ exec: 'false' }, { exec: 'cat' }, { exec: 'cat' }, reduce('wc -c')];
    const { contents, errors } = await single.run(phases, both);
    const message = 'user command exited with code 1';
    expect([contents.map((text) => text.trim()), errors.map((error) => error.message)]).toEqual([['0'], [message, message]]);
  });

  test.each([
    ['  grep   -c ERROR ', '1'],
    ['printf x', 'x'],
    ['X=1 printenv X', '1'],
    ['echo a=b %s', 'a=b %s'],
    ['time cat', 'one two\nthree ERROR'],
  ])('the command %j is what bash takes it for', async (exec, expected) => {
    const { contents, errors } = await single.run([{ exec }], ['/demo/stor/a.txt']);
    expect([contents.map((text) => text.trim()), errors]).toEqual([[expected], []]);
  });

  test('commands fail as they do in bash', async () => {
    // Reducers: each runs whatever became of the phase before.
    const failing = [
      ['no-such-command x', 'user command exited with code 127'],
      ['/', 'user command exited with code 126'],
      ['timeout -s KILL 0.01 sleep 10', 'user command terminated by SIGKILL'],
      ['exit 3', 'user command exited with code 3'],
    ];
    const { errors } = await single.run(failing.map(([exec = '']) => reduce(exec)));
    const told = errors
      .toSorted(({ phaseNum: left = 0 }, { phaseNum: right = 0 }) => left - right)
      .map(({ phaseNum = 0, message }) => [failing[phaseNum]?.[0], message]);
    expect(told).toEqual(failing);
  });

  test('the command "/bin/cat": a binary object arrives and leaves byte for byte', async () => {
    const bytes = randomBytes(3_000_000);
    await single.put('/demo/stor/bin', bytes);
    const { outputs } = await single.run([{ exec: '/bin/cat' }], ['/demo/stor/bin']);
    const { bytes: answered } = await single.ask('GET', outputs[0] ?? '');
    expect(Buffer.compare(answered, bytes)).toBe(0);
  });

  describe('of one job with assets and an init', () => {
    const names = ['a b %41 %.txt', 'quote \' " $HOME `id`.txt', 'ünï→☃', `${'x'.repeat(300)}.txt`];
    const counts = { few: 3, many: 60_000 };
    let outcome: Outcome;
    beforeAll(async () => {
      for (const name of names) await single.put(`/demo/stor/${encodeURIComponent(name)}`, 'named');
      await single.put('/demo/stor/empty', '');
      for (const count of Object.keys(counts)) await single.put(`/demo/stor/${count}`, '');
      await single.put('/demo/stor/count.sh', '#!/bin/bash\nwc -l\n');
      const { json } = await single.ask('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/parts' } });
      const { partsDirectory } = json as { partsDirectory: string };
      const parts = [await single.put(`${partsDirectory}/0`, randomBytes(5 * 1024 ** 2)), await single.put(`${partsDirectory}/1`, 'tail')];
      const { status, text } = await single.ask('POST', `${partsDirectory}/commit`, { json: { parts } });
      if (status !== 201) throw new Error(text);
      const commands = {
        'a.txt': '"$MANTA_ASSETS/demo/stor/count.sh"; ls "$CLOUD_ASSETS/demo/stor"',
        'b.txt': 'cat $HOME/here',
        empty: 'cat',
        few: `seq ${counts.few}`,
        many: `seq ${counts.many}`,
        parts: 'wc -c < "$MANTA_INPUT_FILE"; tail -c 4',
        ...Object.fromEntries(names.map((name) => [name, 'printf "%s|" "$MANTA_INPUT_OBJECT"; cat "$MANTA_INPUT_FILE"; printf "|"; cat'])),
      };
      const phase = { init: 'echo made > $HOME/here', exec: chooseByName(commands), assets: ['/demo/stor/count.sh'] };
      const inputs = Object.keys(commands).map((name) => `/demo/stor/${name}`);
      outcome = await single.run([phase], [...inputs, ...both]);
    });
    const contentsOf = (name: string): string[] => {
      const { contents, errors } = resultOf(outcome, `/demo/stor/${name}`);
      expect(errors, name).toEqual([]);
      return contents;
    };

    test.each(names)('an input named %s', (name) => {
      const path = `/demo/stor/${name}`;
      expect(contentsOf(name)).toEqual([`${path}|named|named`]);
      expect(outcome.outputs.filter((output) => output.includes(`${path}.0.`))).toHaveLength(1);
    });

    test('an empty object gives an empty stdin, and an empty output is an object', () => {
      expect(contentsOf('empty')).toEqual(['']);
    });

    test('assets can be run, under their own path', () => {
      expect(contentsOf('a.txt').map((text) => text.replace(/ /gu, ''))).toEqual(['2\ncount.sh\n', '2\ncount.sh\n']);
    });

    test('init prepares what tasks find', () => {
      expect(contentsOf('b.txt')).toEqual(['made\n', 'made\n']);
    });

    test('a multipart object is one file', () => {
      expect(contentsOf('parts').map((text) => text.trim())).toEqual(['5242884\ntail']);
    });

    test('small and large outputs are objects like others: read in part, linked, an input of the next job', async () => {
      const links = Object.keys(counts).map((name) => `/demo/stor/linked-${name}`);
      for (const [at, [name, count]] of Object.entries(counts).entries()) {
        const output = outcome.outputs.find((path) => path.includes(`/stor/demo/stor/${name}.0.`)) ?? '';
        const text = Array.from({ length: count }, (_, index) => `${index + 1}\n`).join('');
        const whole = await single.ask('GET', output);
        expect([whole.text, whole.headers['content-md5']], name).toEqual([text, createHash('md5').update(text).digest('base64')]);
        const headers = { range: `bytes=${text.length - String(count).length - 1}-` };
        expect(await single.ask('GET', output, { headers }), name).toMatchObject({ status: 206, text: `${count}\n` });
        await single.put(links[at] ?? '', undefined, { 'content-type': 'application/json; type=link', location: output });
        expect((await single.ask('DELETE', output)).status).toBe(204);
      }
      const { contents } = await single.run([{ exec: 'tail -n 1' }], links);
      expect(contents.toSorted()).toEqual(['3\n', '60000\n']);
    });
  });
});
