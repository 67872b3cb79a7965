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
