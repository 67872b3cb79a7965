import { ApiError } from '../../base/errors.ts';
import { parentOf, printRemotePath, quoteRemotePath, type RemotePath } from '../../transfer/path.ts';

/** The error for a path that names nothing. */
export function missing(path: RemotePath): ApiError {
  return new ApiError(404, 'ResourceNotFound', `${printRemotePath(path)} does not exist`, {
    hint: `cloud stor ls ${quoteRemotePath(parentOf(path) ?? path)}`,
  });
}

/** Adds to the refusal of a missing parent what makes it. */
export async function explainParent<T>(work: () => Promise<T>, line: string): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'DirectoryDoesNotExist') throw error;
    throw new ApiError(error.status, error.code, error.message, {
      requestId: error.requestId,
      hint: `make the directories above with -p: ${line}`,
    });
  }
}

/** Adds to the refusal of an object that is not as --if-match wants it what shows how it is. */
export async function explainCondition<T>(work: () => Promise<T>, path: RemotePath): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 412) throw error;
    throw new ApiError(error.status, error.code, `${printRemotePath(path)} is not as the conditions want it`, {
      requestId: error.requestId,
      cause: error,
      hint: `its etag: cloud stor stat ${quoteRemotePath(path)}`,
    });
  }
}
