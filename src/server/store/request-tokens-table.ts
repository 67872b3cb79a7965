import { sql, type Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/**
 * Migration step: the rate limits of accounts, shared by gateways: for each account the tokens in its bucket, the tokens last taken, and
 * when. The table is unlogged: nothing is flushed for it, and it is empty after a crash.
 */
export async function createRequestTokens(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await sql`create unlogged table request_tokens (
    account text collate "C" primary key, tokens double precision not null, granted double precision not null, at timestamptz not null
  )`.execute(db);
}
