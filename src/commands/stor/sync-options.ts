import { createContradiction, UsageError } from '../../base/errors.ts';
import { duration, filePath, flag, type Values } from '../../cli/parameters.ts';
import { kebab } from '../../config/settings.ts';
import { manifestName } from '../../transfer/manifest-name.ts';
import { backupDirOption } from './backup-dir.ts';
import { transferOptions } from './transfer-options.ts';
import { filterOptions } from './filters.ts';
import { guardOptions } from './guard.ts';
import { linkKnownOption } from './link-known.ts';
import type { Sides } from './sides.ts';
import { compareOptions, copyOptions } from './sync-steps.ts';

export const syncOptions = {
  ...guardOptions,
  dryRun: flag('Only show what would be done', { short: 'n' }),
  plan: filePath('Write the steps to FILE; do nothing'),
  watch: flag('Watch for changes and sync them, until Ctrl-C', { short: 'w' }),
  watchInterval: duration('With --watch: maximum time between runs'),
  backupDir: backupDirOption,
  linkKnown: linkKnownOption,
  withHeaders: flag(`Download: save types, headers and links in ${manifestName} at the root`),
  withoutHeaders: flag('Upload: ignore that file of headers'),
  ...compareOptions,
  ...filterOptions,
  ...copyOptions,
  ...transferOptions,
};

type SyncValues = Values<typeof syncOptions>;
type Name = keyof SyncValues;

/** Options that mean nothing without another one. */
const needed: readonly (readonly [Name, Name])[] = [
  ['watchInterval', 'watch'],
  ['maxDelete', 'delete'],
  ['allowEmptySource', 'delete'],
];

/** Options that apply to local files as source or as target, and those that store objects. */
const uploading: readonly Name[] = ['withoutHeaders', 'copies', 'linkKnown'];
const downloading: readonly Name[] = ['withHeaders', 'sparse'];
const storing: readonly Name[] = ['copy', 'resetHeaders'];

/** @throws {UsageError} for options that contradict each other, or would have no effect */
export function checkSyncOptions(options: SyncValues, { from, to }: Sides): void {
  const { watch, dryRun, plan, backupDir } = options;
  const isGiven = (name: Name): boolean => options[name] !== undefined && options[name] !== false;
  for (const [name, other] of needed) {
    if (isGiven(name) && !isGiven(other))
      throw new UsageError(`--${kebab(name)} needs --${kebab(other)}`, { hint: `add --${kebab(other)}` });
  }
  if (watch && dryRun) throw createContradiction('--watch', '--dry-run');
  if (watch && plan !== undefined) throw createContradiction('--watch', '--plan');
  if (dryRun && plan !== undefined) throw createContradiction('--dry-run', '--plan');
  if (backupDir !== undefined && plan !== undefined) throw createContradiction('--backup-dir', '--plan');

  function assertUnused(names: readonly Name[], use: string): void {
    const name = names.find(isGiven);
    if (name !== undefined) throw new UsageError(`--${kebab(name)} applies to ${use}`, { hint: `omit --${kebab(name)}` });
  }
  if (from.kind === 'remote') assertUnused(uploading, 'uploads');
  if (to.kind === 'remote') assertUnused(downloading, 'downloads');
  if (to.kind === 'local') assertUnused(storing, 'objects that are stored, not to downloads');
  if (from.kind === 'remote' && to.kind === 'remote') assertUnused(['modes'], 'local files');
}
