import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory in which tasks of jobs run. */
export interface WorkDir {
  readonly dir: string;
  remove(): Promise<void>;
}

/** The given directory, or a temporary one. */
export async function openWorkDir(named: string | undefined): Promise<WorkDir> {
  if (named !== undefined) return { dir: named, remove: async () => undefined };
  const dir = await mkdtemp(join(tmpdir(), 'cloud-gateway-'));
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) };
}
