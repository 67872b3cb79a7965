import type { Key } from '../../api/resources.ts';
import type { ComputeClient } from '../../client/client.ts';
import type { Candidate, Question } from './candidate.ts';
import { findCommand } from '../../cli/tree.ts';
import { listNames, listPaths } from './entries.ts';
import { readTyped } from './line.ts';

type Source = (question: Question) => Promise<Candidate[]>;

/** A source that lists something of the account; the response is cached. */
function fromList(name: string, fetch: (compute: ComputeClient, account: string) => Promise<Candidate[]>): Source {
  return ({ ask }) => ask(name, ({ compute, account }) => fetch(compute, account));
}

/** Names of keys; fingerprints where a name is ambiguous, or where a fingerprint is being typed. */
function offerKeys(keys: readonly Pick<Key, 'name' | 'fingerprint'>[], typed: string): Candidate[] {
  const isUnique = ({ name }: Pick<Key, 'name'>): boolean => keys.filter((key) => key.name === name).length === 1;
  return keys.map((key) => {
    const byName = isUnique(key) && !/^[\da-f]{2}:/.test(typed);
    return byName ? { value: key.name, help: key.fingerprint } : { value: key.fingerprint, help: key.name };
  });
}

function pickKey({ name, fingerprint }: Key): Pick<Key, 'name' | 'fingerprint'> {
  return { name, fingerprint };
}

const keys: Source = async ({ ask, typed }) =>
  offerKeys(await ask('keys', async ({ compute, account }) => (await compute.listKeys({ account })).map(pickKey)), typed);

/** Keys of the sub-user whose name precedes them on the command line. */
const userKeys: Source = async ({ ask, typed, nouns, words }) => {
  const [user = ''] = (await readTyped(nouns, words)).arguments;
  const list = await ask(`keys of ${user}`, async ({ compute, account }) => (await compute.listUserKeys({ account, user })).map(pickKey));
  return offerKeys(list, typed);
};

/** Names of images; `name@version` once an @ is typed, ids where no name matches. */
const images: Source = async ({ ask, typed }) => {
  const list = await ask('images', async ({ compute, account }) => {
    const all = await compute.listImages({ account, state: 'all' });
    return all.map(({ id, name, version, os }) => ({ id, name, version, os: os ?? '' }));
  });
  if (typed.includes('@')) return list.map(({ id, name, version }) => ({ value: `${name}@${version}`, help: id }));
  const byName = new Map(list.map(({ name, version, os }) => [name, { value: name, help: `${version} ${os}` }]));
  const named = [...byName.values()].filter(({ value }) => value.startsWith(typed));
  return named.length > 0 ? named : list.map(({ id, name, version }) => ({ value: id, help: `${name}@${version}` }));
};

const jobs: Source = async (question) => {
  const entries = await listNames(question, { account: question.account, path: 'jobs' }, question.typed);
  return entries.map(({ name, mtime }) => ({ value: name, help: mtime }));
};

/** Uploads are in directories named by the first three characters of their ids; 32 of these directories are listed at most. */
const uploads: Source = async (question) => {
  const directory = { account: question.account, path: 'uploads' };
  const folders = await listNames(question, directory, question.typed.slice(0, 3));
  const lists = await Promise.all(
    folders.slice(0, 32).map(({ name }) => listNames(question, { ...directory, path: `uploads/${name}` }, question.typed)),
  );
  return lists.flat().map(({ name, mtime }) => ({ value: name, help: mtime }));
};

/** Completes the last name of a comma-separated list. */
function afterComma(source: Source): Source {
  return async (question) => {
    const head = question.typed.slice(0, question.typed.lastIndexOf(',') + 1);
    const found = await source({ ...question, typed: question.typed.slice(head.length) });
    const given = head.split(',');
    return found.filter(({ value }) => !given.includes(value)).map((each) => ({ ...each, value: head + each.value }));
  };
}

function toPlaces(urls: Readonly<Record<string, unknown>>): Candidate[] {
  return Object.entries(urls).map(([value, url]) => ({ value, help: String(url) }));
}

