import { group } from '../cli/command.ts';
import { list, makeDirectory, stat } from './stor/directory.ts';
import { cat, get } from './stor/get.ts';
import { put } from './stor/put.ts';
import { remove } from './stor/remove.ts';
import { diff, runPlan, sync } from './stor/sync.ts';

export const stor = group({
  summary: 'Directories and objects of the object storage',
  description:
    'A path such as logs/a.gz is below /LOGIN/stor; /login/stor/logs/a.gz is a whole path, and ~~ stands for the account: ~~/public/a.',
  commands: { ls: list, stat, cat, get, put, mkdir: makeDirectory, rm: remove, sync, diff, run: runPlan },
});
