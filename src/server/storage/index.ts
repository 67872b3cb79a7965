import type { storage } from '../../api/storage.ts';
import { notImplemented, type Handlers } from '../handler.ts';
import { commitMultipartUpload } from './commit.ts';
import { deleteDirectory, putDirectory } from './directories.ts';
import { getObject } from './downloads.ts';
import { putSnapLink } from './links.ts';
import { listDirectory } from './listing.ts';
import { putMetadata } from './metadata.ts';
import { deleteObject, putObject } from './objects.ts';
import { uploadPart } from './parts.ts';
import { abortMultipartUpload, createMultipartUpload, getMultipartUpload, redirectPart, redirectUpload } from './uploads.ts';

export { entryAt } from './entries.ts';

/** What the object storage does for each of its operations. */
export function createStorageHandlers(): Handlers<typeof storage> {
  return {
    putDirectory,
    listDirectory,
    deleteDirectory,
    putObject,
    putMetadata,
    getObject,
    deleteObject,
    putSnapLink,
    createJob: notImplemented,
    addJobInputs: notImplemented,
    endJobInput: notImplemented,
    cancelJob: notImplemented,
    listJobs: notImplemented,
    getJob: notImplemented,
    getJobOutput: notImplemented,
    getJobInput: notImplemented,
    getJobFailures: notImplemented,
    getJobErrors: notImplemented,
    createMultipartUpload,
    uploadPart,
    getMultipartUpload,
    commitMultipartUpload,
    abortMultipartUpload,
    redirectUpload,
    redirectPart,
  };
}
