import { readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { nearest } from './nearest.ts';
import { quoteShell } from './quote.ts';

/** A hint at a file that does not exist: the one that was most likely meant, else the line that shows what the folder has. */
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
