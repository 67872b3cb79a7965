import { duration, filePath, flag } from '../../cli/parameters.ts';
import { manifestName } from '../../transfer/manifest-name.ts';
import { backupDirOption } from './backup-dir.ts';
import { transferOptions } from './engine.ts';
import { filterOptions } from './filters.ts';
import { guardOptions } from './guard.ts';
import { linkKnownOption } from './link-known.ts';
import { compareOptions, copyOptions } from './sync-steps.ts';

export const syncOptions = {
  ...guardOptions,
  dryRun: flag('Only show what would be done', { short: 'n' }),
  plan: filePath('Only write the steps, for cloud stor run'),
  watch: flag('Go on with what changes, until Ctrl-C', { short: 'w' }),
  watchInterval: duration('With --watch: longest time between runs'),
  backupDir: backupDirOption,
  linkKnown: linkKnownOption,
  withHeaders: flag(`To files: keep types, headers and links in ${manifestName} at the root`),
  withoutHeaders: flag('From files: take no headers from that file'),
  ...compareOptions,
  ...filterOptions,
  ...copyOptions,
  ...transferOptions,
};
