import { copy } from './copy.ts';
import { diff } from './diff.ts';
import { list, makeDirectory, stat } from './directory.ts';
import { find } from './find.ts';
import { cat } from './cat.ts';
import { get } from './get.ts';
import { link } from './link.ts';
import { meta } from './meta.ts';
import { move } from './move.ts';
import { put } from './put.ts';
import { remove } from './remove.ts';
import { roles } from './roles.ts';
import { sign } from './sign.ts';
import { snapshot } from './snapshot/index.ts';
import { sync } from './sync.ts';
import { tree, usage } from './usage.ts';

/** The commands of `stor` except `run`, which runs lines with these commands. */
export const verbs = {
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
  snapshot,
  sign,
  roles,
};
