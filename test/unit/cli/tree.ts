import type { AnyCommand, Group } from '../../../src/cli/command.ts';
import { loadNouns } from '../../../src/cli/tree.ts';
import { nouns } from '../../../src/commands/index.ts';

/** Every noun, loaded. */
export const tree = await loadNouns(nouns);

type Entry<N> = readonly [path: string, node: N];

function listNodes(path: string, node: AnyCommand | Group): Entry<AnyCommand | Group>[] {
  const below = node.kind === 'group' ? Object.entries(node.commands).flatMap(([name, child]) => listNodes(`${path} ${name}`, child)) : [];
  return [[path, node], ...below];
}

const nodes = tree.flatMap(({ name, node }) => listNodes(name, node));

/** Every command with its words: `['images list', ...]`. */
export const commands = nodes.filter((entry): entry is Entry<AnyCommand> => entry[1].kind === 'command');
export const groups = nodes.filter((entry): entry is Entry<Group> => entry[1].kind === 'group');
