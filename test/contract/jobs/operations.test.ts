import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ByteStream } from '../../../src/api/message.ts';
import { chunked, createTestStorage, md5Of } from '../storage/harness.ts';
import { createTestJobs, type TestJobs } from './harness.ts';

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs();
  await service.put('/demo/stor/a', 'a\n');
});
afterAll(() => service.close());

const unknown = '/demo/jobs/00000000-0000-4000-8000-000000000000';

async function refusalOf(method: string, target: string, asked: Parameters<TestJobs['ask']>[2] = {}): Promise<unknown[]> {
  const { status, code } = await service.ask(method, target, asked);
  return [status, code];
}

describe('createJob', () => {
  test('201, empty, with the location', async () => {
    const { status, headers, text } = await service.ask('POST', '/demo/jobs', { json: { name: 'n', phases: [{ exec: 'true' }] } });
    expect([status, text]).toEqual([201, '']);
    expect(headers['location']).toMatch(/^\/demo\/jobs\/[0-9a-f-]{36}$/u);
  });

  test.each([
    [{}, 'phases'],
    [{ phases: [] }, 'phases is empty'],
    [{ phases: [{}] }, 'exec'],
    [{ phases: [{ exec: ' ' }] }, 'phases[0].exec is empty'],
    [{ phases: [{ exec: 'x', type: 'shuffle' }] }, 'type'],
    [{ phases: [{ exec: 'x', type: 'reduce', count: 129 }] }, 'phases[0].count is 129'],
    [{ phases: [{ exec: 'x', type: 'reduce', count: 0 }] }, 'phases[0].count is 0'],
    [{ phases: [{ exec: 'x', type: 'reduce', count: 1.5 }] }, 'phases[0].count is 1.5'],
    [{ phases: [{ exec: 'x' }, { exec: 'x', memory: -1 }] }, 'phases[1].memory is -1'],
    [{ phases: [{ exec: 'x', disk: 0 }] }, 'phases[0].disk is 0'],
    [{ phases: [{ exec: 'x', assets: ['a'] }] }, 'phases[0].assets[0] is "a"'],
    [{ phases: [{ exec: 'x', command: 'y' }] }, 'command'],
    [{ phases: [{ exec: 'x' }], colour: 'red' }, 'colour'],
    [{ phases: [{ exec: 'x'.repeat(100_001) }] }, 'phases[0].exec has 100001 bytes'],
  ])('refuses %j', async (json, words) => {
    const { status, code, json: body } = await service.ask('POST', '/demo/jobs', { json });
    expect([status, code]).toEqual([400, 'InvalidJob']);
    expect((body as { message: string }).message).toContain(words);
  });

  test('403 where jobs are off', async () => {
    const off = await createTestStorage();
    const { status, code } = await off.ask('POST', '/demo/jobs', { json: { phases: [{ exec: 'true' }] } });
    expect([status, code]).toEqual([403, 'JobsDisabled']);
    await off.close();
  });
});

