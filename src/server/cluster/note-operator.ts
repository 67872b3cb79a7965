import { hostname, userInfo } from 'node:os';
import type { Transaction } from 'kysely';
import type { AuditDetails } from '../access/audit.ts';
import type { Schema } from '../store/schema.ts';

/** The user of this machine by whom the command runs. */
function nameUser(): string {
  try {
    return userInfo().username;
  } catch {
    // Without an entry in the list of users, as in many containers.
    return 'unknown';
  }
}

/**
 * Notes in the audit log what a command of an operator did, in the transaction in which it does it.
 * @param login of the account that is changed; undefined for what belongs to none
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
