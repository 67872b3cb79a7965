import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** A service that answers GetJob and GetMultipartUpload with an empty 204, as the text of the specification has it (object storage, section 4). */

const user = useShared('--http');

beforeAll(async () => {
  for (const operation of ['getjob', 'getmultipartupload']) await user.json('local', 'faults', 'add', operation, '204');
});

test('a job is run, watched and listed without the records of the service', async () => {
  await user.line('echo one > one; cloud stor put one one -q');
  const run = await user.here(['jobs', 'run', '--map', 'cat', 'one']);
  expect([run.code, run.stdout]).toEqual([0, 'one\n']);
  const created = await user.here(['jobs', 'create', '--map', 'cat', '-o', 'name']);
  const id = created.stdout.trim();
  expect([created.code, id]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  expect(await user.json('jobs', 'get', id)).toEqual({ id });
  expect(await user.json('jobs', 'list')).toContainEqual({ id });
  const waited = await user.here(['jobs', 'wait', id, '--wait-timeout', '1s']);
  expect([waited.code, waited.stderr]).toEqual([6, expect.stringContaining('the service reports no progress')]);
  expect((await user.here(['jobs', 'add', id, 'one', '--end'])).code).toBe(0);
  // What is done has its record as a file.
  expect((await user.here(['jobs', 'wait', id])).code).toBe(0);
  expect(await user.json('jobs', 'get', id)).toMatchObject({ id, state: 'done', stats: { outputs: 1 } });
  expect((await user.here(['jobs', 'get', '0f3c0000-0000-4000-8000-000000000003'])).code).toBe(3);
});

test('an upload is shown and committed without its state', async () => {
  const id = (await user.here(['mpu', 'create', 'whole', '-o', 'name'])).stdout.trim();
  const known = { id, partsDirectory: `/demo/uploads/${id.slice(0, 3)}/${id}` };
  expect(await user.json('mpu', 'get', id)).toEqual(known);
  expect(await user.json('mpu', 'list')).toEqual([known]);
  const { etag } = await user.json<{ etag: string }>('mpu', 'put-part', id, '0', 'one');
  const committed = await user.json<{ path: string }>('mpu', 'commit', id);
  expect(committed.path).toBe('/demo/stor/whole');
  // The same again is harmless, and other parts are refused by the service.
  expect(await user.json('mpu', 'commit', id, etag)).toEqual(committed);
  expect((await user.here(['mpu', 'commit', id, 'other'])).stderr).toContain('InvalidMultipartUploadState');
  expect((await user.here(['stor', 'cat', 'whole'])).stdout).toBe('one\n');
});

test('an interrupted upload is gone on with', async () => {
  user.write('large', randomBytes(12 * 1024 * 1024));
  const line = 'cloud mpu upload large large --part-size 5M -P 1 -q';
  const begun = 'until cloud mpu list -o name | grep -q .; do sleep 0.05; done';
  const cut = await user.shell(`${line} --bwlimit 512K & ${begun}; kill -TERM $!; wait $!`);
  expect(cut.code).toBe(143);
  expect(await user.json('mpu', 'list')).toHaveLength(1);
  // An upload of its own would leave the first one.
  expect((await user.shell(line)).code).toBe(0);
  expect(await user.json('mpu', 'list')).toEqual([]);
  expect((await user.shell('cloud stor cat large | cmp - large && echo same')).stdout).toBe('same\n');
});