describe('input', () => {
  test('lines end in LF or CR LF, empty ones count for nothing, the last may lack its end', async () => {
    const id = await service.create([{ exec: 'cat' }]);
    const { status } = await service.ask('POST', `/demo/jobs/${id}/live/in?end=true`, {
      body: '/demo/stor/a\r\n\n/demo/stor/b\n/demo/stor/c',
    });
    expect(status).toBe(204);
    const { headers, text } = await service.ask('GET', `/demo/jobs/${id}/live/in`);
    expect(text).toBe('/demo/stor/a\n/demo/stor/b\n/demo/stor/c\n');
    expect(headers).toMatchObject({ 'content-type': 'text/plain', 'result-set-size': '3' });
    expect((await service.ask('HEAD', `/demo/jobs/${id}/live/in`)).headers['result-set-size']).toBe('3');
    expect((await service.wait(id)).failures.sort()).toEqual(['/demo/stor/b', '/demo/stor/c']);
  });

  test('409 after the end, after cancel, and for what is done', async () => {
    const id = await service.create([{ exec: 'sleep 5' }]);
    await service.add(id, ['/demo/stor/a'], true);
    const invalid = [409, 'InvalidJobState'];
    expect(await refusalOf('POST', `/demo/jobs/${id}/live/in`, { body: '/demo/stor/a\n' })).toEqual(invalid);
    expect((await service.ask('POST', `/demo/jobs/${id}/live/in/end`)).status).toBe(202);
    expect((await service.ask('POST', `/demo/jobs/${id}/live/cancel`)).status).toBe(202);
    expect(await refusalOf('POST', `/demo/jobs/${id}/live/cancel`)).toEqual(invalid);
    expect(await refusalOf('POST', `/demo/jobs/${id}/live/in/end`)).toEqual(invalid);
    expect(await refusalOf('POST', `/demo/jobs/${id}/live/in`, { body: '/demo/stor/a\n' })).toEqual(invalid);
    await service.wait(id);
    const { id: done } = await service.run([{ exec: 'cat' }]);
    expect(await refusalOf('POST', `/demo/jobs/${done}/live/in`, { body: '/demo/stor/a\n' })).toEqual(invalid);
    expect(await refusalOf('POST', `/demo/jobs/${done}/live/cancel`)).toEqual(invalid);
  });

  describe('a body that is cut', () => {
    async function* cut(count: number): AsyncGenerator<Uint8Array> {
      for (let line = 0; line < count; line += 100) {
        yield Buffer.from(Array.from({ length: Math.min(100, count - line) }, (_, index) => `/demo/stor/none/${line + index}\n`).join(''));
      }
      throw new Error('the connection was closed');
    }
    /** Sends a body that breaks off, as the connection does. */
    async function sendCut(id: string, count: number, query = ''): Promise<void> {
      const body = cut(count) as AsyncGenerator<Uint8Array> & ByteStream;
      await service.ask('POST', `/demo/jobs/${id}/live/in${query}`, { body }).catch(() => undefined);
    }

    test.each([1, 999, 1000])('of %i lines leaves none of them', async (count) => {
      const id = await service.create([{ exec: 'cat' }]);
      await sendCut(id, count);
      await sendCut(id, count, '?end=true');
      expect(await service.lines(`/demo/jobs/${id}/live/in`)).toEqual([]);
      expect((await service.state(id)).inputDone).toBe(false);
      await service.ask('POST', `/demo/jobs/${id}/live/cancel`);
    });

    test('of more leaves whole batches of 1,000, in their order', async () => {
      const id = await service.create([{ exec: 'cat' }]);
      await sendCut(id, 2500);
      expect(await service.lines(`/demo/jobs/${id}/live/in`)).toEqual(Array.from({ length: 2000 }, (_, line) => `/demo/stor/none/${line}`));
      await service.ask('POST', `/demo/jobs/${id}/live/cancel`);
    });

    test('of long lines leaves whole batches of up to 1 MiB', async () => {
      const id = await service.create([{ exec: 'cat' }]);
      const line = (number: number): string => `/demo/stor/${'a'.repeat(10_000)}/${number}`;
      const pieces = Array.from({ length: 30 }, (_, piece) =>
        Array.from({ length: 10 }, (__, at) => `${line(piece * 10 + at)}\n`).join(''),
      );
      const { status } = await service.ask('POST', `/demo/jobs/${id}/live/in`, { body: chunked(...pieces, 'a\0b\n') });
      const left = await service.lines(`/demo/jobs/${id}/live/in`);
      expect([status, left.length >= 100, left.every((each, number) => each === line(number))]).toEqual([400, true, true]);
      await service.ask('POST', `/demo/jobs/${id}/live/cancel`);
    });

    test('one that is refused in the middle says how many lines were added before', async () => {
      const lines = Array.from({ length: 1500 }, (_, line) => `/demo/stor/none/${line}\n`).join('');
      for (const [body, words] of [
        [`${lines}/demo/stor/a\0b\n`, '; the 1000 inputs before this one were added'],
        ['/demo/stor/a\n/demo/stor/a\0b\n', 'NUL character: "/demo/stor/a\\u0000b"'],
      ] as const) {
        const id = await service.create([{ exec: 'cat' }]);
        // In two pieces: the first is dealt with before the second is seen.
        const half = body.lastIndexOf('\n', body.length - 2) + 1;
        const response = await service.ask('POST', `/demo/jobs/${id}/live/in`, { body: chunked(body.slice(0, half), body.slice(half)) });
        const { message } = response.json as { message: string };
        expect([response.status, message.slice(-words.length)]).toEqual([400, words]);
        expect(await service.lines(`/demo/jobs/${id}/live/in`)).toHaveLength(words.includes('1000') ? 1000 : 0);
        await service.ask('POST', `/demo/jobs/${id}/live/cancel`);
      }
    });
  });

  test('more than the limit of inputs is refused, by its name, whole up to 1,000 lines', async () => {
    const small = await createTestJobs({}, { serviceLimits: { jobInputs: 3 } });
    try {
      const id = await small.create([{ exec: 'cat' }]);
      await small.add(id, ['/demo/stor/none', '/demo/stor/none']);
      const { status, code, json } = await small.ask('POST', `/demo/jobs/${id}/live/in?end=true`, { body: 'x\ny\n' });
      expect([status, code, json]).toEqual([409, 'InvalidArgument', { code, message: 'a job has at most 3 inputs (limit job-inputs)' }]);
      expect(await small.state(id)).toMatchObject({ inputDone: false, stats: { tasks: 2 } });
      await small.add(id, ['/demo/stor/none'], true);
      expect((await small.wait(id)).errors).toHaveLength(3);
    } finally {
      await small.close();
    }
  });

  test('one job more than may run is refused, until one of them is done', async () => {
    const small = await createTestJobs({}, { serviceLimits: { runningJobs: 2 } });
    try {
      const [open] = [await small.create([{ exec: 'cat' }]), await small.create([{ exec: 'cat' }])];
      const create = async () => await small.ask('POST', '/demo/jobs', { json: { phases: [{ exec: 'cat' }] } });
      const { status, code, json } = await create();
      const message = 'an account has at most 2 running jobs (limit running-jobs)';
      expect([status, code, json]).toEqual([409, 'InvalidArgument', { code, message }]);
      await small.ask('POST', `/demo/jobs/${open}/live/cancel`);
      await small.wait(open);
      expect((await create()).status).toBe(201);
    } finally {
      await small.close();
    }
  });

  test('an account that may store nothing more gets no inputs done', async () => {
    const full = await createTestJobs({}, { serviceLimits: { accountObjects: 1 } });
    try {
      const id = await full.create([{ exec: 'cat' }]);
      await full.add(id, ['/demo/stor/none']);
      await full.put('/demo/stor/a', 'x');
      const { status, code } = await full.ask('POST', `/demo/jobs/${id}/live/in`, { body: '/demo/stor/a\n' });
      expect([status, code]).toEqual([507, 'NotEnoughSpace']);
      expect(await full.lines(`/demo/jobs/${id}/live/in`)).toEqual(['/demo/stor/none']);
      await full.ask('POST', `/demo/jobs/${id}/live/cancel`);
    } finally {
      await full.close();
    }
  });

  test('a wrong Content-MD5: 400, and nothing is added', async () => {
    const id = await service.create([{ exec: 'cat' }]);
    const body = '/demo/stor/none\n';
    const add = (md5: string, query = ''): Promise<unknown> =>
      refusalOf('POST', `/demo/jobs/${id}/live/in${query}`, { body, headers: { 'content-md5': md5 } });
    expect(await add(md5Of('another'), '?end=true')).toEqual([400, 'ContentMD5Mismatch']);
    expect(await add('another')).toEqual([400, 'BadRequest']);
    expect([await service.lines(`/demo/jobs/${id}/live/in`), (await service.state(id)).inputDone]).toEqual([[], false]);
    expect(await add(md5Of(body))).toEqual([204, undefined]);
    expect(await service.lines(`/demo/jobs/${id}/live/in`)).toEqual(['/demo/stor/none']);
    await service.ask('POST', `/demo/jobs/${id}/live/cancel`);
  });

  test('what is not UTF-8, a line without end, a wrong end: 400', async () => {
    const id = await service.create([{ exec: 'cat' }]);
    expect(await refusalOf('POST', `/demo/jobs/${id}/live/in`, { body: Buffer.from([0xff, 10]) })).toEqual([400, 'BadRequest']);
    expect(await refusalOf('POST', `/demo/jobs/${id}/live/in`, { body: 'x'.repeat(70_000) })).toEqual([400, 'BadRequest']);
    expect(await refusalOf('POST', `/demo/jobs/${id}/live/in`, { body: '/demo/stor/a\0b\n' })).toEqual([400, 'BadRequest']);
    expect(await refusalOf('POST', `/demo/jobs/${id}/live/in?end=yes`, { body: '' })).toEqual([400, 'InvalidParameter']);
    await service.ask('POST', `/demo/jobs/${id}/live/cancel`);
  });
});

