import { describe, expect, test } from 'vitest';
import { compute } from '../../../src/api/compute.ts';
import { readAll } from '../../../src/api/message.ts';
import { storage } from '../../../src/api/storage.ts';
import { buildRequest, encodePart, encodeQuery } from '../../../src/client/request.ts';

const bodyOf = async (request: ReturnType<typeof buildRequest>): Promise<unknown> =>
  JSON.parse(Buffer.from(await readAll(request.body)).toString());

describe('the request of an operation', () => {
  test('path inputs are encoded, each as one segment', () => {
    const { method, target } = buildRequest(compute.getKey, { account: 'my', key: 'a/b %é' });
    expect([method, target]).toEqual(['GET', '/my/keys/a%2Fb%20%25%C3%A9']);
  });

  test('the rest of a path keeps its slashes and nothing else', () => {
    const path = "stor/a b/c?d#e%41'(*)/ü\n";
    expect(buildRequest(storage.getObject, { account: 'demo', path }).target).toBe('/demo/stor/a%20b/c%3Fd%23e%2541%27%28%2A%29/%C3%BC%0A');
  });

  test('fields of a GET go into the query; those of a POST into a JSON body with its length', async () => {
    expect(buildRequest(compute.listImages, { account: 'my', os: 'linux', public: false, state: undefined }).target).toBe(
      '/my/images?os=linux&public=false',
    );
    const post = buildRequest(compute.createKey, { account: 'my', key: 'ssh-rsa AAAA', name: 'é' });
    expect([post.target, post.headers['content-type'], post.headers['content-length']]).toEqual(['/my/keys', 'application/json', '34']);
    expect(await bodyOf(post)).toEqual({ key: 'ssh-rsa AAAA', name: 'é' });
  });

  test('an input that no field declares is an error of the program, not ignored', () => {
    const filter = { account: 'my', flexibleDisk: true };
    expect(() => buildRequest(compute.listPackages, filter)).toThrow('listPackages has no input flexibleDisk');
    const body = { account: 'my', path: 'stor/x', body: Buffer.from('') };
    expect(() => buildRequest(storage.getObject, body)).toThrow('getObject has no input body');
    expect(buildRequest(storage.putObject, { ...body, length: 0, headers: { 'm-a': 'b' } }).headers['m-a']).toBe('b');
  });

  test('what distinguishes operations of one path is in the query and the content type', () => {
    expect(buildRequest(compute.cloneImage, { account: 'my', id: 'x' }).target).toBe('/my/images/x?action=clone');
    const imported = buildRequest(compute.importImageFromDatacenter, { account: 'my', datacenter: 'dc-2', id: 'x' });
    expect(imported.target).toBe('/my/images?action=import-from-datacenter&datacenter=dc-2&id=x');
    expect(buildRequest(storage.putDirectory, { account: 'demo', path: 'stor/a' }).headers['content-type']).toBe(
      'application/json; type=directory',
    );
    const link = buildRequest(storage.putSnapLink, { account: 'demo', path: 'stor/b', location: '/demo/stor/a' });
    expect(link.headers).toEqual({ 'content-type': 'application/json; type=link', location: '/demo/stor/a', 'content-length': '0' });
  });

  test('fields that deployed services know by other names are sent under both', async () => {
    expect(await bodyOf(buildRequest(compute.updateAccount, { account: 'my', cloud_cns_enabled: true }))).toEqual({
      cloud_cns_enabled: true,
      triton_cns_enabled: true,
    });
  });

  test('a change of metadata goes chunked: deployed services refuse even a length of 0', async () => {
    const { headers, body, target } = buildRequest(storage.putMetadata, { account: 'demo', path: 'stor/a', headers: { 'm-a': '1' } });
    expect(target).toBe('/demo/stor/a?metadata=true');
    expect(headers).toEqual({ 'm-a': '1' });
    expect((await readAll(body)).length).toBe(0);
    expect(body instanceof Uint8Array).toBe(false);
  });

  test.each(['', '.', '..'])('%j as a name would make the path that of something else: no request', (name) => {
    expect(() => buildRequest(compute.createUserKey, { account: 'my', user: name, key: 'x' })).toThrow(`"${name}" is not a name`);
    expect(() => buildRequest(compute.listKeys, { account: name })).toThrow(`"${name}" is not a name`);
    if (name === '') return;
    for (const path of [name, `stor/${name}`, `stor/${name}/a`])
      expect(() => buildRequest(storage.deleteObject, { account: 'demo', path })).toThrow(`"${name}" is not a name`);
  });

  test('a missing path input is a fault of the program, not a request', () => {
    expect(() => buildRequest(compute.getKey, { account: 'my' })).toThrow('getKey: path input key is missing');
  });
});

test('encoding covers what pre-signed forms want encoded too', () => {
  expect(encodePart("!'()*~-_.")).toBe('%21%27%28%29%2A~-_.');
  expect(encodeQuery({ a: 1, b: undefined, c: ['x', 'y'] })).toBe('?a=1&c=x&c=y');
  expect(encodeQuery({})).toBe('');
});
