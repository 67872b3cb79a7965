import { expect, test } from 'vitest';
import { findJob, listJobs, readJob, type JobFilter } from '../../../src/commands/jobs/find.ts';
import { readStream } from '../../../src/commands/jobs/streams.ts';
import { collect, createScripted, id, jobRecord, lines } from './service.ts';

const status = `GET /demo/jobs/${id}/live/status`;
const out = `GET /demo/jobs/${id}/live/out`;
const err = `GET /demo/jobs/${id}/live/err`;
const done = { body: jobRecord({ state: 'done' }) };

function latest(count: number): string {
  return lines(count).split('\n').slice(-101).join('\n');
}

test('a whole stream is given as it is, with and without a total', async () => {
  for (const headers of [{}, { 'result-set-size': '250' }] as const) {
    const service = createScripted();
    Object.assign(service.answers, { [status]: { body: jobRecord() }, [out]: { body: lines(250), headers } });
    const all = await collect(readStream(service.context, id, 'outputs', false));
    expect([all.length, all[0], all[249], service.warnings.length]).toEqual([250, '/demo/stor/0', '/demo/stor/249', 0]);
  }
});

test('where only the latest 100 are told, a job that is done is read from its file', async () => {
  for (const headers of [{}, { 'result-set-size': '250' }] as const) {
    const service = createScripted();
    Object.assign(service.answers, { [status]: done, [out]: { body: latest(250), headers } });
    service.answers[`GET /demo/jobs/${id}/out.txt`] = { body: lines(250, (at) => `/demo/stor/${249 - at}`) };
    const all = await collect(readStream(service.context, id, 'outputs', false));
    expect([all.length, new Set(all).size, service.warnings.length]).toEqual([250, 250, 0]);
  }
});

test('where only the latest 100 are told of a job that runs, the rest is said to be missing', async () => {
  const service = createScripted();
  Object.assign(service.answers, { [status]: { body: jobRecord() }, [out]: { body: latest(250), headers: { 'result-set-size': '250' } } });
  expect(await collect(readStream(service.context, id, 'outputs', false))).toHaveLength(100);
  expect(service.warnings).toEqual(['the service returns only the latest records: 150 are missing until the job is done']);
});

test('--follow gives each record once until the job is done, from whole streams', async () => {
  const service = createScripted();
  const counts = [3, 3, 120, 130];
  let look = -1;
  service.answers[status] = () => {
    look += 1;
    return look === 3 ? done : { body: jobRecord() };
  };
  service.answers[out] = () => ({ body: lines(counts[look] ?? 0) });
  expect(await collect(readStream(service.context, id, 'outputs', true))).toEqual(lines(130).trim().split('\n'));
});

test('--follow gives each record once where only the latest 100 are told', async () => {
  const service = createScripted();
  const counts = [60, 180, 230];
  let look = -1;
  service.answers[status] = () => {
    look += 1;
    return look === 2 ? done : { body: jobRecord() };
  };
  service.answers[out] = () => ({ body: latest(counts[look] ?? 0), headers: { 'result-set-size': String(counts[look]) } });
  service.answers[`GET /demo/jobs/${id}/out.txt`] = { body: lines(230) };
  const all = await collect(readStream(service.context, id, 'outputs', true));
  expect([all.length, new Set(all).size, service.warnings.length]).toEqual([230, 230, 0]);
});

test('error records are read under both sets of names, and keep what else they have', async () => {
  const service = createScripted();
  const record = { id: 'task-1', phase: '0', key: '/demo/stor/a', what: 'phase 0: map', code: 'UserTaskError', message: 'exited', more: 1 };
  Object.assign(service.answers, { [status]: done, [err]: { body: `${JSON.stringify(record)}\n` } });
  const [error] = await collect(readStream(service.context, id, 'errors', false));
  expect(error).toEqual({ ...record, taskId: 'task-1', phaseNum: 0, input: '/demo/stor/a' });
});

test('a job that is no longer alive is read from its directory', async () => {
  const service = createScripted();
  service.answers[`GET /demo/jobs/${id}/job.json`] = done;
  service.answers[`GET /demo/jobs/${id}/err.txt`] = { body: '{"what":"phase 0","code":"X","message":"m"}\n' };
  expect((await readJob(service.context, id)).state).toBe('done');
  expect(await collect(readStream(service.context, id, 'errors', false))).toEqual([{ what: 'phase 0', code: 'X', message: 'm' }]);
});

