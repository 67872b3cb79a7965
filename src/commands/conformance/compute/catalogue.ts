import { imageStates } from '../../../api/resources.ts';
import { readingSection, section } from '../check.ts';
import { Skip } from '../outcome.ts';
import type { Shape } from '../shape.ts';
import { objectOf, type Json } from '../response.ts';
import { makeHome } from '../storage/directories.ts';
import type { At } from '../at.ts';
import { assertShape, idOf, list, missing, nobody } from './steps.ts';

const image: Shape = { id: 'uuid', name: 'text', os: 'text', version: 'text', type: 'text', owner: 'uuid', public: 'flag', state: 'text' };
const imageRest: Shape = {
  description: 'text',
  requirements: 'object',
  homepage: 'text',
  files: 'list',
  published_at: 'date',
  tags: 'object',
  eula: 'text',
  acl: 'list',
  error: 'object',
};

export const places = readingSection('compute', '4 Datacenters and services', {
  'list-datacenters': {
    states: 'ListDatacenters returns 200 with an object of URLs by name',
    run: async (at) => {
      const urls = Object.values(objectOf(at.expect(await at.compute('GET', '/my/datacenters'), { status: 200 })));
      at.assert(urls.length > 0 && urls.every((url) => URL.canParse(String(url))), `the addresses are ${JSON.stringify(urls)}`);
    },
  },
  'get-datacenter': {
    states: 'GetDatacenter returns 302 with the URL in Location and a body with the code ResourceMoved',
    run: async (at) => {
      const [[name, url] = ['', undefined]] = Object.entries(
        objectOf(at.expect(await at.compute('GET', '/my/datacenters'), { status: 200 })),
      );
      const response = at.expect(await at.compute('GET', `/my/datacenters/${encodeURIComponent(name)}`), { status: 302 });
      at.assert((response.headers['location'] ?? '').startsWith(String(url)), `Location is ${response.headers['location'] ?? 'absent'}`);
      at.assert(objectOf(response)['code'] === 'ResourceMoved', `the code is ${String(objectOf(response)['code'])}`);
    },
  },
  'get-datacenter-missing': {
    states: 'GetDatacenter of an unknown name returns 404 ResourceNotFound',
    run: async (at) => at.expect(await at.compute('GET', '/my/datacenters/conformance-of-nothing'), missing),
  },
  'list-services': {
    states: 'ListServices returns 200 with an object of endpoint URLs by name',
    run: async (at) => {
      const urls = Object.values(objectOf(at.expect(await at.compute('GET', '/my/services'), { status: 200 })));
      const areUrls = urls.every((url) => URL.canParse(String(url)));
      at.assert(areUrls, `the addresses are ${JSON.stringify(urls)}`);
    },
  },
});

/** Creates an image from an instance. */
async function makeImage(at: At): Promise<Json> {
  if (at.machine === undefined) throw new Skip('no instance is given to create an image of: --machine UUID');
  const json = { machine: at.machine, name: `${at.run}-i`, version: '1.0.0' };
  const response = at.expect(await at.compute('POST', '/my/images', { json }), { status: 201, headers: { location: /\/images\/[^/]+$/u } });
  const made = objectOf(response);
  at.assert(made['state'] === 'creating', `the state is ${String(made['state'])}`);
  const [specified, deployed] = [response.headers['job-id'], response.headers['x-joyent-jobid']];
  at.assert((specified ?? deployed) !== undefined, 'no header has the id of the job');
  return at.until('the image is active', async () => {
    const shown = objectOf(at.expect(await at.compute('GET', `/my/images/${idOf(made)}`), { status: 200 }));
    at.assert(shown['state'] !== 'failed', `the creation failed: ${JSON.stringify(shown['error'])}`);
    return shown['state'] === 'active' ? shown : undefined;
  });
}

