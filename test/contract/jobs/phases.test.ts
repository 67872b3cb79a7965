import { randomBytes, createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestJobs, type TestJobs } from './harness.ts';

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs();
  await service.put('/demo/stor/a.txt', 'one two\nthree ERROR\n');
  await service.put('/demo/stor/b.txt', 'ERROR four\nERROR\n');
  await service.mkdir('/demo/stor/dir');
});
afterAll(() => service.close());

const both = ['/demo/stor/a.txt', '/demo/stor/b.txt'];

describe('phases', () => {
  test('a map has one output an input, an object named after it', async () => {
    const { id, job, outputs, contents, errors } = await service.run([{ exec: 'wc -w' }], both);
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

  test('a grep with a reduce sums up', async () => {
    const phases = [{ exec: 'grep -c ERROR' }, { type: 'reduce' as const, exec: "awk '{s+=$1} END {print s}'" }];
    const { id, outputs, contents } = await service.run(phases, both);
    expect(contents).toEqual(['3\n']);
    expect(outputs[0]).toMatch(new RegExp(`^/demo/jobs/${id}/stor/reduce\\.1\\.[0-9a-f-]{36}$`, 'u'));
  });

  test('three phases are chained', async () => {
    const phases = [{ exec: 'tr " " "\\n"' }, { exec: 'sort' }, { type: 'reduce' as const, exec: 'sort | uniq -c | sort -rn | head -1' }];
    const { contents, job } = await service.run(phases, both);
    expect(contents.map((text) => text.trim())).toEqual(['3 ERROR']);
    expect(job.stats.tasks).toBe(5);
  });

  test('outputs of all phases but the last are removed when the job is done; stderr of every phase stays', async () => {
    const phases = [
      { exec: 'grep three || { echo why >&2; exit 1; }' },
      { exec: 'cat' },
      { exec: 'cat' },
      { type: 'reduce' as const, exec: 'wc -l' },
    ];
    const { id, outputs, contents, errors } = await service.run(phases, both);
    expect(contents.map((text) => text.trim())).toEqual(['1']);
    const [left] = await service.list(`/demo/jobs/${id}/stor/demo/stor`);
    expect([left?.['name'], errors[0]?.stderr?.split('/').at(-1)]).toEqual([expect.stringMatching(/^b\.txt\.0\.err\./u), left?.['name']]);
    expect((await service.list(`/demo/jobs/${id}/stor/demo/stor`)).length).toBe(1);
    const { headers } = await service.ask('HEAD', `/demo/jobs/${id}/stor/demo/stor`);
    expect(headers['result-set-size']).toBe('1');
    expect(outputs).toHaveLength(1);
    expect(await service.countContents()).toBeGreaterThan(0);
  });

  test('a job without a name has none', async () => {
    const { id, job } = await service.run([{ exec: 'cat' }]);
    expect(Object.keys(job)).not.toContain('name');
    expect(JSON.parse((await service.ask('GET', `/demo/jobs/${id}/job.json`)).text)).not.toHaveProperty('name');
  });

  test('two reducers share the inputs', async () => {
    const inputs = Array.from({ length: 6 }, (_, index) => `/demo/stor/n${index}`);
    for (const [index, input] of inputs.entries()) await service.put(input, `${index}\n`);
    const { contents } = await service.run([{ type: 'reduce', count: 2, exec: 'echo $MANTA_REDUCER $CLOUD_REDUCER; cat' }], inputs);
    expect(contents.sort()).toEqual(['0 0\n0\n2\n4\n', '1 1\n1\n3\n5\n']);
  });

  test('a reduce without any input runs all the same', async () => {
    const { contents, job } = await service.run([{ type: 'reduce', exec: 'wc -c' }]);
    expect(contents.map((text) => text.trim())).toEqual(['0']);
    expect(job.stats.tasks).toBe(1);
  });

  test('a reduce runs also when every input of the first of several maps failed', async () => {
    const phases = [{ exec: 'false' }, { exec: 'cat' }, { exec: 'cat' }, { type: 'reduce' as const, exec: 'wc -c' }];
    const { contents, errors } = await service.run(phases, both);
    expect([contents.map((text) => text.trim()), errors.length]).toEqual([['0'], 2]);
  });

  test('a map without any input is done at once', async () => {
    const { outputs, job } = await service.run([{ exec: 'cat' }]);
    expect([outputs, job.stats.tasks]).toEqual([[], 0]);
  });

  test('maps run before the input ends', async () => {
    const id = await service.create([{ exec: 'cat' }]);
    await service.add(id, both);
    await expect.poll(async () => (await service.state(id)).stats.tasksDone).toBe(2);
    expect(await service.state(id)).toMatchObject({ state: 'running', inputDone: false });
    expect((await service.ask('POST', `/demo/jobs/${id}/live/in/end`)).status).toBe(202);
    expect((await service.wait(id)).outputs).toHaveLength(2);
  });

  test.each([
    ['wc -l', '2'],
    ['  grep   -c ERROR ', '1'],
    ['/bin/cat', 'one two\nthree ERROR'],
    ['printf x', 'x'],
    ['X=1 printenv X', '1'],
    ['echo a=b %s', 'a=b %s'],
    ['time cat', 'one two\nthree ERROR'],
  ])('the command %j is what bash takes it for', async (exec, expected) => {
    const { contents, errors } = await service.run([{ exec }], ['/demo/stor/a.txt']);
    expect([contents.map((text) => text.trim()), errors]).toEqual([[expected], []]);
  });

  test.each([
    ['false', 'user command exited with code 1'],
    ['no-such-command x', 'user command exited with code 127'],
    ['/', 'user command exited with code 126'],
    ['timeout -s KILL 0.01 sleep 10', 'user command terminated by SIGKILL'],
    ['exit 3', 'user command exited with code 3'],
  ])('the command %j fails as it does in bash', async (exec, message) => {
    const { errors } = await service.run([{ exec }], ['/demo/stor/a.txt']);
    expect(errors.map((error) => error.message)).toEqual([message]);
  });

  test('small and large outputs are objects like others: read in part, linked, an input of the next job', async () => {
    for (const [count, end] of [
      [3, '3\n'],
      [60_000, '60000\n'],
    ] as const) {
      const { outputs } = await service.run([{ exec: `seq ${count}` }], ['/demo/stor/a.txt']);
      const [output = ''] = outputs;
      const text = Array.from({ length: count }, (_, index) => `${index + 1}\n`).join('');
      const whole = await service.ask('GET', output);
      expect([whole.text, whole.headers['content-md5']]).toEqual([text, createHash('md5').update(text).digest('base64')]);
      const headers = { range: `bytes=${text.length - end.length}-` };
      expect(await service.ask('GET', output, { headers })).toMatchObject({ status: 206, text: end });
      await service.put('/demo/stor/linked', undefined, { 'content-type': 'application/json; type=link', location: output });
      expect((await service.ask('DELETE', output)).status).toBe(204);
      const { contents } = await service.run([{ exec: 'tail -n 1' }], ['/demo/stor/linked']);
      expect(contents).toEqual([end]);
    }
  });

  test('a binary object arrives and leaves byte for byte', async () => {
    const bytes = randomBytes(3_000_000);
    await service.put('/demo/stor/bin', bytes);
    const { outputs } = await service.run([{ exec: 'cat' }], ['/demo/stor/bin']);
    const { bytes: answered } = await service.ask('GET', outputs[0] ?? '');
    expect(Buffer.compare(answered, bytes)).toBe(0);
  });

  test('an empty object gives an empty stdin, and an empty output is an object', async () => {
    await service.put('/demo/stor/empty', '');
    const { contents } = await service.run([{ exec: 'cat' }], ['/demo/stor/empty']);
    expect(contents).toEqual(['']);
  });

  test.each(['a b %41 %.txt', 'quote \' " $HOME `id`.txt', 'ünï→☃', `${'x'.repeat(300)}.txt`])('an input named %s', async (name) => {
    await service.put(`/demo/stor/${encodeURIComponent(name)}`, 'named');
    const path = `/demo/stor/${name}`;
    const { contents, outputs } = await service.run(
      [{ exec: 'printf "%s|" "$MANTA_INPUT_OBJECT"; cat "$MANTA_INPUT_FILE"; printf "|"; cat' }],
      [path],
    );
    expect(contents).toEqual([`${path}|named|named`]);
    expect(outputs[0]).toContain(`${path}.0.`);
  });

  test('assets can be run, under their own path', async () => {
    await service.put('/demo/stor/count.sh', '#!/bin/bash\nwc -l\n');
    const exec = '"$MANTA_ASSETS/demo/stor/count.sh"; ls "$CLOUD_ASSETS/demo/stor"';
    const { contents } = await service.run([{ exec, assets: ['/demo/stor/count.sh'] }], both);
    expect(contents.map((text) => text.replace(/ /gu, ''))).toEqual(['2\ncount.sh\n', '2\ncount.sh\n']);
  });

  test('init prepares what tasks find', async () => {
    const { contents } = await service.run([{ init: 'echo made > $HOME/here', exec: 'cat $HOME/here' }], both);
    expect(contents).toEqual(['made\n', 'made\n']);
  });

  test('a multipart object is one file', async () => {
    const { json } = await service.ask('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/parts' } });
    const { partsDirectory } = json as { partsDirectory: string };
    const parts = [await service.put(`${partsDirectory}/0`, randomBytes(5 * 1024 ** 2)), await service.put(`${partsDirectory}/1`, 'tail')];
    expect((await service.ask('POST', `${partsDirectory}/commit`, { json: { parts } })).status).toBe(201);
    const exec = 'wc -c < "$MANTA_INPUT_FILE"; tail -c 4';
    const { contents } = await service.run([{ exec }], ['/demo/stor/parts']);
    expect(contents.map((text) => text.trim())).toEqual(['5242884\ntail']);
  });
});
