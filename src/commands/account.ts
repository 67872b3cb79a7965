import { compute as operations } from '../api/compute.ts';
import { account as accountShape, config as configShape, contactFields, limit } from '../api/resources.ts';
import { group, command } from '../cli/command.ts';
import { readRecord } from '../cli/from.ts';
import { filePath, negatable, text, type Option } from '../cli/parameters.ts';
import { changeCommand, listCommand, listFieldNames } from '../cli/shapes.ts';
import { UsageError } from '../base/errors.ts';
import { record } from '../output/kinds.ts';

type ContactName = keyof typeof contactFields;
/** An option for each contact field, with the field's own help. */
export const contactOptions = Object.fromEntries(
  Object.entries(contactFields).map(([name, { help }]) => [name, text(`${help}; an empty string clears the field`, { mayBeEmpty: true })]),
) as Record<ContactName, Option<string | undefined>>;

export const fromHelp = 'JSON or YAML file with fields; - for stdin; options take precedence';
/** Fields that `account get` shows and that no request accepts. */
const readOnly = ['id', 'login', 'created', 'updated'];

const configGet = command({
  summary: 'Show the settings of the account',
  aliases: ['show'],
  run: async ({ compute, account }) =>
    record(await compute.getConfig({ account }), { id: 'default_network', ...listFieldNames(configShape) }),
  examples: [
    { line: 'cloud account config get', help: 'The settings' },
    { line: 'cloud account config get -o name', help: 'Only the default network' },
  ],
});

export const account = group({
  summary: 'The account: address, limits and settings',
  commands: {
    get: command({
      summary: 'Show the account',
      aliases: ['show'],
      run: async ({ compute, account }) => record(await compute.getAccount({ account }), { id: 'login', ...listFieldNames(accountShape) }),
      examples: [
        { line: 'cloud account get', help: 'Everything about the account' },
        { line: 'cloud account get -j --columns id,login', help: 'Two fields as JSON' },
      ],
    }),
    update: changeCommand({
      summary: 'Change fields of the account',
      options: { ...contactOptions, cns: negatable('Whether the name service is enabled'), from: filePath(fromHelp) },
      id: 'login',
      shape: accountShape,
      change: async ({ world, compute, account, options: { cns, from, ...contact } }) => {
        const held = from === undefined ? {} : await readRecord(world, from, operations.updateAccount.fields, { ignore: readOnly });
        const options = Object.entries({ ...contact, cloud_cns_enabled: cns }).filter(([, value]) => value !== undefined);
        const fields = { ...held, ...Object.fromEntries(options) };
        if (Object.keys(fields).length === 0)
          throw new UsageError('nothing to change', { hint: 'give a field: cloud account update --help' });
        return await compute.updateAccount({ account, ...fields });
      },
      done: (result) => `Updated account ${result.login}`,
      examples: [
        { line: 'cloud account update --email ops@example.com --phone ""', help: 'Change the address, clear the phone number' },
        { line: 'cloud account update --cns', help: 'Enable the name service' },
      ],
    }),
    limits: listCommand({
      summary: 'List the provisioning limits',
      perDatacenter: true,
      columns: ['by', 'value', 'used', 'check', 'os', 'image'],
      id: 'by',
      shape: limit,
      fetch: async ({ compute, account, note }) => {
        const limits = await compute.getAccountLimits({ account });
        if (limits.length === 0) note('No limits are set');
        return limits;
      },
      examples: [
        { line: 'cloud account limits', help: 'Limits and current usage' },
        { line: 'cloud account limits -j', help: 'As JSON' },
      ],
    }),
    config: group({
      summary: 'Settings of the account',
      commands: {
        get: configGet,
        set: changeCommand({
          summary: 'Change the settings of the account',
          options: { defaultNetwork: text('Network for containers', { placeholder: 'ID' }) },
          id: 'default_network',
          shape: configShape,
          change: async ({ compute, account, options }) => {
            if (options.defaultNetwork === undefined)
              throw new UsageError('nothing to change', { hint: 'cloud account config set --default-network ID' });
            return await compute.updateConfig({ account, default_network: options.defaultNetwork });
          },
          done: () => 'Updated the settings',
          examples: [
            {
              line: 'cloud account config set --default-network 62253da7-2df6-4d34-9308-7428572f2323',
              help: 'Set the network for containers',
            },
            { line: 'cloud account config get', help: 'Show the settings' },
          ],
        }),
      },
    }),
  },
});
