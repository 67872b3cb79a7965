import type { Transaction } from 'kysely';
import { showAddress, showCaller } from '../http/request-log.ts';
import type { Call } from '../http/handler.ts';
import { isPostgres } from '../store/engine-of.ts';
import type { Schema } from '../store/schema.ts';

/** State of a resource after a change. Each value is chosen explicitly, so that no password or request text gets into the log. */
export type AuditDetails = Readonly<Record<string, unknown>>;

/**
 * Records who changed what decides about access, in the transaction of the change: the record exists exactly if the change does. A service
 * with a directory of its own keeps no such log.
 * @param resource path below the account, with ids: `users/UUID/keys/FINGERPRINT`; empty for the account itself
 */
export async function noteAudit(transaction: Transaction<Schema>, call: Call, resource: string, details: AuditDetails = {}): Promise<void> {
  if (!isPostgres(transaction)) return;
  const { caller, account, operation, requestId, connection } = call;
  const row = {
    account: account.login,
    actor: showCaller(caller),
    key: caller.kind === 'anonymous' ? null : (caller.key ?? null),
    address: showAddress(connection),
    request: requestId,
    action: operation.name,
    subject: resource === '' ? `/${account.login}` : `/${account.login}/${resource}`,
    details: JSON.stringify(details),
  };
  await transaction.insertInto('audit').values(row).execute();
}

/** The names of the changed fields, for fields whose values reveal more about a person than about access. */
export function nameFields(changes: object): string[] {
  return Object.keys(changes).filter((name) => name !== 'updated' && name !== 'login_key');
}
