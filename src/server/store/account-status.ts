import type { Kysely } from 'kysely';

/** Migration step: whether an account may be used. Accounts of earlier releases are enabled. */
export async function addAccountStatus(db: Kysely<never>): Promise<void> {
  await db.schema
    .alterTable('accounts')
    .addColumn('status', 'text', (column) => column.notNull().defaultTo('enabled'))
    .execute();
}
