import { beforeAll, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** What is said of access control before anything is changed, and how it is drawn. */

const user = useShared('--http');

const document = `version: "1"
users:
  - { login: alice, email: a@example.com, password: $SECRET }
  - { login: bob, email: b@example.com, password: $SECRET }
policies:
  - { name: keys, rules: [CAN listkeys AND createkey, CAN getobject] }
  - { name: night, rules: [CAN listusers WHEN time < "06:00"] }
roles:
  - { name: dev, default_members: [alice], members: [bob], policies: [keys] }
  - { name: ops, default_members: ["account:partner"], policies: [night] }
tags:
  keys: [dev]
  users: [ops, dev]
`;

interface Effect {
  user: string;
  change: string;
  resource: string;
  actions: string[];
  before: string;
  after: string;
}

beforeAll(async () => {
  const offline = document.replace('["account:partner"]', '[]');
  const file = user.write('start.yaml', offline);
  const applied = await user.here(['rbac', 'apply', file], { env: { SECRET: 'open sesame 1' } });
  if (applied.code !== 0) throw new Error(applied.stderr);
});

async function foretell(...words: string[]): Promise<string[]> {
  const effects = await user.json<Effect[]>('rbac', 'impact', ...words);
  return effects.map((each) => `${each.user} ${each.change} ${each.actions.join('+')} ${each.resource}: ${each.before} -> ${each.after}`);
}

test('impact says what each user gains and loses by a document, and changes nothing', async () => {
  const before = (await user.here(['rbac', 'export'])).stdout;
  const wanted = document
    .replace('"account:partner"', 'bob')
    .replace('default_members: [alice], members: [bob]', 'members: [alice]')
    .replace('CAN listkeys AND createkey', 'CAN listkeys');
  const file = user.write('wanted.yaml', wanted);
  expect(await foretell(file, '--at', '03:00')).toEqual([
    'alice revoked listkeys keys: yes -> role dev',
    'alice revoked createkey keys: yes -> no',
    'alice revoked getobject tagged:dev: yes -> role dev',
    'bob granted listusers users: no -> yes',
    'bob revoked listkeys+createkey keys: role dev -> no',
    'bob revoked getobject tagged:dev: role dev -> no',
  ]);
  // By day the condition of the other role does not hold.
  expect((await foretell(file, '--at', '13:00')).filter((line) => line.includes('listusers'))).toEqual([]);
  expect((await user.here(['rbac', 'export'])).stdout).toBe(before);
});

test('impact of a role that is deleted, and of what changes nothing', async () => {
  expect(await foretell('--delete-role', 'dev')).toEqual([
    'alice revoked listkeys+createkey keys: yes -> no',
    'alice revoked getobject tagged:dev (deleted): yes -> no',
    'bob revoked listkeys+createkey keys: role dev -> no',
    'bob revoked getobject tagged:dev (deleted): role dev -> no',
  ]);
  const summary = await user.here(['rbac', 'impact', '--delete-role', 'dev']);
  expect([summary.code, summary.stderr]).toEqual([0, '2 users: 0 granted, 6 revoked\n']);
  expect(await user.here(['rbac', 'impact', '--delete-role', 'ops', '--at', '13:00'])).toMatchObject({
    code: 0,
    stderr: 'Nobody gains or loses anything\n',
  });
});

test.each([
  [['rbac', 'impact'], 2, 'missing argument FILE'],
  [['rbac', 'impact', 'start.yaml', '--delete-role', 'dev'], 2, '--delete-role cannot be combined with FILE'],
  [['rbac', 'impact', '--delete-role', 'dev', '--prune'], 2, '--prune needs a document'],
  [['rbac', 'impact', '--delete-role', 'nothere'], 3, 'role "nothere" does not exist'],
  [['rbac', 'impact', 'nothere.yaml'], 2, 'no such file'],
  [['rbac', 'impact', 'start.yaml', '--at', 'later'], 2, '"later" is not a time'],
  [['rbac', 'graph', '-o', 'svg'], 2, '"svg" is not one of dot, mermaid, json, yaml'],
])('%j is refused', async (words, code, message) => {
  const refused = await user.here(words);
  expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(message)]);
});

test('graph draws an account and a document, for Graphviz, Mermaid and programs', async () => {
  const graph = await user.json<{
    nodes: { id: string; kind: string; name: string }[];
    edges: { from: string; to: string; kind: string }[];
  }>('rbac', 'graph');
  const names = new Map(graph.nodes.map(({ id, kind, name }) => [id, `${kind} ${name}`]));
  expect(graph.edges.map(({ from, to, kind }) => `${names.get(from)} ${kind} ${names.get(to)}`).toSorted()).toEqual([
    'role dev policy policy keys',
    'role dev tag resource keys',
    'role dev tag resource users',
    'role ops policy policy night',
    'role ops tag resource users',
    'user alice default role dev',
    'user bob member role dev',
  ]);
  const file = user.write('drawn.yaml', document);
  const dot = await user.here(['rbac', 'graph', file]);
  expect(dot.code).toBe(0);
  expect(dot.stdout).toMatch(
    /^digraph access \{\n {2}rankdir=LR;\n {2}n1 \[shape=ellipse, label="alice"\];\n[^]*n\d+ -> n\d+ \[style=dashed, label="asks"\];\n[^]*\n\}\n$/,
  );
  expect(dot.stdout).toContain('[shape=doubleoctagon, label="account:partner"]');
  const mermaid = await user.here(['rbac', 'graph', file, '-o', 'mermaid']);
  expect(mermaid.stdout).toMatch(/^flowchart LR\n {2}n1\(\["alice"\]\)\n[^]*-\. asks \.->[^]*\n$/);
});

test('names cannot break out of their labels', async () => {
  const hostile = '"]; evil [label="\\\u001B[31m<b>`#\nx';
  const file = user.write('hostile.json', JSON.stringify({ version: '1', policies: [{ name: hostile, rules: ['CAN listkeys'] }] }));
  const dot = await user.here(['rbac', 'graph', file]);
  expect(dot.stdout.split('\n')).toHaveLength(5);
  expect(dot.stdout).not.toContain('\u001B');
  // Inside the quotes stand only escaped quotes and backslashes.
  expect(dot.stdout).toMatch(/^ {2}n1 \[shape=note, label="(?:[^"\\\n]|\\["\\])*"\];$/m);
  const mermaid = await user.here(['rbac', 'graph', file, '-o', 'mermaid']);
  expect(mermaid.stdout).toMatch(/^flowchart LR\n {2}n1>"[^"<>`\\\n[\]]*"\]\n$/);
});
