import { group } from '../../../cli/command.ts';
import { create } from './create.ts';
import { diff } from './diff.ts';
import { list } from './list.ts';
import { prune, remove } from './remove.ts';
import { restore } from './restore.ts';

export const snapshot = group({
  summary: 'Snapshots of directories, without copying bytes',
  aliases: ['snapshots'],
  description: 'A snapshot of a directory is named DIR@NAME.',
  commands: { create, list, diff, restore, delete: remove, prune },
});
