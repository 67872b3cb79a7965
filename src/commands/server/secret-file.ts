import { statSync } from 'node:fs';
import { resolvePath } from '../../cli/input.ts';
import { UsageError } from '../../base/errors.ts';
import type { World } from '../../base/world.ts';

/**
 * Checks a file with a secret of the services, which the group may read.
 * @param option that names the file
 * @throws {UsageError} if others can access it or its group can write to it
 */
export function assertSecret(world: World, option: string, file: string): void {
  const { mode } = statSync(resolvePath(world, file), { throwIfNoEntry: false }) ?? { mode: 0 };
  if ((mode & 0o027) === 0) return;
  throw new UsageError(`${option} ${file}: other users can read or change it`, { hint: `chmod 600 ${file}` });
}
