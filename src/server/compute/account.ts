import type { compute } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type { Account, Config } from '../../api/resources.ts';
import { ApiError } from '../../base/errors.ts';
import { isUuid } from '../../base/uuid.ts';
import { nameFields, noteAudit } from '../access/audit.ts';
import type { Call } from '../http/handler.ts';
import type { AccountRow } from '../store/schema.ts';
import { checkEmail, readContact, showContact } from './contact.ts';

function showAccount(row: AccountRow): Account {
  return { id: row.id, login: row.login, ...showContact(row), cloud_cns_enabled: row.cns_enabled === 1 };
}

export async function getAccount(_: InputOf<typeof compute.getAccount>, { account }: Call): Promise<Account> {
  return showAccount(account);
}

/** UpdateAccount: an empty string clears a field. */
export async function updateAccount(input: InputOf<typeof compute.updateAccount>, call: Call): Promise<Account> {
  const { account, store, now } = call;
  checkEmail(input.email);
  const { cloud_cns_enabled: enabled } = input;
  const changes = { ...readContact(input), ...(enabled !== undefined && { cns_enabled: enabled ? 1 : 0 }) };
  if (Object.keys(changes).length === 0) return showAccount(account);
  const row = await store.write(async (transaction) => {
    await noteAudit(transaction, call, '', { changed: nameFields(changes) });
    return transaction
      .updateTable('accounts')
      .set({ ...changes, updated: now() })
      .where('id', '=', account.id)
      .returningAll()
      .executeTakeFirstOrThrow();
  });
  return showAccount(row);
}

function showConfig({ default_network: network }: AccountRow): Config {
  return network === null ? {} : { default_network: network };
}

export async function getConfig(_: InputOf<typeof compute.getConfig>, { account }: Call): Promise<Config> {
  return showConfig(account);
}

/** UpdateConfig. Errors: 409 `InvalidArgument` if the network is not a UUID or does not exist. */
export async function updateConfig({ default_network: network }: InputOf<typeof compute.updateConfig>, call: Call): Promise<Config> {
  const { account, store, now } = call;
  if (!isUuid(network)) throw new ApiError(409, 'InvalidArgument', `default_network must be a UUID, not ${network}`);
  const row = await store.write(async (transaction) => {
    const known = await transaction.selectFrom('networks').select('id').where('id', '=', network.toLowerCase()).executeTakeFirst();
    if (known === undefined) throw new ApiError(409, 'InvalidArgument', `default_network: there is no network ${network}`);
    const changes = { default_network: known.id, updated: now() };
    await noteAudit(transaction, call, 'config', { default_network: known.id });
    return transaction.updateTable('accounts').set(changes).where('id', '=', account.id).returningAll().executeTakeFirstOrThrow();
  });
  return showConfig(row);
}
