import { storage } from '../../../api/storage.ts';
import type { At } from '../at.ts';
import { section } from '../check.ts';
import { madeDirectory } from '../cleanup.ts';
import { escapePattern, md5Of, objectOf, type Response } from '../response.ts';
import { makeDirectory, makeHome } from './directories.ts';

/** An upload that was created. */
interface Upload {
  readonly id: string;
  /** Path of its parts, as the service returned it. */
  readonly parts: string;
  readonly target: string;
}

const makeKeptNames = (at: At): Promise<string> => makeDirectory(at, madeDirectory);

/** Records a job or an upload where the end of this run finds it, or the next run if this one is killed. */
export async function keepName(at: At, name: string): Promise<void> {
  at.kept.push(name);
  at.expect(await at.storage('PUT', `${await at.need(makeKeptNames)}/${name}`, { body: '' }), { status: 204 });
}

function create(at: At, json: object): Promise<Response> {
  return at.storage('POST', '~~/uploads', { json });
}

async function begin(at: At, name: string, headers?: object): Promise<Upload> {
  const target = `${await at.need(makeHome)}/${name}`;
  const response = at.expect(await create(at, { objectPath: target, ...(headers && { headers }) }), { status: 201 });
  const { id, partsDirectory } = objectOf(response);
  at.assert(typeof id === 'string' && typeof partsDirectory === 'string', 'the upload has no id or no partsDirectory');
  const parts = String(partsDirectory);
  await keepName(at, `upload:${parts.split('/').at(-2) ?? ''}:${String(id)}`);
  return { id: String(id), parts, target };
}

async function putPart(at: At, { parts }: Upload, number: number, body: string | Uint8Array): Promise<string> {
  const { headers } = at.expect(await at.storage('PUT', `${parts}/${number}`, { body }), { status: 204 });
  return headers['etag'] ?? '';
}

const commit = (at: At, { parts }: Upload, etags: readonly string[]): Promise<Response> =>
  at.storage('POST', `${parts}/commit`, { json: { parts: etags } });
const abort = (at: At, { parts }: Upload): Promise<Response> => at.storage('POST', `${parts}/abort`);
const state = (at: At, { parts }: Upload): Promise<Response> => at.storage('GET', `${parts}/state`);

/** A committed upload of one part, and the etag of the part. */
async function makeCommitted(at: At): Promise<Upload & { readonly etag: string }> {
  const upload = await begin(at, 'committed');
  const etag = await putPart(at, upload, 0, 'content');
  at.expect(await commit(at, upload, [etag]), { status: 201 });
  return { ...upload, etag };
}

const refused = { status: [400, 409], code: ['MultipartUploadInvalidArgument', 'MultipartUploadInvalidArgumentError'] };
const inState = { status: 409, code: ['InvalidMultipartUploadState', 'InvalidMultipartUploadStateError'] };

