import { group } from '../../cli/command.ts';
import { copy, link, move } from './copy.ts';
import { diff } from './diff.ts';
import { list, makeDirectory, stat } from './directory.ts';
import { find } from './find.ts';
import { cat, get } from './get.ts';
import { meta } from './meta.ts';
import { put } from './put.ts';
import { remove } from './remove.ts';
import { roles } from './roles.ts';
import { sign } from './sign.ts';
import { runPlan } from './run-plan.ts';
import { snapshot } from './snapshot/index.ts';
import { sync } from './sync.ts';
import { tree, usage } from './usage.ts';

export const stor = group({
  summary: 'Directories and objects of the object storage',
  description:
    'A path such as logs/a.gz is below /LOGIN/stor; /login/stor/logs/a.gz is a whole path, and ~~ stands for the account: ~~/public/a. What reads expands patterns with *, ? and ** when they reach the program: quote them. What changes or removes takes names as they are; with --glob patterns, with [a-z] and {a,b} too. --literal takes names as they are everywhere.',
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
    snapshot,
    sign,
    roles,
  },
});