export const images = section('compute', '4 Images', {
  'list-images': {
    states: 'ListImages returns 200 with a list of images (section 2), all of them active',
    reads: true,
    run: async (at) => {
      const found = await list(at, '/my/images');
      assertShape(at, found, image, imageRest);
      const areActive = found.every(({ state }) => state === 'active');
      at.assert(areActive, 'an image is not active');
      const haveOneFile = found.every(({ files }) => !Array.isArray(files) || files.length <= 1);
      at.assert(haveOneFile, 'an image has more than one file (section 8)');
    },
  },
  'list-images-all': {
    states: 'ListImages with state=all lists every state',
    reads: true,
    run: async (at) => {
      const [active, all] = [await list(at, '/my/images'), await list(at, '/my/images', { state: 'all' })];
      at.assert(
        all.length >= active.length && all.every(({ state }) => imageStates.some((each) => each === state)),
        'the list is shorter, or has another state',
      );
    },
  },
  'list-images-filter': {
    states: 'ListImages accepts the filters name, os, version, public, owner and type',
    reads: true,
    run: async (at) => {
      const [first] = await list(at, '/my/images');
      if (!first) throw new Skip('no image exists');
      for (const name of ['name', 'os', 'version', 'public', 'owner', 'type']) {
        const found = await list(at, '/my/images', { [name]: String(first[name]) });
        const isRight = found.length > 0 && found.every((each) => each[name] === first[name]);
        at.assert(isRight, `${name}=${String(first[name])} lists ${JSON.stringify(found.map((each) => each[name]))}`);
      }
    },
  },
  'get-image': {
    states: 'GetImage returns 200 with the image',
    reads: true,
    run: async (at) => {
      const [first] = await list(at, '/my/images');
      if (!first) throw new Skip('no image exists');
      const shown = objectOf(at.expect(await at.compute('GET', `/my/images/${idOf(first)}`), { status: 200 }));
      assertShape(at, [shown], image, imageRest);
      at.assert(shown['name'] === first['name'], 'the response has another image');
      at.expect(await at.compute('GET', `/my/images/${nobody}`), missing);
    },
  },
  'create-image': {
    states: 'CreateImageFromMachine returns 201 with Location, a header for the job, and the image in the state creating (section 3)',
    run: async (at) => {
      assertShape(at, [await makeImage({ ...at, run: `${at.run}-c` })], image, imageRest);
    },
  },
  'create-image-missing': {
    states: 'CreateImageFromMachine without machine, name or version is rejected',
    run: async (at) =>
      at.expect(await at.compute('POST', '/my/images', { json: { name: at.run } }), { status: 409, code: 'MissingParameter' }),
  },
  'update-image': {
    states: 'UpdateImage returns 200 with the updated image',
    run: async (at) => {
      const path = `/my/images/${idOf(await at.need(makeImage))}`;
      const shown = objectOf(
        at.expect(await at.compute('POST', `${path}?action=update`, { json: { description: 'new' } }), { status: 200 }),
      );
      at.assert(shown['description'] === 'new', JSON.stringify(shown));
    },
  },
  'export-image': {
    states: 'ExportImage returns 200 with storage_url, image_path and manifest_path, and the files exist',
    run: async (at) => {
      const [made, home] = [await at.need(makeImage), await at.need(makeHome)];
      const response = at.expect(
        await at.compute('POST', `/my/images/${idOf(made)}?action=export`, { json: { storage_path: home, manta_path: home } }),
        { status: 200 },
      );
      const { storage_url: url, manta_url: deployed, image_path: path, manifest_path: manifest } = objectOf(response);
      if (url === undefined && deployed !== undefined) at.decide('the field is manta_url');
      const name = `${home}/${String(made['name'])}-${String(made['version'])}`;
      at.assert(manifest === `${name}.imgmanifest` && String(path).startsWith(`${name}.zfs`), response.body.toString());
      at.expect(await at.storage('GET', String(manifest)), { status: 200 });
      at.expect(await at.storage('GET', String(path)), { status: 200 });
    },
  },
  'clone-image-own': {
    states: 'CloneImage is rejected for an image of the same account, because it is for shared images',
    run: async (at) => {
      const path = `/my/images/${idOf(await at.need(makeImage))}?action=clone`;
      at.expect(await at.compute('POST', path), {
        status: [403, 422],
        code: ['ImageNotShared', 'ImageNotSharedError', 'NotImageOwnerError'],
      });
    },
  },
  'import-image': {
    states: 'ImportImageFromDatacenter returns 201 with the image, which keeps id and published_at',
    run: async (at) => {
      if (!at.foreignImage) throw new Skip('no image is given to import: --import-image DATACENTER=UUID');
      const [datacenter, id] = at.foreignImage;
      const query = { action: 'import-from-datacenter', datacenter, id };
      const response = at.expect(
        await at.compute('POST', '/my/images', { query }),
        { status: 201 },
        { status: 200, decision: 'import returns 200' },
      );
      at.assert(objectOf(response)['id'] === id, `the id is ${String(objectOf(response)['id'])}`);
      at.expect(await at.compute('POST', '/my/images', { query }), {
        status: [409, 422],
        code: ['ImageUuidAlreadyExistsError', 'ImageUuidAlreadyExists'],
      });
      at.expect(await at.compute('DELETE', `/my/images/${id}`), { status: 204 });
    },
  },
  'import-image-missing': {
    states: 'ImportImageFromDatacenter needs datacenter and id',
    run: async (at) => {
      const response = await at.compute('POST', '/my/images', { query: { action: 'import-from-datacenter' } });
      at.expect(response, { status: 409, code: 'MissingParameter' });
    },
  },
  'delete-image-foreign': {
    states: 'DeleteImage needs the owner of the image',
    run: async (at) => {
      const [{ id: own }, all] = [objectOf(at.expect(await at.compute('GET', '/my'), { status: 200 })), await list(at, '/my/images')];
      const foreign = all.find(({ owner, public: isPublic }) => owner !== own && isPublic === true);
      if (!foreign) throw new Skip('no image of another account exists');
      at.expect(await at.compute('DELETE', `/my/images/${idOf(foreign)}`), { status: [403, 404, 422] });
    },
  },
  'delete-image': {
    states: 'DeleteImage returns 204, and the image no longer exists',
    run: async (at) => {
      const path = `/my/images/${idOf(await makeImage({ ...at, run: `${at.run}-d` }))}`;
      at.expect(await at.compute('DELETE', path), { status: 204, empty: true });
      at.expect(await at.compute('GET', path), missing);
    },
  },
});
