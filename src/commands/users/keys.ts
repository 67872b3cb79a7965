import { key as keyShape } from '../../api/resources.ts';
import { command, group, type Context } from '../../cli/command.ts';
import { one } from '../../cli/parameters.ts';
import { changeCommand, deleteCommand, listFieldNames } from '../../cli/shapes.ts';
import { record, records } from '../../output/kinds.ts';
import { fetchKey, findKey, keyColumns, keyOptions, readAttestation, readFingerprint, readPublicKeyText } from '../keys.ts';
import { findUser, isIdLike } from '../../lookup/find.ts';
import { isUuid } from '../../base/uuid.ts';

const userHelp = 'Login, id, or first characters of an id';
const keyHelp = 'Name, or MD5 or SHA256 fingerprint';

/** Returns a login or id for the path of a user's keys; beginnings of ids are looked up. */
async function resolveUser(context: Context, word: string): Promise<string> {
  // A login is sent unchecked: a user that was just created may be missing from lists.
  return isUuid(word) || !isIdLike(word) ? word : (await findUser(context, word)).id;
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
        const { args, account, compute } = invocation;
        const keys = await compute.listUserKeys({ account, user: await resolveUser(invocation, args.user) });
        return records(keys, { columns: keyColumns, id: 'fingerprint', ...listFieldNames(keyShape) });
      },
      examples: [
        { line: 'cloud users keys list alice', help: 'Names and fingerprints' },
        { line: 'cloud users keys list alice -o name', help: 'One fingerprint per line, for scripts' },
      ],
    }),
    get: command({
      summary: 'Show a key of a sub-user',
      aliases: ['show'],
      arguments: { user: one(userHelp, { values: 'user' }), key: one(keyHelp, { values: 'user-key' }) },
      run: async (invocation) => {
        const { account, args, compute } = invocation;
        const user = await resolveUser(invocation, args.user);
        const found = await fetchKey(args.key, {
          list: () => compute.listUserKeys({ account, user }),
          get: (key) => compute.getUserKey({ account, user, key }),
          hint: `cloud users keys list ${args.user}`,
        });
        return record(found, { id: 'fingerprint', ...listFieldNames(keyShape) });
      },
      examples: [
        { line: 'cloud users keys get alice laptop', help: 'A key by its name' },
        { line: 'cloud users keys get alice laptop -j --columns key', help: 'Its public key as JSON' },
      ],
    }),
    create: changeCommand({
      summary: 'Register a public SSH key for a sub-user',
      aliases: ['add'],
      arguments: { user: one(userHelp, { values: 'user' }), file: one('File of the public key; - for stdin', { values: 'file' }) },
      options: keyOptions,
      id: 'fingerprint',
      columns: ['name', 'fingerprint'],
      shape: keyShape,
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
        { line: 'ssh-keygen -y -f alice.pem | cloud users keys create alice -', help: 'From a private key, which is not sent' },
      ],
    }),
    delete: deleteCommand({
      summary: 'Remove SSH keys from a sub-user',
      owner: { name: 'user', argument: one(userHelp, { values: 'user' }), find: resolveUser },
      argument: 'key',
      help: keyHelp,
      values: 'user-key',
      noun: 'key',
      read: ({ compute, account }, user) => compute.listUserKeys({ account, user }),
      wholeId: readFingerprint,
      idWord: 'fingerprint',
      resolve: (keys, word, _context, user) => {
        const { name, fingerprint } = findKey(keys, word, `cloud users keys list ${user}`);
        return { id: fingerprint, label: name };
      },
      remove: ({ compute, account }, key, user) => compute.deleteUserKey({ account, user, key }),
      examples: [
        { line: 'cloud users keys delete alice laptop', help: 'Asks first' },
        { line: 'cloud users keys delete alice laptop work --yes', help: 'Several, without confirmation' },
      ],
    }),
  },
});