test('a status of 204 without a record is answered from the file; an unknown job is one clear error', async () => {
  const service = createScripted();
  service.answers[status] = { status: 204 };
  service.answers[`GET /demo/jobs/${id}/job.json`] = done;
  expect((await readJob(service.context, id)).id).toBe(id);
  const empty = createScripted();
  await expect(readJob(empty.context, id)).rejects.toMatchObject({
    message: `job ${id} does not exist`,
    hint: 'cloud jobs list',
    exitCode: 3,
  });
});

test('a service that knows neither pages nor filters: each job once, filtered here', async () => {
  const service = createScripted();
  const ids = [id, '22222222-2222-4333-8444-555555555555', '33333333-2222-4333-8444-555555555555'];
  service.answers['GET /demo/jobs'] = { body: ids.map((name) => `${JSON.stringify({ name, type: 'directory', mtime: '' })}\n`).join('') };
  ids.forEach((each, at) => {
    const name = at < 2 ? 'twin' : 'single';
    service.answers[`GET /demo/jobs/${each}/live/status`] = { body: jobRecord({ id: each, name, state: at === 0 ? 'done' : 'running' }) };
  });
  expect(await collect(listJobs(service.context))).toHaveLength(3);
  expect((await collect(listJobs(service.context, { state: 'live' }))).map((job) => job.id)).toEqual(ids.slice(1));
  expect(await findJob(service.context, 'single')).toBe(ids[2]);
  expect(await findJob(service.context, '33333333')).toBe(ids[2]);
  await expect(findJob(service.context, 'twin')).rejects.toThrow(`job "twin" is ambiguous: ${ids[0]} (twin), ${ids[1]} (twin)`);
  await expect(findJob(service.context, 'nothing')).rejects.toThrow('job "nothing" does not exist');
});

test('jobs that a service knows only by their files are found by state and name too', async () => {
  const service = createScripted();
  const [known, forgotten] = [id, '22222222-2222-4333-8444-555555555555'];
  const list = (...ids: string[]) => ({ body: ids.map((name) => `${JSON.stringify({ name, type: 'directory', mtime: '' })}\n`).join('') });
  service.answers['GET /demo/jobs'] = list(known, forgotten);
  for (const query of ['state=running', 'name=old', 'name=none', 'state=running&name=old', 'state=done&name=old'])
    service.answers[`GET /demo/jobs?${query}`] = list();
  service.answers['GET /demo/jobs?state=done'] = list(known);
  service.answers[`GET /demo/jobs/${known}/live/status`] = { body: jobRecord({ id: known, name: 'new', state: 'done' }) };
  service.answers[`GET /demo/jobs/${forgotten}/job.json`] = { body: jobRecord({ id: forgotten, name: 'old', state: 'done' }) };
  const find = async (filter: JobFilter) => (await collect(listJobs(service.context, filter))).map((job) => job.id);
  expect(await find({ state: 'done' })).toEqual([known, forgotten]);
  expect(await find({ name: 'old' })).toEqual([forgotten]);
  expect(await find({ state: 'running', name: 'old' })).toEqual([]);
  expect(await find({ state: 'done', name: 'old' })).toEqual([forgotten]);
  expect(await findJob(service.context, 'old')).toBe(forgotten);
  await expect(findJob(service.context, 'none')).rejects.toThrow('job "none" does not exist');
});

test('an empty word, as an unset variable leaves it, finds no job, even one whose name is empty', async () => {
  const service = createScripted();
  service.answers['GET /demo/jobs'] = { body: `${JSON.stringify({ name: id, type: 'directory', mtime: '' })}\n` };
  service.answers[`GET /demo/jobs/${id}/live/status`] = { body: jobRecord({ name: '' }) };
  expect(await collect(listJobs(service.context, { name: '' }))).toHaveLength(1);
  await expect(findJob(service.context, '')).rejects.toMatchObject({ message: 'the id or name of a job is empty', exitCode: 2 });
});
