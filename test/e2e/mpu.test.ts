import { createHash, randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');
const mebibyte = 1024 * 1024;

async function create(path: string, ...words: string[]): Promise<string> {
  const { stdout, code } = await user.here(['mpu', 'create', path, '-o', 'name', ...words]);
  expect(code).toBe(0);
  return stdout.trim();
}

test('an object is made of parts, with the headers given at the beginning', async () => {
  const [first, second] = [randomBytes(5 * mebibyte), randomBytes(100)];
  user.write('part0', first);
  const id = await create('whole.bin', '-m', 'host=web1', '--copies', '3');
  expect((await user.json<{ etag: string }>('mpu', 'put-part', id, '0', 'part0')).etag).not.toBe('');
  expect((await user.here(['mpu', 'put-part', id, '1', '-'], { input: second })).code).toBe(0);
  expect(await user.json('mpu', 'get', id.slice(0, 8))).toMatchObject({
    id,
    state: 'created',
    targetObject: '/demo/stor/whole.bin',
    numCopies: 3,
  });
  const parts = await user.json<{ number: number; size: number; etag: string }[]>('mpu', 'parts', id);
  expect(parts.map(({ number, size }) => [number, size])).toEqual([
    [0, first.length],
    [1, second.length],
  ]);
  expect((await user.json<{ id: string }[]>('mpu', 'list')).map((upload) => upload.id)).toEqual([id]);
  const etags = parts.map(({ etag }) => etag);
  const wrong = await user.here(['mpu', 'commit', id, ...etags.toReversed()]);
  expect([wrong.code, wrong.stderr.includes('part 0 has the etag')]).toEqual([2, true]);
  expect(await user.json('mpu', 'commit', id, ...etags)).toMatchObject({ path: '/demo/stor/whole.bin' });
  // The same again is harmless.
  expect(await user.json('mpu', 'commit', id, ...etags)).toMatchObject({ path: '/demo/stor/whole.bin' });
  expect((await user.here(['stor', 'cat', 'whole.bin'])).bytes.equals(Buffer.concat([first, second]))).toBe(true);
  expect(await user.json('stor', 'meta', 'get', 'whole.bin')).toMatchObject({ 'm-host': 'web1' });
  expect(await user.json('mpu', 'list')).toEqual([]);
  expect((await user.here(['mpu', 'abort', id, '-y'])).code).toBe(1);
});

test('what no service would commit is refused before it is sent', async () => {
  const id = await create('refused.bin');
  user.write('small', 'small');
  expect((await user.here(['mpu', 'put-part', id, '0', 'small'])).stderr).toContain('only the last part');
  await user.here(['mpu', 'put-part', id, '2', 'small', '-q']);
  const gap = await user.here(['mpu', 'commit', id]);
  expect([gap.code, gap.stderr.includes('at least 5 MiB')]).toEqual([2, true]);
  user.write('large', randomBytes(5 * mebibyte));
  await user.here(['mpu', 'put-part', id, '0', 'large', '-q']);
  expect((await user.here(['mpu', 'commit', id])).stderr).toContain('part 1 is missing');
  for (const number of ['10000', '-1', 'x']) {
    expect((await user.here(['mpu', 'put-part', id, '--', number, 'small'])).code).toBe(2);
  }
  expect((await user.here(['mpu', 'abort', id])).code).toBe(2);
  expect((await user.here(['mpu', 'abort', id, 'nonsense', '-y'])).code).toBe(5);
  expect((await user.here(['mpu', 'get', 'ffffffff'])).code).toBe(3);
  expect((await user.here(['mpu', 'upload', 'large', 'x', '--part-size', '1M'])).stderr).toContain('at least 5 MiB');
});

test('a file goes up whole in parts, and a pipe of unknown length', async () => {
  const content = randomBytes(11 * mebibyte);
  user.write('file', content);
  const [stored] = await user.json<{ size: number }[]>('mpu', 'upload', 'file', 'deep/file', '-p', '--part-size', '5M');
  expect(stored?.size).toBe(content.length);
  expect((await user.here(['stor', 'cat', 'deep/file'])).bytes.equals(content)).toBe(true);
  const piped = await user.shell('cat file | cloud mpu upload - piped --part-size 5M -q && cloud stor get piped | cmp - file');
  expect(piped).toMatchObject({ code: 0, stdout: '', stderr: '' });
  expect((await user.here(['mpu', 'upload', 'file', 'no/such/dir/file'])).stderr).toContain('cloud mpu upload -p');
  expect(await user.json('mpu', 'list')).toEqual([]);
});

test('a target that is a directory gets the file under its name, and a new upload needs a whole path', async () => {
  user.write('file', 'content');
  await user.here(['stor', 'mkdir', 'there']);
  for (const target of ['there', 'there/', 'new/'])
    expect(await user.json('mpu', 'upload', 'file', target, '-p')).toMatchObject([{ path: `/demo/stor/${target.replace('/', '')}/file` }]);
  const absent = await user.here(['mpu', 'upload', 'file', 'absent/']);
  expect([absent.code, absent.stderr]).toEqual([3, expect.stringContaining('cloud mpu upload -p file absent/')]);
  const nameless = await user.here(['mpu', 'upload', '-', 'there/'], { input: 'content' });
  expect([nameless.code, nameless.stderr]).toEqual([2, expect.stringContaining('needs a name')]);
  const created = await user.here(['mpu', 'create', 'absent/']);
  expect([created.code, created.stderr]).toEqual([
    2,
    expect.stringContaining('hint: give its full path: cloud mpu create /demo/stor/absent/NAME'),
  ]);
  expect(await user.json('mpu', 'list')).toEqual([]);
});

test('length and MD5 of the object to come are declared at the beginning and compared at the commit', async () => {
  user.write('declared', 'declared');
  const md5 = createHash('md5').update('declared').digest('base64');
  const right = await create('declared', '--header', `content-md5: ${md5}`, '--header', 'content-length: 8');
  const wrong = await create('declared', '--header', 'content-length: 9');
  for (const id of [right, wrong]) await user.here(['mpu', 'put-part', id, '0', 'declared', '-q']);
  expect((await user.here(['mpu', 'commit', wrong])).stderr).toContain('declared as content-length');
  expect((await user.here(['mpu', 'commit', right])).code).toBe(0);
  expect((await user.here(['stor', 'cat', 'declared'])).stdout).toBe('declared');
});

describe('the directory of uploads', () => {
  let id = '';
  let place = '';
  beforeAll(async () => {
    user.write('file', 'file');
    id = await create('never');
    place = `/demo/uploads/${id.slice(0, 3)}/${id}`;
    user.write(`folder/uploads/${id.slice(0, 3)}/${id}/3`, 'file');
    await user.shell('tar cf folder.tar folder');
    await user.line('cloud stor put -q file source; cloud stor mkdir -p kept; cloud stor snapshot create kept@one -q');
  });

  test.each([
    'stor mv source PART',
    'stor cp source PART',
    'stor cp -n source PART',
    'stor ln source PART',
    'stor put file PART',
    'stor put -r folder PART',
    'stor put -r folder ~~/uploads',
    'stor put -T -r folder stor:~~',
    'stor put file other --backup-dir PART',
    'stor put --untar folder.tar PART',
    'stor sync folder stor:PART',
    'stor sync folder stor:~~',
    'stor mkdir -p PART',
    'stor snapshot restore kept@one --to PART',
    'mpu create PART',
    'mpu upload file PART',
  ])('only parts are stored there: %s', async (line) => {
    const { code, stderr } = await user.here(line.replace('PART', `${place}/3`).split(' '));
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining('is in the directory of multipart uploads')]);
    expect(await user.json('mpu', 'parts', id)).toEqual([]);
    expect((await user.here(['stor', 'cat', 'source'])).stdout).toBe('file');
  });
});
