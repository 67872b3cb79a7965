import { storage } from '../../api/storage.ts';
import type { Handlers } from '../http/handler.ts';
import type { JobService } from '../jobs/engine.ts';
import { createCancelJob, createCreateJob, createEndJobInput, createGetJob } from '../jobs/handlers.ts';
import { createAddJobInputs } from '../jobs/inputs.ts';
import { listJobs } from '../jobs/listing.ts';
import { getJobErrors, getJobFailures, getJobInput, getJobOutput } from '../jobs/streams.ts';
import { commitMultipartUpload } from './commit.ts';
import { answerPreflight } from './cors.ts';
import { deleteDirectory, putDirectory } from './directories.ts';
import { getObject } from './downloads.ts';
import { entryAt } from './entries.ts';
import { putSnapLink } from './links.ts';
import { listDirectory } from './listing.ts';
import { putMetadata } from './metadata.ts';
import { deleteObject, putObject } from './objects.ts';
import { uploadPart } from './parts.ts';
import {
  abortMultipartUpload,
  assertUpload,
  createMultipartUpload,
  expiring,
  getMultipartUpload,
  redirectPart,
  redirectUpload,
} from './uploads.ts';

export { placeAt } from './paths.ts';

/** The configuration of the object storage. Without an engine no job can be created. */
export const describeStorage = (engine?: JobService) =>
  ({ service: 'storage', operations: storage, handlers: createHandlers(engine), entryAt, answerPreflight, assertUpload }) as const;

function createHandlers(engine?: JobService): Handlers<typeof storage> {
  const wake = (job: string): void => engine?.wake(job);
  return {
    putDirectory,
    listDirectory,
    deleteDirectory,
    putObject,
    putMetadata,
    getObject,
    deleteObject,
    putSnapLink,
    createJob: createCreateJob(engine),
    addJobInputs: createAddJobInputs(wake),
    endJobInput: createEndJobInput(wake),
    cancelJob: createCancelJob(wake),
    listJobs,
    getJob: createGetJob((job) => engine?.problemOf(job)),
    getJobOutput,
    getJobInput,
    getJobFailures,
    getJobErrors,
    createMultipartUpload: expiring(createMultipartUpload),
    uploadPart: expiring(uploadPart),
    getMultipartUpload: expiring(getMultipartUpload),
    commitMultipartUpload: expiring(commitMultipartUpload),
    abortMultipartUpload: expiring(abortMultipartUpload),
    redirectUpload,
    redirectPart,
  };
}
