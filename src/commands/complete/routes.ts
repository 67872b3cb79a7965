import { compute } from '../../api/compute.ts';
import type { Operation } from '../../api/operation.ts';
import type { Candidate, Question } from './candidate.ts';
import { listPaths } from './entries.ts';
import { readTyped } from './line.ts';
import { memberSources } from './resources.ts';
import { lookUp } from './sources.ts';

const methods = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'];

const operations: readonly Operation[] = Object.values(compute);

/** True if the segments of an operation begin with these parts of a path. */
function follows({ segments }: Operation, parts: readonly string[]): boolean {
  return parts.every((part, at) => {
    const segment = segments[at];
    return segment !== undefined && segment.kind !== 'rest' && (segment.kind === 'input' || segment.text === part);
  });
}

function describe(chosen: readonly Operation[]): string {
  return chosen.map(({ method, name }) => `${method} ${name}`).join(', ');
}

/** Ids of images and policies, which paths name by id only. */
async function listIds({ ask }: Question, collection: string): Promise<Candidate[]> {
  if (collection === 'images') {
    return await ask('image ids', async ({ compute, account }) =>
      (await compute.listImages({ account, state: 'all' })).map(({ id, name, version }) => ({ value: id, help: `${name}@${version}` })),
    );
  }
  return await ask('policy ids', async ({ compute, account }) =>
    (await compute.listPolicies({ account })).map(({ id, name }) => ({ value: id, help: name })),
  );
}

async function listMembers(question: Question, collection: string, typed: string): Promise<Candidate[]> {
  if (collection === 'images' || collection === 'policies') return await listIds(question, collection);
  const source = memberSources.get(collection);
  return source === undefined ? [] : await lookUp(source, { ...question, typed });
}

/** Literals that can be this part of a path, with the operations that end there, and with a slash where longer paths continue. */
function listWords(matching: readonly Operation[], at: number): Candidate[] {
  const words = new Map<string, { ending: Operation[]; goesOn: boolean }>();
  for (const operation of matching) {
    const segment = operation.segments[at];
    const word = segment?.kind === 'literal' ? segment.text : at === 0 && segment?.kind === 'input' ? 'my' : undefined;
    if (word === undefined) continue;
    const known = words.get(word) ?? { ending: [], goesOn: false };
    words.set(word, known);
    if (operation.segments.length === at + 1) known.ending.push(operation);
    else known.goesOn = true;
  }
  return [...words].flatMap(([word, { ending, goesOn }]) => [
    ...(ending.length > 0 ? [{ value: word, help: describe(ending) }] : []),
    ...(goesOn ? [{ value: `${word}/` }] : []),
  ]);
}

/** Candidates for paths of the compute service, one part at a time. */
async function listComputePaths(question: Question): Promise<Candidate[]> {
  const parts = question.typed.split('/').slice(1);
  const before = parts.slice(0, -1);
  const head = ['', ...before, ''].join('/');
  const matching = operations.filter((operation) => follows(operation, before));
  const isMember = before.length > 1 && matching.some(({ segments }) => segments[before.length]?.kind === 'input');
  const members = isMember ? await listMembers(question, before.at(-1) ?? '', decodeURIComponent(parts.at(-1) ?? '')) : [];
  return [
    ...listWords(matching, before.length).map((word) => ({ ...word, value: head + word.value })),
    ...members.map((member) => ({ ...member, value: head + encodeURIComponent(member.value).replaceAll('%3A', ':') })),
  ];
}

/** Methods, and paths of the compute service with their operations; after `--service stor`, paths of the object storage. */
export async function listRoutes(question: Question): Promise<Candidate[]> {
  const { typed, nouns, words } = question;
  const given = await readTyped(nouns, words);
  const verbs = given.arguments.length === 0 ? methods.map((value) => ({ value, help: 'method' })) : [];
  const isStorage = given.options.get('service') === 'stor';
  if (!typed.startsWith('/') && !(isStorage && typed.startsWith('~~')) && typed !== '') return verbs;
  const path = { ...question, typed: typed === '' ? '/' : typed };
  return [...verbs, ...(await (isStorage ? listPaths(path) : listComputePaths(path)))];
}
