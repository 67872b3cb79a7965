import { collections, type Collection } from '../../api/collections.ts';
import { accountWord } from '../../lookup/resource.ts';
import type { Candidate, Question } from './candidate.ts';
import { lookUp } from './sources.ts';

/** The completion source of the members of each collection; undefined if no operation lists them. */
const sources: Readonly<Record<Collection, string | undefined>> = {
  machines: undefined,
  users: 'user',
  roles: 'role',
  packages: 'package',
  images: 'image',
  policies: 'policy',
  keys: 'key',
  datacenters: 'datacenter',
  services: 'service',
  fwrules: undefined,
  networks: undefined,
};

/** `sources` for any word; undefined also if it is not a collection. */
export const memberSources: ReadonlyMap<string, string | undefined> = new Map(Object.entries(sources));

function atHead(head: string, candidates: readonly Candidate[]): Candidate[] {
  return candidates.map((each) => ({ ...each, value: head + each.value }));
}

/** Each collection by itself, and as the first part of the path of a member. */
function offerCollections(): Candidate[] {
  return collections.flatMap((name) => [
    { value: name, help: 'all of them' },
    ...(memberSources.get(name) !== undefined ? [{ value: `${name}/`, help: 'one of them' }] : []),
  ]);
}

/** Paths of resources that role tags can be put on: `keys`, `keys/laptop`, `users/alice/keys`, also below `/my/` or the account. */
export async function listResources(question: Question): Promise<Candidate[]> {
  const { typed, account } = question;
  if (/^\/[^/]*$/.test(typed)) return [{ value: '/my/' }, { value: `/${account}/` }];
  const base = typed.startsWith('/') ? typed.slice(0, typed.indexOf('/', 1) + 1) : '';
  const parts = typed.slice(base.length).split('/');
  const [collection = '', member = '', below] = parts;
  if (parts.length === 1)
    return atHead(base, [...offerCollections(), ...(base === '' ? [{ value: accountWord, help: 'the account itself' }] : [])]);
  const source = memberSources.get(collection);
  if (source === undefined) return [];
  if (below === undefined) return atHead(`${base}${collection}/`, await lookUp(source, { ...question, typed: member }));
  return collection === 'users' && parts.length === 3 ? [{ value: `${base}users/${member}/keys`, help: 'keys of the sub-user' }] : [];
}