export const uploads = section('storage', '4 Multipart uploads', {
  'create-upload': {
    states: 'CreateMultipartUpload returns 201 with id and partsDirectory, and is not idempotent',
    run: async (at) => {
      const [one, other] = [await begin(at, 'one'), await begin(at, 'one')];
      at.assert(one.id !== other.id, 'the repeated request returned the same id');
    },
  },
  'parts-directory': {
    states: 'partsDirectory is /:login/uploads/<first three characters of the id>/<id> (section 2)',
    operations: [storage.createMultipartUpload],
    run: async (at) => {
      const { id, parts } = await begin(at, 'prefixed');
      const [, , , prefix = ''] = parts.split('/');
      const isPrefixed = prefix !== '' && id.startsWith(prefix) && parts === `/${at.account}/uploads/${prefix}/${id}`;
      at.assert(isPrefixed, `partsDirectory of ${id} is ${parts}`);
      if (prefix !== id.slice(0, 3)) at.decide('the length of the prefix is the last digit of the id');
    },
  },
  'create-upload-header': {
    states: 'An unsupported header makes the creation fail with MultipartUploadInvalidArgumentError',
    operations: [storage.createMultipartUpload],
    run: async (at) => {
      const objectPath = `${await at.need(makeHome)}/refused`;
      at.expect(
        await create(at, { objectPath, headers: { 'if-match': 'x' } }),
        { status: [400, 409], code: 'MultipartUploadInvalidArgumentError' },
        { ...refused, decision: 'the code is MultipartUploadInvalidArgument, without the suffix' },
      );
    },
  },
  'create-upload-size': {
    states: 'Headers of more than 4 KB make the creation fail',
    operations: [storage.createMultipartUpload],
    run: async (at) => {
      const objectPath = `${await at.need(makeHome)}/refused`;
      const headers = { 'm-one': 'a'.repeat(2500), 'm-two': 'b'.repeat(2500) };
      at.expect(await create(at, { objectPath, headers }), { status: [400, 409, 413] });
    },
  },
  'create-upload-path': {
    states: 'objectPath is required',
    operations: [storage.createMultipartUpload],
    run: async (at) => at.expect(await create(at, {}), { status: [400, 409] }),
  },
  'upload-part': {
    states: 'UploadPart returns 204 with Etag and Computed-MD5',
    run: async (at) => {
      const upload = await begin(at, 'part');
      const response = await at.storage('PUT', `${upload.parts}/0`, {
        body: 'part',
        headers: { 'content-md5': md5Of(Buffer.from('part')) },
      });
      at.expect(response, { status: 204, empty: true, headers: { etag: /./u, 'computed-md5': /^[\w+/]{22}==$/u } });
    },
  },
  'upload-part-again': {
    states: 'A part with the same number replaces the earlier part',
    operations: [storage.uploadPart, storage.commitMultipartUpload],
    run: async (at) => {
      const upload = await begin(at, 'replaced');
      await putPart(at, upload, 0, 'first');
      at.expect(await commit(at, upload, [await putPart(at, upload, 0, 'second')]), { status: 201 });
      at.expect(await at.storage('GET', upload.target), { status: 200, body: 'second' });
    },
  },
  'upload-part-condition': {
    states: 'UploadPart supports no conditional headers',
    run: async (at) => {
      const { parts } = await begin(at, 'conditional');
      const response = await at.storage('PUT', `${parts}/0`, { body: 'x', headers: { 'if-match': 'x' } });
      at.expect(response, { status: [204, 400, 409] });
    },
  },
  'upload-part-number': {
    states: 'The number of a part is at most 9999 (sections 2 and 8)',
    operations: [storage.uploadPart],
    run: async (at) => {
      const { parts } = await begin(at, 'numbers');
      at.expect(
        await at.storage('PUT', `${parts}/9999`, { body: 'x' }),
        { status: 204 },
        { ...refused, decision: 'newer deployed services accept the numbers 0 to 799' },
      );
      at.expect(await at.storage('PUT', `${parts}/10000`, { body: 'x' }), { status: [400, 404, 409] });
    },
  },
  'get-upload': {
    states: 'GetMultipartUpload shows id, state created, partsDirectory, targetObject, headers, numCopies 2 and creationTimeMs',
    run: async (at) => {
      const upload = await begin(at, 'shown', { 'm-colour': 'red' });
      const shown = objectOf(at.expect(await state(at, upload), { status: 200 }));
      const { id, state: shownState, partsDirectory, targetObject, headers, numCopies, creationTimeMs } = shown;
      const isRight = id === upload.id && shownState === 'created' && partsDirectory === upload.parts && targetObject === upload.target;
      at.assert(isRight && typeof headers === 'object' && numCopies === 2 && typeof creationTimeMs === 'number', JSON.stringify(shown));
    },
  },
  'get-upload-status': {
    states: 'GetMultipartUpload returns 204, as in the text, or 200 with the upload, as in the example',
    run: async (at) => at.expect(await state(at, await begin(at, 'status')), { status: [200, 204] }),
  },
  'commit-upload': {
    states: 'CommitMultipartUpload returns 201 with Location, Etag and Computed-MD5, and the object consists of the parts in order',
    run: async (at) => {
      const upload = await begin(at, 'joined', { 'content-type': 'text/x-joined', 'm-colour': 'red' });
      const first = Buffer.alloc(5 * 1024 * 1024, 'ab');
      const etags = [await putPart(at, upload, 0, first), await putPart(at, upload, 1, 'end')];
      const headers = { location: new RegExp(`${escapePattern(upload.target)}$`, 'u'), etag: /./u, 'computed-md5': /./u };
      at.expect(await commit(at, upload, etags), { status: 201, headers });
      at.expect(await at.storage('GET', upload.target), { status: 200, body: Buffer.concat([first, Buffer.from('end')]) });
    },
  },
  'upload-headers': {
    states: 'The object has the headers that were given at the creation',
    operations: [storage.createMultipartUpload, storage.commitMultipartUpload],
    run: async (at) => {
      const upload = await begin(at, 'with-headers', { 'content-type': 'text/x-upload', 'm-colour': 'red', 'durability-level': 1 });
      at.expect(await commit(at, upload, [await putPart(at, upload, 0, 'x')]), { status: 201 });
      const headers = { 'content-type': /^text\/x-upload$/u, 'm-colour': /^red$/u, 'durability-level': /^1$/u };
      at.expect(await at.storage('GET', upload.target), { status: 200, headers });
    },
  },
  'commit-again': {
    states: 'CommitMultipartUpload is idempotent: with the same parts it returns 201 again (section 3)',
    run: async (at) => {
      const upload = await at.need(makeCommitted);
      at.expect(await commit(at, upload, [upload.etag]), { status: 201 });
    },
  },
  'commit-others': {
    states: 'A committed upload cannot be committed with other parts (section 3)',
    operations: [storage.commitMultipartUpload],
    run: async (at) => at.expect(await commit(at, await at.need(makeCommitted), []), inState),
  },
  'abort-committed': {
    states: 'A committed upload cannot be aborted (section 3)',
    operations: [storage.abortMultipartUpload],
    run: async (at) => at.expect(await abort(at, await at.need(makeCommitted)), inState),
  },
  'commit-etag': {
    states: 'A commit with an unknown etag is rejected',
    operations: [storage.commitMultipartUpload],
    run: async (at) => {
      const upload = await begin(at, 'other-etag');
      await putPart(at, upload, 0, 'x');
      at.expect(await commit(at, upload, ['00000000-0000-4000-8000-000000000000']), { status: [400, 409] });
      at.expect(await at.storage('GET', upload.target), { status: 404 });
    },
  },
  'commit-gap': {
    states: 'A commit of parts that are not consecutive from 0 is rejected (section 8)',
    operations: [storage.commitMultipartUpload],
    run: async (at) => {
      const upload = await begin(at, 'gap');
      at.expect(await commit(at, upload, [await putPart(at, upload, 1, 'x')]), { status: [400, 409] });
    },
  },
  'commit-small': {
    states: 'A commit in which a part other than the last has less than 5 MB is rejected (section 8)',
    operations: [storage.commitMultipartUpload],
    run: async (at) => {
      const upload = await begin(at, 'small');
      const etags = [await putPart(at, upload, 0, 'x'), await putPart(at, upload, 1, 'y')];
      at.expect(await commit(at, upload, etags), { status: [400, 409] });
    },
  },
  'abort-upload': {
    states: 'AbortMultipartUpload returns 204, also when repeated, and the upload can no longer be committed',
    run: async (at) => {
      const upload = await begin(at, 'aborted');
      const etag = await putPart(at, upload, 0, 'x');
      at.expect(await abort(at, upload), { status: 204 });
      at.expect(await abort(at, upload), { status: 204 });
      at.expect(await commit(at, upload, [etag]), inState);
    },
  },
  'redirect-upload': {
    states: 'GET of /uploads/:id and of a part there returns 301 with the parts directory in Location',
    operations: [storage.redirectUpload, storage.redirectPart],
    run: async (at) => {
      const { id, parts } = await begin(at, 'redirected');
      const directory = escapePattern(parts);
      at.expect(await at.storage('GET', `~~/uploads/${id}`), { status: 301, headers: { location: new RegExp(`${directory}$`, 'u') } });
      at.expect(await at.storage('GET', `~~/uploads/${id}/0`), {
        status: 301,
        headers: { location: new RegExp(`${directory}(?:/0)?$`, 'u') },
      });
    },
  },
  'redirect-missing': {
    states: 'The redirection of an upload that does not exist returns 404 ResourceNotFound (section 7)',
    operations: [storage.redirectUpload],
    reads: true,
    run: async (at) => {
      const path = '~~/uploads/4ef0ff4c-0a6f-4a9c-b0b5-2d5b9d5f0c53';
      at.expect(await at.storage('GET', path), { status: 404, code: 'ResourceNotFound' });
    },
  },
});
