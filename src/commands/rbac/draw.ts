import { escapeControl } from '../../output/escape.ts';
import { printMember } from '../../lookup/role.ts';
import type { Access } from '../../rbac/access.ts';

/** A node of the graph: `account` is another account that is a member, `resource` has role tags. */
export interface GraphNode {
  id: string;
  kind: 'user' | 'account' | 'role' | 'policy' | 'resource';
  name: string;
}

/** An edge: `default` and `member` from a member to a role, `policy` from a role to a policy, `tag` from a role to a tagged resource. */
export interface GraphEdge {
  from: string;
  to: string;
  kind: 'default' | 'member' | 'policy' | 'tag';
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

/** Builds the graph of members, roles, policies and tagged resources. @param tags names of roles by path */
export function buildGraph({ users, roles, policies }: Access, tags: Readonly<Record<string, readonly string[]>>): Graph {
  const nodes = new Map<string, GraphNode>();
  const find = (kind: GraphNode['kind'], name: string): string => {
    const key = `${kind} ${name}`;
    const node = nodes.get(key) ?? { id: `n${nodes.size + 1}`, kind, name };
    nodes.set(key, node);
    return node.id;
  };
  for (const { login } of users) find('user', login);
  for (const { name } of roles) find('role', name);
  for (const { name } of policies) find('policy', name);
  const edges = roles.flatMap(({ name, members, policies: held }): GraphEdge[] => {
    const role = find('role', name);
    const into = members.map((member) => ({
      from: find(member.type === 'account' ? 'account' : 'user', printMember(member)),
      to: role,
      kind: member.default ? ('default' as const) : ('member' as const),
    }));
    return [...into, ...held.map((policy) => ({ from: role, to: find('policy', policy.name), kind: 'policy' as const }))];
  });
  const tagged = Object.entries(tags).flatMap(([path, names]) =>
    names.map((name): GraphEdge => ({ from: find('role', name), to: find('resource', path), kind: 'tag' })),
  );
  return { nodes: [...nodes.values()], edges: [...edges, ...tagged] };
}

const dotShapes: Readonly<Record<GraphNode['kind'], string>> = {
  user: 'ellipse',
  account: 'doubleoctagon',
  role: 'box',
  policy: 'note',
  resource: 'folder',
};
const dotStyles: Readonly<Record<GraphEdge['kind'], string>> = {
  default: '',
  member: ' [style=dashed, label="asks"]',
  policy: '',
  tag: ' [style=dotted, label="tag"]',
};

function quoteDot(text: string): string {
  return `"${escapeControl(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** Prints the graph in the DOT language of Graphviz. */
export function printDot({ nodes, edges }: Graph): string {
  const lines = [
    ...nodes.map(({ id, kind, name }) => `  ${id} [shape=${dotShapes[kind]}, label=${quoteDot(name)}];`),
    ...edges.map(({ from, to, kind }) => `  ${from} -> ${to}${dotStyles[kind]};`),
  ];
  return ['digraph access {', '  rankdir=LR;', ...lines, '}', ''].join('\n');
}

const mermaidShapes: Readonly<Record<GraphNode['kind'], readonly [string, string]>> = {
  user: ['([', '])'],
  account: ['[[', ']]'],
  role: ['[', ']'],
  policy: ['>', ']'],
  resource: ['[/', '/]'],
};
const mermaidArrows: Readonly<Record<GraphEdge['kind'], string>> = {
  default: '-->',
  member: '-. asks .->',
  policy: '-->',
  tag: '-. tag .->',
};

/** Mermaid parses labels as HTML and Markdown, so special characters are written as code points. */
function quoteMermaid(text: string): string {
  return `"${escapeControl(text).replaceAll(/["#&<>`\\*_[\]]/g, (character) => `#${character.charCodeAt(0)};`)}"`;
}

/** Prints the graph as a flowchart of Mermaid. */
export function printMermaid({ nodes, edges }: Graph): string {
  const lines = [
    ...nodes.map(({ id, kind, name }) => `  ${id}${mermaidShapes[kind][0]}${quoteMermaid(name)}${mermaidShapes[kind][1]}`),
    ...edges.map(({ from, to, kind }) => `  ${from} ${mermaidArrows[kind]} ${to}`),
  ];
  return ['flowchart LR', ...lines, ''].join('\n');
}