const roles = fromList('roles', async (compute, account) =>
  (await compute.listRoles({ account })).map(({ name, policies = [] }) => ({
    value: name,
    help: policies.map((policy) => (typeof policy === 'string' ? policy : (policy.name ?? ''))).join(', '),
  })),
);

async function listActions(): Promise<string[]> {
  const { knownActions } = await import('../../policy/actions.ts');
  return [...knownActions()].sort();
}

/** Actions of policies, where one is expected: after CAN, and after a comma or AND that follows an action. */
const rules: Source = async ({ typed }) => {
  const [head] = /^\s*can\s+(?:\S+?(?:\s*,\s*|\s+and\s+))*/i.exec(typed) ?? [];
  if (head === undefined && !'CAN '.startsWith(typed)) return [];
  return (await listActions()).map((action) => ({ value: (head ?? 'CAN ') + action }));
};

/** Entries of the journal of interrupted commands; the journal is on this machine, so that no request is sent. */
const unfinished: Source = async ({ ask }) =>
  ask('unfinished', async ({ journal }) => {
    const entries = (await journal()).list();
    return entries.map(({ id, command, shown: [first] }) => ({ value: id, help: [command, ...(first ?? [])].join(' ').trim() }));
  });

/** Fields of the command on the line; in `--sort`, `-` before a field means descending order. */
const fields: Source = async ({ nouns, words, typed }) => {
  const { node } = await findCommand(nouns, words);
  const sign = typed.startsWith('-') ? '-' : '';
  return node?.kind === 'command' ? (node.fields ?? []).map((name) => ({ value: sign + name })) : [];
};

const aliases: Source = async ({ open }) => {
  const { openAliases } = await import('../../config/aliases.ts');
  return [...openAliases((await open()).paths.config).list()].map(([value, help]) => ({ value, help }));
};

/** Snapshots in the data directory that the line names, or in the usual one. */
const snapshots: Source = async ({ open, nouns, words }) => {
  const { dataDirOf } = await import('../local/service.ts');
  const { listSnapshots } = await import('../../server/store/snapshots.ts');
  const { options } = await readTyped(nouns, words);
  const saved = listSnapshots(dataDirOf(await open(), options.get('data')));
  return saved.map(({ name, created }) => ({ value: name, help: created }));
};

const failures: Source = async ({ nouns, words }) => {
  const { listFailures } = await import('../../server/faults/failure.ts');
  const [operation = ''] = (await readTyped(nouns, words)).arguments;
  return listFailures(operation).map((value) => ({ value }));
};

const sources: Readonly<Record<string, Source>> = {
  key: keys,
  'user-key': userKeys,
  user: fromList('users', async (compute, account) =>
    (await compute.listUsers({ account })).map(({ login, email }) => ({ value: login, help: email })),
  ),
  role: roles,
  'role-list': afterComma(roles),
  policy: fromList('policies', async (compute, account) =>
    (await compute.listPolicies({ account })).map(({ name, description, rules }) => ({ value: name, help: description ?? rules[0] ?? '' })),
  ),
  rule: rules,
  action: async () => (await listActions()).map((value) => ({ value })),
  image: images,
  package: fromList('packages', async (compute, account) =>
    (await compute.listPackages({ account })).map(({ name, memory }) => ({ value: name, help: `${memory} MiB` })),
  ),
  datacenter: afterComma(fromList('datacenters', async (compute, account) => toPlaces(await compute.listDatacenters({ account })))),
  service: fromList('services', async (compute, account) => toPlaces(await compute.listServices({ account }))),
  job: jobs,
  upload: uploads,
  unfinished,
  alias: aliases,
  'field-list': afterComma(fields),
  snapshot: snapshots,
  failure: failures,
  path: listPaths,
  resource: async (question) => (await import('./resources.ts')).listResources(question),
  api: async (question) => (await import('./routes.ts')).listRoutes(question),
};

/** Returns the candidates of a source; none if the source is unknown. */
export async function lookUp(source: string, question: Question): Promise<Candidate[]> {
  return Object.hasOwn(sources, source) ? ((await sources[source]?.(question)) ?? []) : [];
}
