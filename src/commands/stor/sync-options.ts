import { duration, flag, text } from '../../cli/parameters.ts';
import { manifestName } from '../../transfer/manifest-name.ts';
import { backupDirOption } from './backup-dir.ts';
import { transferOptions } from './engine.ts';
import { filterOptions } from './filters.ts';
import { guardOptions } from './guard.ts';
import { compareOptions, copyOptions } from './sync-steps.ts';

export const syncOptions = {
  ...guardOptions,
  dryRun: flag('Only show what would be done', { short: 'n' }),
  plan: text('Write the steps to a file instead of doing them, for cloud stor run; - for stdout', {
    placeholder: 'FILE',
    values: 'file',
  }),
  watch: flag('Go on with what changes, until Ctrl-C; with --delete it asks once', { short: 'w' }),
  watchInterval: duration('With --watch: longest time between two runs; 1m when absent, 10s from the object storage'),
  backupDir: backupDirOption,
  withHeaders: flag(`To files: keep types, headers and links in ${manifestName} at the root`),
  withoutHeaders: flag('From files: take no headers from that file'),
  ...compareOptions,
  ...filterOptions,
  ...copyOptions,
  ...transferOptions,
};
