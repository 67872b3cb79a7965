/** The resources of the object storage service (its section 2). */
import { boolean, choice, list, map, number, object, optional, orText, text, type TypeOf } from './fields.ts';

export const entry = object('An entry of a directory', {
  name: text('Name'),
  type: choice('Kind of entry', ['directory', 'object']),
  mtime: text('Time of the last change'),
  etag: optional(text('Entity tag: changes with every write; for conditional requests')),
  size: optional(number('Size in bytes')),
  contentType: optional(text('Content type')),
  contentMD5: optional(text('MD5 of the content, Base64')),
  durability: optional(number('Number of copies')),
  contentDisposition: optional(text('Content disposition')),
});
export type Entry = TypeOf<typeof entry>;

export const phase = object('A phase of a job', {
  type: optional(choice('Kind of phase; default map', ['map', 'reduce'])),
  exec: text('Shell command of each task'),
  init: optional(text('Shell command run in each zone before its tasks')),
  assets: optional(list('Objects placed in the zones')),
  count: optional(number('Number of reducers')),
  memory: optional(number('Memory in MB')),
  disk: optional(number('Disk in GB')),
});
export type Phase = TypeOf<typeof phase>;

export const job = object('A job', {
  id: text('UUID'),
  name: optional(text('Name')),
  state: text('State: queued, running, done'),
  cancelled: boolean('Whether the job was cancelled'),
  inputDone: boolean('Whether the input of the job has ended'),
  timeCreated: text('Time of creation'),
  timeDone: optional(text('Time of completion')),
  phases: list('Phases', phase),
  stats: optional(map('Counts of tasks, outputs, errors, retries')),
  problem: optional(text('What currently prevents the service from continuing the job')),
});
export type Job = TypeOf<typeof job>;

export const jobError = object('An error of a job', {
  taskId: optional(text('Task')),
  phaseNum: optional(orText(number('Number of the phase'))),
  what: text('What failed'),
  code: text('Code'),
  message: text('Message'),
  server: optional(text('Server')),
  machine: optional(text('Zone; the server if the task had no zone')),
  input: optional(text('Object that was being processed')),
  p0input: optional(text('Input of phase 0 that the object derives from')),
  core: optional(text('Core file')),
  stderr: optional(text('Object holding the standard error')),
});
export type JobError = TypeOf<typeof jobError>;

export const upload = object('A multipart upload', {
  id: text('Upload id'),
  state: text('State: created, finalizing, done'),
  partsDirectory: optional(text('Directory of the parts')),
  targetObject: optional(text('Object that the commit creates')),
  headers: optional(map('Headers stored with the object')),
  numCopies: optional(number('Number of copies')),
  creationTimeMs: optional(number('Time of creation, epoch milliseconds')),
  partsMD5Summary: optional(text('Base64 MD5 of the etags of the parts, after the commit')),
});
export type Upload = TypeOf<typeof upload>;

export const createdUpload = object('A new multipart upload', {
  id: text('Upload id'),
  partsDirectory: text('Directory of the parts'),
});
