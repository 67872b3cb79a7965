/**
 * All operations of the object storage service (its section 4). The specification writes `/:login/stor/...`; here the path after the
 * account is one input, because `public`, `jobs` and `uploads` are parsed in the same way.
 */
import { header, list, map, number, optional, query, text } from './fields.ts';
import * as o from './objects.ts';
import { operation, operations } from './operation.ts';

const conditions = {
  ifMatch: header('if-match', 'Only if the object has this etag'),
  ifNoneMatch: header('if-none-match', 'Only if the object does not have this etag; *: only if no object exists'),
  ifModifiedSince: header('if-modified-since', 'Only if changed since this time'),
  ifUnmodifiedSince: header('if-unmodified-since', 'Only if not changed since this time'),
};
const roleTag = { roleTag: header('role-tag', 'Roles to tag it with, comma-separated') };
const copies = { durabilityLevel: header('durability-level', 'Number of copies, 1 to 6') };
const lengthLimit = { maxContentLength: header('max-content-length', 'Maximum number of bytes to accept when the length is not known') };
const page = {
  limit: optional(number('Maximum number of entries in the response')),
  marker: optional(text('Name to start at, inclusive')),
  dir: optional(text('Only directories')),
  obj: optional(text('Only objects')),
  sort: optional(text('name, mtime or none')),
  sort_order: optional(text('reverse')),
};
const partPath = 'uploads/:prefix/:id';

export const storage = operations('storage', {
  putDirectory: operation('PUT /:account/*path', {
    summary: 'Creates or updates a directory',
    when: { contentType: 'directory' },
    fields: { ...conditions, ...roleTag },
    body: 'none',
    creates: true,
    storesHeaders: true,
  }).answering(),
  listDirectory: operation('GET /:account/*path', {
    summary: 'The entries of a directory, in the order of their UTF-8 bytes',
    when: { entry: 'directory' },
    fields: page,
  }).listing(o.entry),
  deleteDirectory: operation('DELETE /:account/*path', {
    summary: 'Deletes an empty directory',
    when: { entry: 'directory' },
    fields: conditions,
  }).answering(),

  putObject: operation('PUT /:account/*path', {
    summary: 'Stores an object',
    fields: {
      ...conditions,
      ...copies,
      ...roleTag,
      contentMd5: header('content-md5', 'MD5 of the content, Base64; the service checks it'),
      ...lengthLimit,
    },
    body: 'bytes',
    storesHeaders: true,
    creates: true,
  }).answering(),
  putMetadata: operation('PUT /:account/*path?metadata=true', {
    summary: 'Replaces the stored headers, not the data',
    fields: { ...conditions, ...copies, ...roleTag, contentMd5: header('content-md5', 'Cannot be changed: rejected') },
    body: 'none',
    needsEntry: true,
    storesHeaders: true,
  }).answering(),
  getObject: operation('GET /:account/*path', {
    summary: 'The bytes of an object',
    when: { entry: 'object' },
    fields: {
      ...conditions,
      range: header('range', 'bytes=FIRST-LAST'),
      ifRange: header('if-range', 'Return the range only if the object has this etag, otherwise the whole object'),
      accept: header('accept', 'Accepted content types'),
    },
  }).bytes(),
  deleteObject: operation('DELETE /:account/*path', {
    summary: 'Deletes an object',
    when: { entry: 'object' },
    fields: conditions,
  }).answering(),
  putSnapLink: operation('PUT /:account/*path', {
    summary: 'Creates a snap-link: another name for the current content of an object',
    when: { contentType: 'link' },
    fields: { ...conditions, location: header('location', 'Path of the source object'), ...roleTag },
    body: 'none',
    creates: true,
  }).answering(),

  createJob: operation('POST /:account/jobs', {
    summary: 'Creates a job',
    fields: { name: optional(text('Name')), phases: list('Phases', o.phase) },
    status: 201,
  }).answering(),
  addJobInputs: operation('POST /:account/jobs/:id/live/in', {
    summary: 'Adds objects to the input of a job',
    fields: { end: optional(query(text('true: also end the input'))) },
    body: 'lines',
  }).answering(),
  endJobInput: operation('POST /:account/jobs/:id/live/in/end', {
    summary: 'Ends the input of a job',
    status: 202,
    body: 'none',
    idempotent: true,
  }).answering(),
  cancelJob: operation('POST /:account/jobs/:id/live/cancel', {
    summary: 'Cancels a job',
    status: 202,
    body: 'none',
    idempotent: true,
  }).answering(),
  listJobs: operation('GET /:account/jobs', {
    summary: 'The jobs of the account',
    fields: {
      state: optional(text('running, live, queued or done')),
      name: optional(text('Name of the job')),
      ...page,
    },
  }).listing(o.entry),
  getJob: operation('GET /:account/jobs/:id/live/status', { summary: 'The state of a job' }).returning(o.job),
  getJobOutput: operation('GET /:account/jobs/:id/live/out', { summary: 'The output objects of a job' }).lines(),
  getJobInput: operation('GET /:account/jobs/:id/live/in', { summary: 'The input objects of a job' }).lines(),
  getJobFailures: operation('GET /:account/jobs/:id/live/fail', { summary: 'The input objects that failed' }).lines(),
  getJobErrors: operation('GET /:account/jobs/:id/live/err', { summary: 'The errors of a job' }).listing(o.jobError, 'job-error'),

  createMultipartUpload: operation('POST /:account/uploads', {
    summary: 'Creates a multipart upload',
    fields: { objectPath: text('Path of the object that the commit creates'), headers: optional(map('Headers stored with it')) },
    status: 201,
  }).returning(o.createdUpload),
  uploadPart: operation(`PUT /:account/${partPath}/:part`, {
    summary: 'Stores a part',
    fields: { contentMd5: header('content-md5', 'MD5 of the part, Base64'), ...lengthLimit, ...copies },
    body: 'bytes',
  }).answering(),
  getMultipartUpload: operation(`GET /:account/${partPath}/state`, { summary: 'The state of a multipart upload' }).returning(o.upload),
  commitMultipartUpload: operation(`POST /:account/${partPath}/commit`, {
    summary: 'Commits an upload: creates the object from its parts',
    fields: { parts: list('Etags of the parts, in order from part 0') },
    needsUpload: true,
    status: 201,
    idempotent: true,
  }).answering(),
  abortMultipartUpload: operation(`POST /:account/${partPath}/abort`, {
    summary: 'Aborts a multipart upload',
    body: 'none',
    idempotent: true,
  }).answering(),
  redirectUpload: operation('GET /:account/uploads/:id', {
    summary: 'The path of the parts of an upload, as a redirect',
    when: { uuid: 'id' },
    status: 301,
  }).answering(),
  redirectPart: operation('GET /:account/uploads/:id/:part', {
    summary: 'The path of a part of an upload, as a redirect',
    when: { uuid: 'id' },
    status: 301,
  }).answering(),
});
