import { sql, type Kysely, type Selectable } from 'kysely';
import type { ServiceName } from '../../api/operation.ts';
import { asBytes } from '../store/as-bytes.ts';
import type { DirectoryKey } from '../store/counts.ts';
import { prepareQuery } from '../store/prepared-query.ts';
import { rememberQuery } from '../store/remembered-query.ts';
import type { AccountRow, EntryRow, KeyRow, Schema, UserRow } from '../store/schema.ts';
import { isUuid } from '../../base/uuid.ts';

/** A registered key, as its row in the database. */
export type Key = Selectable<KeyRow>;

const selectAccount = rememberQuery(
  'identities',
  prepareQuery((db, { login }: { login: string }) => db.selectFrom('accounts').selectAll().where('login', '=', login).compile()),
);

const selectUser = rememberQuery(
  'identities',
  prepareQuery((db, { account, loginKey, id }: { account: string; loginKey: string; id: string }) =>
    db
      .selectFrom('users')
      .selectAll()
      .where('account', '=', account)
      .where((where) => where.or([where('login_key', '=', loginKey), where('id', '=', id)]))
      .compile(),
  ),
);

/** The owner of keys: `user` is null for keys of the account itself. */
interface KeyOwner {
  readonly account: string;
  readonly user: string | null;
}

function keysOf(db: Kysely<Schema>, { account, user }: KeyOwner) {
  return db.selectFrom('keys').selectAll().where('account', '=', account).where('user', 'is not distinct from', user);
}

const selectByFingerprint = rememberQuery(
  'identities',
  prepareQuery((db, { fingerprint, ...owner }: KeyOwner & { fingerprint: string }) =>
    keysOf(db, owner).where('fingerprint', '=', fingerprint).limit(1).compile(),
  ),
);

const selectByName = prepareQuery((db, { name, most, ...owner }: KeyOwner & { name: string; most: number }) =>
  keysOf(db, owner).where('name', '=', name).orderBy('sequence').limit(most).compile(),
);

/** What a request names before its sender is known: a key of an account itself by its fingerprint, and the place of an entry. */
interface Named extends DirectoryKey {
  readonly login: string;
  readonly fingerprint: string;
  /** The directory that holds the entry. */
  readonly above: DirectoryKey;
}

/** What to look up in addition to the entry. */
type Wanted = 'entry' | 'bytes' | 'directory';

/** What one query finds at a place, all at the same moment. */
export interface FoundAhead {
  readonly entry: EntryRow | undefined;
  /** The directory that holds the entry, if it exists and was requested. */
  readonly directory?: EntryRow | undefined;
  /** The whole content, if it is kept in a row and was requested. */
  readonly bytes?: Uint8Array | undefined;
}

type Values = Omit<Named, 'above'> & { readonly aboveParent: string; readonly aboveName: string };

/** `row_to_json` gives the same values as a plain select: strings, numbers and null. */
function prepareAhead(wanted: Wanted) {
  const nothing = sql<null>`null`;
  return prepareQuery((db, { login, fingerprint, parent, name, aboveParent, aboveName }: Values) =>
    db
      .selectFrom('accounts')
      .leftJoin('entries', (join) => join.on('entries.parent', '=', parent).on('entries.name', '=', name))
      .selectAll('accounts')
      .select([
        sql<Key | null>`(select row_to_json(keys) from keys where keys.account = accounts.id and keys."user" is null
          and keys.fingerprint = ${fingerprint} limit 1)`.as('key'),
        sql<EntryRow | null>`row_to_json(entries)`.as('entry'),
        (wanted === 'bytes'
          ? sql<Uint8Array | null>`(select contents.bytes from contents where contents.id = entries.content)`
          : nothing
        ).as('bytes'),
        (wanted === 'directory'
          ? sql<EntryRow | null>`(select row_to_json(above) from entries as above
              where above.parent = ${aboveParent} and above.name = ${aboveName})`
          : nothing
        ).as('directory'),
      ])
      .where('login', '=', login)
      .compile(),
  );
}

const selectAhead = { entry: prepareAhead('entry'), bytes: prepareAhead('bytes'), directory: prepareAhead('directory') } as const;

/**
 * Finds the account with this login, its own key with this fingerprint and the entry at a place in one query: on PostgreSQL, where nothing
 * is cached in memory, a second round trip takes longer than the whole query. Undefined if the account or the key does not exist.
 */
export async function findAhead(
  db: Kysely<Schema>,
  { above, ...named }: Named,
  wanted: Wanted,
): Promise<{ account: AccountRow; key: Key; found: FoundAhead } | undefined> {
  const values = { ...named, fingerprint: named.fingerprint.toLowerCase(), aboveParent: above.parent, aboveName: above.name };
  const [row] = await selectAhead[wanted](db, values);
  if (row === undefined || row.key === null) return undefined;
  const { key, entry, bytes, directory, ...account } = row;
  const found = { entry: entry ?? undefined, directory: directory ?? undefined, bytes: bytes === null ? undefined : asBytes(bytes) };
  return { account, key, found };
}

/** Finds the account with this login or, for the compute service, with this UUID. */
export async function findAccount(db: Kysely<Schema>, service: ServiceName, name: string): Promise<AccountRow | undefined> {
  const [byLogin] = await selectAccount(db, { login: name });
  if (byLogin !== undefined || service === 'storage' || !isUuid(name)) return byLogin;
  return db.selectFrom('accounts').selectAll().where('id', '=', name.toLowerCase()).executeTakeFirst();
}

/** Finds the sub-user of an account by login (case-insensitive) or UUID. */
export async function findUser(db: Kysely<Schema>, account: AccountRow, name: string): Promise<UserRow | undefined> {
  const [user] = await selectUser(db, { account: account.id, loginKey: name.toLowerCase(), id: name.toLowerCase() });
  return user;
}

/** The keys of an account, or of one of its sub-users, in order of registration. */
export function listKeysOf(db: Kysely<Schema>, account: Pick<AccountRow, 'id'>, user: UserRow | undefined): Promise<Key[]> {
  return keysOf(db, { account: account.id, user: user?.id ?? null })
    .orderBy('sequence')
    .execute();
}

/** True for the form of an MD5 fingerprint: it stands only for the key with that fingerprint, even if another key has it as its name. */
function isFingerprint(word: string): boolean {
  return /^(?:[\da-f]{2}:){15}[\da-f]{2}$/iu.test(word);
}

/**
 * The keys of an account, or of one of its sub-users, that a signature may belong to: the one with this fingerprint, otherwise those with
 * this name, oldest first.
 * @param most maximum number of keys returned
 */
export async function findKeys(
  db: Kysely<Schema>,
  account: AccountRow,
  user: UserRow | undefined,
  name: string,
  most: number,
): Promise<Key[]> {
  const owner = { account: account.id, user: user?.id ?? null };
  const byFingerprint = await selectByFingerprint(db, { ...owner, fingerprint: name.toLowerCase() });
  return byFingerprint.length > 0 || isFingerprint(name) ? byFingerprint : selectByName(db, { ...owner, name, most });
}

/** The key with this fingerprint; otherwise all keys with this name. Names may repeat. */
export function selectKeys(keys: readonly Key[], name: string): Key[] {
  const byFingerprint = keys.filter((key) => key.fingerprint === name.toLowerCase());
  return byFingerprint.length > 0 || isFingerprint(name) ? byFingerprint : keys.filter((key) => key.name === name);
}
