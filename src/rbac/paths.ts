/** A member of a collection. Requests name it by its id (a key: by its fingerprint) or by its name. */
export interface Member {
  readonly id: string;
  readonly name: string;
}

/** The members of collections that have names as well as ids. Of several with one name, the one that the name stands for is first. */
export interface Members {
  readonly users: readonly Member[];
  readonly roles: readonly Member[];
  readonly policies: readonly Member[];
  readonly packages: readonly Member[];
  /** Keys of the account, or of the sub-user with this id. */
  readonly listKeys: (user?: string) => readonly Member[];
}

function findMember(members: readonly Member[], word: string, fold: (name: string) => string): Member | undefined {
  return members.find(({ id }) => id === word.toLowerCase()) ?? members.find(({ name }) => fold(name) === fold(word));
}

/** The words for the member that a word names: its name, unless that stands for another member, and its id. */
function listWords(members: readonly Member[], word: string, fold: (name: string) => string = (name) => name): string[] {
  const member = findMember(members, word, fold);
  if (member === undefined) return [word];
  const isName = findMember(members, member.name, fold) === member;
  return [...new Set(isName ? [member.name, member.id] : [member.id])];
}

function foldLogin(login: string): string {
  return login.toLowerCase();
}

/** All paths of the resource at a path below the account, with names and with ids, as the service compares them with the resources in rules. */
export function listPaths(path: string, { users, roles, policies, packages, listKeys }: Members): string[] {
  const [collection, word, inner, key] = path.split('/');
  if (word === undefined) return [path];
  if (collection === 'users') {
    const below = inner === undefined ? '' : `/${inner}`;
    const user = findMember(users, word, foldLogin);
    const keys = key === undefined ? [''] : listWords(user === undefined ? [] : listKeys(user.id), key).map((each) => `/${each}`);
    return listWords(users, word, foldLogin).flatMap((each) => keys.map((last) => `users/${each}${below}${last}`));
  }
  const lists: Readonly<Record<string, () => readonly Member[]>> = {
    roles: () => roles,
    policies: () => policies,
    packages: () => packages,
    keys: () => listKeys(),
  };
  return listWords(lists[collection ?? '']?.() ?? [], word).map((each) => `${collection}/${each}`);
}

/** Packages in the order in which a name stands for one of them: the highest version first. */
export function orderPackages<P extends Member & { readonly version?: string | undefined }>(packages: readonly P[]): P[] {
  return packages.toSorted((left, right) => (right.version ?? '').localeCompare(left.version ?? '', 'en', { numeric: true }));
}
