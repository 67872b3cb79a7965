import { key as keyShape, type Key } from '../../api/resources.ts';
import { command, group, type Context } from '../../cli/command.ts';
import { flag, many, one } from '../../cli/parameters.ts';
import { confirm } from '../../cli/prompt.ts';
import { createAttempts } from '../../cli/attempts.ts';
import { changeCommand, createLookUp, listFieldNames } from '../../cli/shapes.ts';
import { record, records } from '../../output/kinds.ts';
import { findKey, keyColumns, keyOptions, readAttestation, readFingerprint, readPublicKeyText } from '../keys.ts';
import { askOrSearch, findUser, isIdLike, isUuid, searchByName } from '../../lookup/find.ts';

const userHelp = 'Login, id, or beginning of an id';
const keyHelp = 'Name, or MD5 or SHA256 fingerprint';

/** Returns a login or id for the path of a user's keys; beginnings of ids are looked up. */
async function resolveUser(context: Context, word: string): Promise<string> {
  // A login is sent unchecked: a user that was just created may be missing from lists.
  return isUuid(word) || !isIdLike(word) ? word : (await findUser(context, word)).id;
}

async function listKeys(context: Context, word: string): Promise<{ user: string; keys: Key[] }> {
  const user = await resolveUser(context, word);
  return { user, keys: await context.compute.listUserKeys({ account: context.account, user }) };
}

function labelWhole(fingerprint: string | undefined): Pick<Key, 'name' | 'fingerprint'> | undefined {
  return fingerprint === undefined ? undefined : { name: fingerprint, fingerprint };
}

/** `cloud users keys`. */
export const userKeys = group({
  summary: 'SSH keys of a sub-user, which sign its requests',
  commands: {
    list: command({
      summary: 'List the SSH keys of a sub-user',
      aliases: ['ls'],
      arguments: { user: one(userHelp, { values: 'user' }) },
      run: async (invocation) => {
        const { keys } = await listKeys(invocation, invocation.args.user);
        return records(keys, { columns: keyColumns, id: 'fingerprint', ...listFieldNames(keyShape) });
      },
      examples: [
        { line: 'cloud users keys list alice', help: 'Names and fingerprints' },
        { line: 'cloud users keys list alice -o name', help: 'One fingerprint a line, for scripts' },
      ],
    }),
    get: command({
      summary: 'Show a key of a sub-user',
      aliases: ['show'],
      arguments: { user: one(userHelp, { values: 'user' }), key: one(keyHelp, { values: 'user-key' }) },
      run: async (invocation) => {
        const { account, args, compute } = invocation;
        const user = await resolveUser(invocation, args.user);
        const search = async (): Promise<Key> =>
          findKey(await compute.listUserKeys({ account, user }), args.key, `cloud users keys list ${args.user}`);
        const key = readFingerprint(args.key);
        const found =
          key === undefined
            ? await searchByName('key', args.key, search, 'fingerprint')
            : await askOrSearch(() => compute.getUserKey({ account, user, key }), search);
        return record(found, { id: 'fingerprint', ...listFieldNames(keyShape) });
      },
      examples: [
        { line: 'cloud users keys get alice laptop', help: 'A key by its name' },
        { line: 'cloud users keys get alice laptop -j --columns key', help: 'Its public key as JSON' },
      ],
    }),
    create: changeCommand({
      summary: 'Register an SSH public key of a sub-user',
      aliases: ['add'],
      arguments: { user: one(userHelp, { values: 'user' }), file: one('File of the public key; - for stdin', { values: 'file' }) },
      options: keyOptions,
      id: 'fingerprint',
      columns: ['name', 'fingerprint'],
      change: async (invocation) => {
        const { args, options, account, compute } = invocation;
        const key = await readPublicKeyText(invocation, args.file);
        const attestation = await readAttestation(invocation, options.attestation);
        const user = await resolveUser(invocation, args.user);
        return await compute.createUserKey({ account, user, key, name: options.name, attestation });
      },
      done: (key) => `Created key ${key.name}`,
      examples: [
        { line: 'cloud users keys create alice alice.pub --name laptop', help: 'Register a key for alice' },
        { line: 'ssh-keygen -y -f alice.pem | cloud users keys create alice -', help: 'From a private key, which stays here' },
      ],
    }),
    delete: command({
      summary: 'Remove SSH keys from a sub-user',
      aliases: ['rm'],
      arguments: { user: one(userHelp, { values: 'user' }), key: many(keyHelp, { values: 'user-key' }) },
      options: { yes: flag('Do not ask', { short: 'y' }), dryRun: flag('Only show what would be deleted', { short: 'n' }) },
      run: async (invocation) => {
        const { args, options, account, compute, world, note } = invocation;
        const user = await resolveUser(invocation, args.user);
        const words = [...new Set(args.key)];
        const attempts = createAttempts(invocation, words.length);
        const lookUp = await createLookUp<Key[], Pick<Key, 'name' | 'fingerprint'>>({
          noun: 'key',
          idWord: 'fingerprint',
          read: () => compute.listUserKeys({ account, user }),
          find: (keys, word) => findKey(keys, word, `cloud users keys list ${args.user}`),
          takeWhole: (word) => labelWhole(readFingerprint(word)),
        });
        const found = await attempts.each(words, lookUp);
        const labels = found.map(({ name }) => name).join(', ');
        if (options.dryRun) {
          for (const { name } of found) note(`Would delete key ${name}`);
          attempts.finish();
          return undefined;
        }
        if (!options.yes && found.length > 0) await confirm(world, `Delete key ${labels} of ${args.user}?`);
        await attempts.each(found, async ({ name, fingerprint }) => {
          await compute.deleteUserKey({ account, user, key: fingerprint });
          note(`Deleted key ${name}`);
        });
        attempts.finish();
        return undefined;
      },
      examples: [
        { line: 'cloud users keys delete alice laptop', help: 'Asks first' },
        { line: 'cloud users keys delete alice laptop work --yes', help: 'Several, without a question' },
      ],
    }),
  },
});
