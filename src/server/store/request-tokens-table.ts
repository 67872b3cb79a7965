import { sql, type Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/**
 * Step: requests that accounts may send, shared by gateways: of each account the tokens in its bucket, those that the last one took, and
 * when that was. The table is not logged: nothing is flushed for it, and it is empty after a crash.
 */
export async function createRequestTokens(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await sql`create unlogged table request_tokens (
    account text collate "C" primary key, tokens double precision not null, granted double precision not null, at timestamptz not null
  )`.execute(db);
}
