import { hostname, userInfo } from 'node:os';
import type { Transaction } from 'kysely';
import type { AuditDetails } from '../access/audit.ts';
import type { Schema } from '../store/schema.ts';
import { quietly } from '../../base/errors.ts';

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
  // In many containers the user has no entry in the user database.
  const user = quietly(() => userInfo().username, 'unknown');
  const row = {
    account: login ?? null,
    actor: 'operator',
    key: null,
    address: `${user}@${hostname()}`,
    request: null,
    action,
    subject: login === undefined ? '' : `/${login}`,
    details: JSON.stringify(details),
  };
  await transaction.insertInto('audit').values(row).execute();
}
