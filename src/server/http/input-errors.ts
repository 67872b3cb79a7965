import type { Operation } from '../../api/operation.ts';
import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';

/** Status and error codes for invalid input of an operation. */
interface Refusal {
  readonly status: number;
  readonly missing: string;
  readonly invalid: string;
  /** True if input that the operation does not define is an error too. */
  readonly refusesUnknown?: boolean;
}

const computeRefusal: Refusal = { status: 409, missing: 'MissingParameter', invalid: 'InvalidArgument' };
const storageRefusal: Refusal = { status: 400, missing: 'InvalidArgumentError', invalid: 'InvalidArgumentError' };

/** Storage operations with their own error codes. */
const ownRefusals: Readonly<Partial<Record<string, Refusal>>> = {
  createJob: { status: 400, missing: 'InvalidJob', invalid: 'InvalidJob', refusesUnknown: true },
  listJobs: { status: 400, missing: 'InvalidParameter', invalid: 'InvalidParameter' },
  createMultipartUpload: { status: 409, missing: 'MultipartUploadInvalidArgumentError', invalid: 'MultipartUploadInvalidArgumentError' },
  commitMultipartUpload: { status: 409, missing: 'MultipartUploadInvalidArgumentError', invalid: 'MultipartUploadInvalidArgumentError' },
} satisfies Partial<Record<keyof typeof storage, Refusal>>;

function findRefusal({ service, name }: Operation): Refusal {
  return service === 'compute' ? computeRefusal : (ownRefusals[name] ?? storageRefusal);
}

/** The error for missing input: one message with all missing names. */
export function createMissingError(operation: Operation, names: readonly string[]): ApiError {
  const { status, missing } = findRefusal(operation);
  const errors = names.map((field) => ({ field, code: 'MissingParameter', message: `${field} is required` }));
  const verb = names.length === 1 ? 'is a required parameter' : 'are required parameters';
  return new ApiError(status, missing, `${names.join(', ')} ${verb}`, { errors });
}

/** The error for a value that does not fit its field. */
export function createInvalidError(operation: Operation, field: string, message: string): ApiError {
  const { status, invalid } = findRefusal(operation);
  return new ApiError(status, invalid, `${field} ${message}`, { errors: [{ field, code: 'InvalidArgument', message }] });
}

/** True if input that the operation does not define is rejected rather than ignored. */
export function refusesUnknown(operation: Operation): boolean {
  return findRefusal(operation).refusesUnknown === true;
}