describe('reading', () => {
  test('an unknown job: 404 everywhere', async () => {
    const gone = [404, 'ResourceNotFound'];
    for (const name of ['status', 'in', 'out', 'fail', 'err']) expect(await refusalOf('GET', `${unknown}/live/${name}`)).toEqual(gone);
    for (const name of ['in', 'in/end', 'cancel']) expect(await refusalOf('POST', `${unknown}/live/${name}`, { body: '' })).toEqual(gone);
  });

  test('jobs are listed by id, filtered by state and name', async () => {
    const { id: done } = await service.run([{ exec: 'cat' }]);
    const live = await service.create([{ exec: 'cat' }], 'lively');
    const names = async (query: string): Promise<unknown[]> => (await service.list(`/demo/jobs${query}`)).map(({ name }) => name);
    const all = await names('');
    expect(all).toEqual(all.map(String).toSorted());
    expect(all).toEqual(expect.arrayContaining([done, live]));
    expect(await names('?state=running')).toContain(live);
    expect(await names('?state=live')).not.toContain(done);
    expect(await names('?state=done')).toContain(done);
    expect(await names('?state=queued')).toEqual([]);
    expect(await names('?name=lively')).toEqual([live]);
    expect(await names(`?limit=1&marker=${live}`)).toEqual([live]);
    expect(await names('?sort_order=reverse')).toEqual(all.toReversed());
    expect(await names('?obj')).toEqual([]);
    const etag = await service.put('/demo/jobs/notes', 'hello');
    expect(await service.list('/demo/jobs?obj')).toMatchObject([{ name: 'notes', type: 'object', etag, size: 5 }]);
    await service.ask('DELETE', '/demo/jobs/notes');
    for (const query of ['sort=size', 'sort_order=up'])
      for (const filter of ['', '&state=done']) {
        const refusal = await refusalOf('GET', `/demo/jobs?${query}${filter}`);
        expect([query, filter, refusal]).toEqual([query, filter, [400, 'InvalidParameter']]);
      }
    expect(await refusalOf('GET', '/demo/jobs?state=odd')).toEqual([400, 'InvalidParameter']);
    expect(await refusalOf('GET', '/demo/jobs?limit=0')).toEqual([400, 'InvalidParameter']);
    const { headers } = await service.ask('GET', '/demo/jobs');
    expect(headers['content-type']).toBe('application/x-json-stream; type=directory');
    expect(headers['content-length']).toBeUndefined();
    await service.ask('POST', `/demo/jobs/${live}/live/cancel`);
  });

  test('jobs of a state or name are listed in the order, of the type and from the marker that a directory listing would have', async () => {
    const made: string[] = [];
    for (let number = 0; number < 3; number += 1) made.push((await service.run([{ exec: 'cat' }])).id);
    const ask = async (query: string): Promise<[unknown[], string | undefined]> => {
      const { text, headers } = await service.ask('GET', `/demo/jobs?state=done&${query}`);
      const lines = text.split('\n').slice(0, -1);
      return [lines.map((line) => (JSON.parse(line) as { name: string }).name), headers['result-set-size']];
    };
    const [all, total] = await ask('');
    const times = new Map((await service.list('/demo/jobs')).map(({ name, mtime }) => [name, String(mtime)]));
    const byTime = all.toSorted((a, b) => (`${times.get(a)} ${String(a)}` < `${times.get(b)} ${String(b)}` ? -1 : 1));
    expect(all).toEqual(expect.arrayContaining(made));
    expect(await ask('sort=mtime')).toEqual([byTime, total]);
    expect(await ask('sort=mtime&sort_order=reverse&limit=2')).toEqual([byTime.toReversed().slice(0, 2), total]);
    expect(await ask(`sort=mtime&sort_order=reverse&marker=${String(byTime.at(-2))}`)).toEqual([byTime.toReversed().slice(1), total]);
    expect(await ask('sort_order=reverse')).toEqual([all.toReversed(), total]);
    expect(await ask(`sort_order=reverse&marker=${String(all[1])}`)).toEqual([[all[1], all[0]], total]);
    expect(await ask('obj')).toEqual([[], total]);
    expect(await ask('dir')).toEqual([all, total]);
    expect(await ask('dir&obj')).toEqual([all, total]);
  });

  test('a job that is done leaves its record and the four streams as files', async () => {
    const { id, job, outputs, errors } = await service.run([{ exec: 'cat' }], ['/demo/stor/a', '/demo/stor/none']);
    const read = async (name: string): Promise<string> => (await service.ask('GET', `/demo/jobs/${id}/${name}`)).text;
    expect(JSON.parse(await read('job.json'))).toEqual(job);
    expect(await read('in.txt')).toBe('/demo/stor/a\n/demo/stor/none\n');
    expect(await read('out.txt')).toBe(`${outputs.join('\n')}\n`);
    expect(await read('fail.txt')).toBe('/demo/stor/none\n');
    expect(JSON.parse(await read('err.txt'))).toEqual(errors[0]);
    expect((await service.list(`/demo/jobs/${id}`)).map(({ name }) => name)).toEqual([
      'err.txt',
      'fail.txt',
      'in.txt',
      'job.json',
      'out.txt',
      'stor',
    ]);
  });

  test('streams longer than a page are whole', async () => {
    const id = await service.create([{ exec: 'true' }]);
    const inputs = Array.from({ length: 2500 }, (_, index) => `/demo/stor/no/${index}`);
    await service.add(id, inputs, true);
    const { failures, errors } = await service.wait(id);
    expect(new Set(failures)).toEqual(new Set(inputs));
    expect(errors).toHaveLength(2500);
    expect(await service.lines(`/demo/jobs/${id}/live/in`)).toEqual(inputs);
  });
});
