import type { Entry } from '../../api/objects.ts';
import type { StorageClient } from '../../client/client.ts';
import { formatSize } from '../../output/units.ts';
import { readPlace, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import type { Candidate, Question } from './candidate.ts';

/** Number of entries that are offered of a larger directory. */
const pageSize = 256;
/** Greater than every character in a name: a prefix followed by `last` sorts after all names that begin with the prefix. */
const last = '\u{10ffff}';

type Shown = Pick<Entry, 'name' | 'type' | 'size' | 'mtime'>;

/** The common beginning of two names. */
function findCommon(a: string, b: string): string {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  // Not between the surrogates of a character beyond U+FFFF.
  return a.slice(0, /[\ud800-\udbff]/.test(a[at - 1] ?? '') ? at - 1 : at);
}

function show({ name, type, size, mtime }: Entry): Shown {
  return { name, type, mtime, ...(size !== undefined && { size }) };
}

/** Reads one page from a marker on, until the first name without the prefix. */
async function readPage(storage: StorageClient, directory: RemotePath, marker: string, prefix: string, limit: number): Promise<Shown[]> {
  // No marker for the account's own directory: its pages begin after the marker, which would leave out an entry. It is short.
  const from = marker === '' || directory.path === '' ? {} : { marker };
  const { records } = await storage.listDirectory({ ...directory, limit, ...from });
  const page: Shown[] = [];
  for await (const entry of records) {
    if (entry.name.startsWith(prefix)) page.push(show(entry));
    else if (directory.path !== '') break;
  }
  return page;
}

/**
 * Returns a page of the entries whose names begin with a prefix. When there are more, later entries are added until the page has the common
 * beginning of all entries: shells complete the common beginning of all candidates.
 */
async function listBeginning(storage: StorageClient, directory: RemotePath, prefix: string): Promise<Shown[]> {
  const page = await readPage(storage, directory, prefix, prefix, pageSize);
  if (page.length < pageSize) return page;
  let common = findCommon(page[0]?.name ?? '', page.at(-1)?.name ?? '');
  while (common.length > prefix.length) {
    const [other] = await readPage(storage, directory, common + last, prefix, 1);
    if (other === undefined) break;
    page.push(other);
    common = findCommon(common, other.name);
  }
  return page;
}

/** The entries of a directory of the storage whose names begin with a prefix. */
export async function listNames({ ask }: Pick<Question, 'ask'>, directory: RemotePath, prefix: string): Promise<Shown[]> {
  const name = `entries ${directory.account}/${directory.path} ${prefix}`;
  return await ask(name, ({ storage }) => listBeginning(storage, directory, prefix));
}

/** Paths of the storage that begin as typed, one directory at a time; for `PROFILE/stor:PATH`, in the storage of that profile. */
export async function listPaths(question: Question): Promise<Candidate[]> {
  const { profile, path = '' } = readPlace(question.typed) ?? {};
  if (profile === undefined) return await listOwnPaths(question);
  const opened = await question.open();
  const context = opened.withProfile(opened.profiles.read(profile), { isAlone: true });
  const ask: Question['ask'] = (name, fetch) => question.ask(`${name} of profile ${profile}`, () => fetch(context));
  const found = await listOwnPaths({ ...question, typed: path, account: context.account, ask });
  return found.map(({ value, ...rest }) => ({ ...rest, value: `${profile}/${value}` }));
}

async function listOwnPaths(question: Question): Promise<Candidate[]> {
  const { typed, account } = question;
  const scheme = typed.startsWith('stor:') ? 'stor:' : '';
  const path = typed.slice(scheme.length);
  if (/^~~?$/.test(path)) return [{ value: `${scheme}~~/` }];
  if (/^\/[^/]*$/.test(path)) return [{ value: `${scheme}/${account}/` }];
  const head = path.slice(0, path.lastIndexOf('/') + 1);
  const entries = await listNames(question, readRemotePath(head === '' ? '~~/stor' : head, account), path.slice(head.length));
  return entries.map(({ name, type, size }) =>
    type === 'directory'
      ? { value: `${scheme}${head}${name}/`, help: 'directory' }
      : { value: `${scheme}${head}${name}`, ...(size !== undefined && { help: formatSize(size) }) },
  );
}
