import { join } from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { baseName, printRemotePath, type RemotePath } from '../../transfer/path.ts';

/** The local file for a remote name inside a directory. A hostile service cannot name a file outside it. */
function chooseFile(source: RemotePath, folder: string): string {
  const name = baseName(source);
  if (name === '.' || name === '..' || name.includes('\0'))
    throw new UsageError(`${printRemotePath(source)}: "${name}" cannot be a file name`);
  return join(folder, name);
}

/** The file for each source. @throws {UsageError} when two sources would be the same file */
export function chooseFiles(sources: readonly RemotePath[], local: string, intoFolder: boolean): Map<RemotePath, string> {
  const files = new Map<RemotePath, string>();
  const owners = new Map<string, RemotePath>();
  for (const source of sources) {
    const file = intoFolder ? chooseFile(source, local) : local;
    const other = owners.get(file);
    if (other) throw new UsageError(`${printRemotePath(other)} and ${printRemotePath(source)} would both be written to ${file}`);
    owners.set(file, source);
    files.set(source, file);
  }
  return files;
}
