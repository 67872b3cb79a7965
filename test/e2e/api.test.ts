import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** `cloud api` for paths of the object storage, and what it says of paths that are for the other service. */

const user = useShared('--http');
const storage = ['--service', 'stor'];
let server: Server;

beforeAll(async () => {
  user.write('f', 'content');
  await user.shell(
    'mkdir -p many; for i in $(seq 1 25); do echo $i > "many/file $i"; done; cloud stor put -q -r many many; cloud stor put f f -q',
  );
  // It knows no marker: each page is the first one.
  server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-json-stream; type=directory' });
    response.end('{"name":"a","type":"object"}\n{"name":"b","type":"object"}\n');
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
});
afterAll(() => void server.close());

test('~~ stands for the account in paths of the object storage', async () => {
  for (const path of ['~~/stor/f', '/~~/stor/f', '/demo/stor/f']) {
    expect((await user.here(['api', path, ...storage])).stdout).toBe('content');
  }
  expect((await user.here(['api', '~~?limit=1', ...storage])).stdout).toContain('"jobs"');
  expect((await user.here(['api', '~~~/stor/f', ...storage])).code).toBe(2);
  const { url } = await user.json<{ url: string }>('api', 'sign', '~~/stor/f', ...storage);
  expect(await (await fetch(url)).text()).toBe('content');
});

test('--paginate gives every record of a listing once, whatever the size of a page', async () => {
  const expected = (await user.json<{ name: string }[]>('stor', 'ls', 'many')).map(({ name }) => name);
  const list = async (...words: string[]): Promise<string[]> => {
    const { code, stdout } = await user.here(['api', ...words, ...storage]);
    expect(code).toBe(0);
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { name: string }).name);
  };
  expect(await list('~~/stor/many?limit=7')).toHaveLength(7);
  for (const limit of ['1', '2', '7', '25', '1000']) expect(await list(`~~/stor/many?limit=${limit}`, '--paginate')).toEqual(expected);
  expect(await list('~~/stor/many', '-f', 'limit=7', '--paginate')).toEqual(expected);
  // From a marker on, and of names alone in the root of the account, whose markers are not included.
  expect(await list(`~~/stor/many?marker=${encodeURIComponent('file 5')}&limit=2`, '--paginate')).toEqual(
    expected.slice(expected.indexOf('file 5')),
  );
  for (const limit of ['1', '2'])
    expect(await list(`~~?limit=${limit}`, '--paginate')).toEqual(['jobs', 'public', 'reports', 'stor', 'uploads']);
  const first = (await user.here(['api', '~~/stor/many?limit=7', ...storage, '--paginate', '-i'])).stdout.split('\r\n\r\n');
  expect([first.length, first[0], first[1]?.split('\n').length]).toEqual([
    2,
    expect.stringMatching(/^HTTP\/1.1 200[^]*result-set-size: 25/),
    26,
  ]);
});

test('--paginate leaves alone what has no pages, and ends where a service knows none', async () => {
  expect((await user.here(['api', '~~/stor/f', ...storage, '--paginate'])).stdout).toBe('content');
  const keys = await user.here(['api', '/my/keys', '--paginate']);
  expect(JSON.parse(keys.stdout)).toHaveLength(1);
  const { port } = server.address() as AddressInfo;
  const words = ['api', '~~/stor', ...storage, '--paginate', '--stor-url', `http://127.0.0.1:${port}`];
  expect((await user.here(words)).stdout.split('\n')).toHaveLength(3);
  expect((await user.here(['api', 'PUT', '~~/stor/x', ...storage, '--paginate'])).stderr).toContain('--paginate is for GET');
});

test.each([
  ['api stor/f', "cloud api GET '~~/stor/f' --service stor"],
  ['api ~~/stor/f', "cloud api GET '~~/stor/f' --service stor"],
  ['api HEAD /demo/stor/f', 'cloud api HEAD /demo/stor/f --service stor'],
  ['api /stor/f', "cloud api GET '~~/stor/f' --service stor"],
  ['api /my/stor/f', 'cloud api GET /my/stor/f --service stor'],
  ['api /my/stor/f --service stor', "cloud api GET '~~/stor/f' --service stor"],
  ['api f --service stor', "cloud api GET '~~/stor/f' --service stor"],
  ['api /f --service stor', "cloud api GET '~~/stor/f' --service stor"],
  ['api /keys', 'cloud api GET /my/keys'],
  ['api keys', 'cloud api GET /my/keys'],
  ['api --service compute -- --ping', 'cloud api GET /--ping'],
  ['api sign stor/f', "cloud api sign '~~/stor/f' --service stor"],
  ['api sign keys', 'cloud api sign /my/keys'],
])('%s: the line that was meant', async (line, meant) => {
  const { code, stdout, stderr } = await user.here(line.split(' '));
  expect([stdout, stderr.trimEnd().split('\n').at(-1)]).toEqual(['', expect.stringMatching(/^hint: /)]);
  expect(code).toBeGreaterThan(0);
  expect(stderr.trimEnd().endsWith(meant)).toBe(true);
});

test('a hint for what is missing lists directories of the object storage only', async () => {
  const absent = await user.here(['api', '/my/zzz']);
  expect([absent.code, absent.stderr]).toEqual([3, expect.stringContaining('/my/zzz does not exist')]);
  expect(absent.stderr).not.toContain('hint: ');
  const stored = await user.here(['api', '~~/stor/zzz', ...storage]);
  expect([stored.code, stored.stderr]).toEqual([3, expect.stringContaining('\nhint: cloud stor ls /demo/stor\n')]);
});

test('every line that a hint names works', async () => {
  for (const line of ["cloud api GET '~~/stor/f' --service stor", 'cloud api HEAD /demo/stor/f --service stor', 'cloud api GET /my/keys']) {
    expect([line, (await user.shell(line)).code]).toEqual([line, 0]);
  }
});

test('output options that would have no effect are refused', async () => {
  for (const words of [
    ['-o', 'csv'],
    ['-o', 'name'],
    ['-o', 'jsonl'],
    ['--columns', 'name'],
    ['--sort', 'name'],
  ]) {
    const { code, stdout, stderr } = await user.here(['api', '/my/keys', ...words]);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('has no effect: cloud api prints the response unchanged')]);
  }
  expect((await user.cloud(['api', '/my/keys', '-o', 'json', '--jq', 'length'])).stdout).toBe('1\n');
});
