import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeDirectory, ensureDirectory, putEntry } from '../../../src/server/storage/entries.ts';
import { placeOf } from '../../../src/server/storage/paths.ts';
import { createTestJobs, narrow, type TestJobs } from './harness.ts';

/** What a job writes and what users write do not overwrite each other. */

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs(narrow);
  await service.put('/demo/stor/a', 'a\n');
  await service.put('/demo/stor/b', 'b\n');
});
afterAll(() => service.close());

const invalid = [409, 'InvalidJobState'];
const directory = { 'content-type': 'application/json; type=directory' };

describe('the directory of a job that is not done', () => {
  test('keeps the names of its files free for the service', async () => {
    const names = ['in.txt', 'out.txt', 'err.txt', 'fail.txt', 'job.json'];
    const id = await service.create([{ exec: 'cat' }]);
    const headers = { 'content-type': 'application/json; type=link', location: '/demo/stor/a' };
    for (const name of names) {
      const target = `/demo/jobs/${id}/${name}`;
      expect(await service.answerOf('PUT', target, { headers: directory }), name).toEqual(invalid);
      expect(await service.answerOf('PUT', target, { body: 'mine' }), name).toEqual(invalid);
      expect(await service.answerOf('PUT', target, { headers }), name).toEqual(invalid);
    }
    expect(await service.answerOf('PUT', `/demo/jobs/${id}/notes.txt`, { body: 'mine' })).toEqual([204, undefined]);
    await service.add(id, ['/demo/stor/a'], true);
    await service.wait(id);
    expect((await service.list(`/demo/jobs/${id}`)).map((entry) => [entry['name'], entry['type']])).toEqual([
      ...['err.txt', 'fail.txt', 'in.txt', 'job.json', 'notes.txt', 'out.txt'].map((file) => [file, 'object']),
      ['stor', 'directory'],
    ]);
    for (const name of names) {
      const target = `/demo/jobs/${id}/${name}`;
      expect(await service.answerOf('PUT', target, { body: 'mine' }), `${name} when it is done`).toEqual([204, undefined]);
      expect(await service.answerOf('DELETE', target), `${name} when it is done`).toEqual([204, undefined]);
    }
  });

  test('takes no multipart upload in the place of these names', async () => {
    const id = await service.create([{ exec: 'cat' }]);
    const { json } = await service.ask('POST', '/demo/uploads', { json: { objectPath: `/demo/jobs/${id}/out.txt` } });
    const { partsDirectory } = json as { partsDirectory: string };
    expect(await service.answerOf('POST', `${partsDirectory}/commit`, { json: { parts: [] } })).toEqual(invalid);
    await service.ask('POST', `/demo/jobs/${id}/live/cancel`);
  });

  test('cannot be removed, so that the job stays in every listing', async () => {
    const id = await service.create([{ exec: 'cat' }]);
    for (const target of [`/demo/jobs/${id}/stor`, `/demo/jobs/${id}`]) expect(await service.answerOf('DELETE', target)).toEqual(invalid);
    for (const query of ['', '?state=running', '?state=live']) {
      expect((await service.list(`/demo/jobs${query}`)).map(({ name }) => name)).toContain(id);
    }
    await service.ask('POST', `/demo/jobs/${id}/live/in/end`);
    await service.wait(id);
    expect(await service.answerOf('DELETE', `/demo/jobs/${id}/stor`)).toEqual([204, undefined]);
  });
});

test('a directory in the place of an archive file, as earlier releases let users make, is left alone, and the rest is written', async () => {
  const id = await service.create([{ exec: 'cat' }]);
  const place = placeOf('demo', `jobs/${id}/in.txt`);
  await service.store.write((transaction) => putEntry(transaction, place, undefined, describeDirectory(0)));
  await service.put(`/demo/jobs/${id}/in.txt/child`, 'child');
  await service.add(id, ['/demo/stor/a'], true);
  await service.wait(id);
  expect((await service.list(`/demo/jobs/${id}/in.txt`)).map(({ name }) => name)).toEqual(['child']);
  expect((await service.ask('GET', `/demo/jobs/${id}/out.txt`)).text).toContain('/stor/demo/stor/a.0.');
  await expect.poll(() => service.log.join('\n')).toContain(`/demo/jobs/${id}/in.txt is a directory`);
});

describe('an object of the user where outputs belong', () => {
  test('fails the tasks that it is in the way of, by its name, and no others', async () => {
    const signing = { key: service.otherKey, keyId: `/other/keys/${service.otherKey.fingerprint}` };
    expect((await service.storage('PUT', '/other/public/c', { signing, body: Buffer.from('c\n') })).status).toBe(204);
    const id = await service.create([{ exec: 'cat' }]);
    const obstacle = `/demo/jobs/${id}/stor/demo`;
    await service.put(obstacle, 'mine');
    await service.add(id, ['/demo/stor/a', '/other/public/c', '/demo/stor/b'], true);
    const { contents, errors, failures, job } = await service.wait(id);
    expect(contents).toEqual(['c\n']);
    expect(errors.map(({ code, message }) => [code, message])).toEqual(
      Array.from({ length: 2 }, () => ['UserTaskError', `the output cannot be stored: ${obstacle} is not a directory`]),
    );
    expect(failures.toSorted()).toEqual(['/demo/stor/a', '/demo/stor/b']);
    expect(job.stats).toMatchObject({ errors: 2, outputs: 1, tasks: 3, tasksDone: 3 });
    expect((await service.ask('GET', obstacle)).text).toBe('mine');
    expect((await service.list(`/demo/jobs/${id}/stor`)).map(({ name }) => name)).toEqual(['demo', 'other']);
  });

  test('leaves out the stderr of a task that failed anyway', async () => {
    const id = await service.create([{ exec: 'echo why >&2; exit 3' }]);
    await service.put(`/demo/jobs/${id}/stor/demo`, 'mine');
    await service.add(id, ['/demo/stor/a'], true);
    const { errors } = await service.wait(id);
    expect(errors.map(({ message, stderr }) => [message, stderr])).toEqual([['user command exited with code 3', undefined]]);
  });

  test('no directory is made in the place of an object by the service itself', async () => {
    await expect(
      service.store.write((transaction) => ensureDirectory(transaction, placeOf('demo', 'stor/a/below'), 0)),
    ).rejects.toMatchObject({ code: 'ParentNotDirectory' });
  });
});
