import type { Kysely } from 'kysely';

/** Step: whether an account may be used. Accounts of earlier releases may. */
export async function addAccountStatus(db: Kysely<never>): Promise<void> {
  await db.schema
    .alterTable('accounts')
    .addColumn('status', 'text', (column) => column.notNull().defaultTo('enabled'))
    .execute();
}
