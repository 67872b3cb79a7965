import { hostname, userInfo } from 'node:os';
import type { Transaction } from 'kysely';
import type { AuditDetails } from '../access/audit.ts';
import type { Schema } from '../store/schema.ts';

/** The name of the user who runs the command. */
function nameUser(): string {
  try {
    return userInfo().username;
  } catch {
    // No entry in the user database, as in many containers.
    return 'unknown';
  }
}

/**
 * Records in the audit log what a command of an operator changes, in the transaction of the change.
 * @param login of the account that is changed; undefined if the change affects no single account
 */
export async function noteOperator(
  transaction: Transaction<Schema>,
  login: string | undefined,
  action: string,
  details: AuditDetails = {},
): Promise<void> {
  const row = {
    account: login ?? null,
    actor: 'operator',
    key: null,
    address: `${nameUser()}@${hostname()}`,
    request: null,
    action,
    subject: login === undefined ? '' : `/${login}`,
    details: JSON.stringify(details),
  };
  await transaction.insertInto('audit').values(row).execute();
}
