import type { Context } from '../../cli/command.ts';
import { ApiError } from '../../errors.ts';
import { expandPattern } from '../../transfer/glob.ts';
import { parentOf, printRemotePath, quoteRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';

/** The error for a path that names nothing. */
export function missing(path: RemotePath): ApiError {
  return new ApiError(404, 'ResourceNotFound', `${printRemotePath(path)} does not exist`, {
    hint: `cloud stor ls ${quoteRemotePath(parentOf(path) ?? path)}`,
  });
}

/** The paths that the words of a command line mean, patterns expanded, each once. */
export async function readPaths({ storage, account }: Context, words: readonly string[]): Promise<RemotePath[]> {
  const found = new Map<string, RemotePath>();
  for (const word of words) {
    for await (const path of expandPattern(storage, readRemotePath(word, account))) found.set(printRemotePath(path), path);
  }
  return [...found.values()];
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
