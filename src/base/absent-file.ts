import { readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { nearest } from './nearest.ts';
import { quoteShell } from './quote.ts';

/** A hint for a file that does not exist: the file most likely meant, else an `ls` command for the nearest existing folder. */
export function adviseOnFile(file: string): string | undefined {
  const folder = dirname(file);
  if (folder === file) return undefined;
  try {
    const close = nearest(basename(file), readdirSync(folder));
    return close === undefined ? `ls ${quoteShell(folder)}` : `did you mean ${quoteShell(`${folder}/${close}`)}?`;
  } catch {
    return adviseOnFile(folder);
  }
}
