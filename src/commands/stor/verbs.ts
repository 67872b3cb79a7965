import type { AnyCommand, Group } from '../../cli/command.ts';

type Commands = Readonly<Record<string, () => Promise<AnyCommand | Group>>>;

/** The commands of `stor` that a line of `stor run` can name, each with the module that is loaded when it is used. */
export const lineVerbs: Commands = {
  ls: async () => (await import('./directory.ts')).list,
  find: async () => (await import('./find.ts')).find,
  tree: async () => (await import('./usage.ts')).tree,
  du: async () => (await import('./usage.ts')).usage,
  stat: async () => (await import('./directory.ts')).stat,
  cat: async () => (await import('./cat.ts')).cat,
  get: async () => (await import('./get.ts')).get,
  put: async () => (await import('./put.ts')).put,
  mkdir: async () => (await import('./directory.ts')).makeDirectory,
  rm: async () => (await import('./remove.ts')).remove,
  cp: async () => (await import('./copy.ts')).copy,
  mv: async () => (await import('./move.ts')).move,
  ln: async () => (await import('./link.ts')).link,
  meta: async () => (await import('./meta.ts')).meta,
  sync: async () => (await import('./sync.ts')).sync,
  diff: async () => (await import('./diff.ts')).diff,
  snapshot: async () => (await import('./snapshot/index.ts')).snapshot,
  sign: async () => (await import('./sign.ts')).sign,
  roles: async () => (await import('./roles.ts')).roles,
};

export const verbs: Commands = { ...lineVerbs, run: async () => (await import('./run/index.ts')).run };

/** Loads the commands: the wanted one alone, if it is one of them. */
export async function loadVerbs(commands: Commands, wanted?: string): Promise<Group['commands']> {
  const all = Object.entries(commands);
  const chosen = wanted !== undefined && Object.hasOwn(commands, wanted) ? all.filter(([name]) => name === wanted) : all;
  return Object.fromEntries(await Promise.all(chosen.map(async ([name, load]) => [name, await load()] as const)));
}
