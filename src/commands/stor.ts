import { group } from '../cli/command.ts';
import { copy, link, move } from './stor/copy.ts';
import { diff } from './stor/diff.ts';
import { list, makeDirectory, stat } from './stor/directory.ts';
import { find } from './stor/find.ts';
import { cat, get } from './stor/get.ts';
import { meta } from './stor/meta.ts';
import { put } from './stor/put.ts';
import { remove } from './stor/remove.ts';
import { roles } from './stor/roles.ts';
import { sign } from './stor/sign.ts';
import { runPlan, sync } from './stor/sync.ts';
import { tree, usage } from './stor/usage.ts';

export const stor = group({
  summary: 'Directories and objects of the object storage',
  description:
    'A path such as logs/a.gz is below /LOGIN/stor; /login/stor/logs/a.gz is a whole path, and ~~ stands for the account: ~~/public/a. Patterns with *, ?, [a-z] and ** are expanded when they reach the program: quote them.',
  commands: {
    ls: list,
    find,
    tree,
    du: usage,
    stat,
    cat,
    get,
    put,
    mkdir: makeDirectory,
    rm: remove,
    cp: copy,
    mv: move,
    ln: link,
    meta,
    sync,
    diff,
    run: runPlan,
    sign,
    roles,
  },
});
