import { storage } from '../../../api/storage.ts';
import { section } from '../check.ts';
import { Skip } from '../outcome.ts';
import { makeHome, putText } from './directories.ts';
import { makeObject, makeText, date } from './objects.ts';

const asLink = { 'content-type': 'application/json; type=link' };

export const links = section('storage', '4 SnapLink', {
  'put-link': {
    states: 'A snap-link returns 204 with Etag and Last-Modified',
    operations: [storage.putSnapLink],
    run: async (at) => {
      const [source, home] = [await at.need(makeObject), await at.need(makeHome)];
      const response = await at.storage('PUT', `${home}/link`, { headers: { ...asLink, location: source } });
      at.expect(
        response,
        { status: 204, empty: true, headers: { etag: /./u, 'last-modified': date } },
        { status: 403, code: 'SnaplinksDisabledError', decision: 'newer deployed services do not support snap-links' },
      );
    },
  },
  'link-keeps': {
    states: 'A snap-link keeps its content when the object changes (section 1)',
    operations: [storage.putSnapLink, storage.getObject],
    run: async (at) => {
      const { path } = await makeText(at, 'linked');
      const response = await at.storage('PUT', `${path}-link`, { headers: { ...asLink, location: path } });
      if (response.status === 403) throw new Skip('the service does not support snap-links');
      at.expect(response, { status: 204 });
      at.expect(await putText(at, path, 'another'), { status: 204 });
      at.expect(await at.storage('GET', `${path}-link`), { status: 200, body: 'a text\n' });
    },
  },
  'link-missing': {
    states: 'A snap-link to a missing object is rejected',
    operations: [storage.putSnapLink],
    run: async (at) => {
      const home = await at.need(makeHome);
      const response = await at.storage('PUT', `${home}/dangling`, { headers: { ...asLink, location: `${home}/nowhere` } });
      at.expect(
        response,
        { status: 404, code: ['SourceObjectNotFound', 'ResourceNotFound'] },
        { status: 403, code: 'SnaplinksDisabledError', decision: 'newer deployed services do not support snap-links' },
      );
    },
  },
});
