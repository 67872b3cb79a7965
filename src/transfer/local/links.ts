import { realpathSync, type BigIntStats } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { isSystemError } from '../../base/errors.ts';

/** Which symbolic links of a local tree are followed: those to files inside it, all, or none. */
export type LinkPolicy = 'inside' | 'follow' | 'skip';

/** Why a link is not followed. */
export type LinkReason = 'link' | 'outside' | 'directory' | 'dangling' | 'loop';

/** Follows the links of one tree. */
export interface LinkReader {
  /** The stats of the target of a link, or the reason why the link is not followed. */
  read(file: string): Promise<BigIntStats | LinkReason>;
  /** True if a directory is also one of its own parents, which only links can cause, so that the walk would never end. */
  isLoop(directory: string, above: readonly string[]): boolean;
}

/** Error codes of links that lead in a circle, to nothing, or below something that is not a directory. */
const dangling = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

function isAtOrBelow(path: string, directory: string): boolean {
  return `${path}/`.startsWith(directory.endsWith('/') ? directory : `${directory}/`);
}

export function createLinkReader(root: string, policy: LinkPolicy): LinkReader {
  let inside: string | undefined;
  async function isInside(file: string): Promise<boolean> {
    inside ??= await realpath(root);
    const target = await realpath(file);
    return isAtOrBelow(target, inside);
  }
  return {
    read: async (file) => {
      if (policy === 'skip') return 'link';
      try {
        const target = await stat(file, { bigint: true });
        if (policy === 'follow') return target;
        if (!(await isInside(file))) return 'outside';
        return target.isDirectory() ? 'directory' : target;
      } catch (error) {
        if (isSystemError(error) && dangling.has(error.code ?? '')) return 'dangling';
        throw error;
      }
    },
    isLoop: (directory, above) => policy === 'follow' && above.some((each) => isAtOrBelow(realpathSync(each), realpathSync(directory))),
  };
}
