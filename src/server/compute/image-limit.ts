import type { Kysely } from 'kysely';
import type { Call } from '../http/handler.ts';
import { assertRoom } from '../limit.ts';
import type { Schema } from '../store/schema.ts';

/** @throws {LimitReached} if the account cannot own this many more images */
export function assertRoomForImages(
  db: Kysely<Schema>,
  { account, settings }: Pick<Call, 'account' | 'settings'>,
  added = 1,
): Promise<void> {
  const own = db.selectFrom('images').select('id').where('owner', '=', account.id);
  return assertRoom(settings, 'images', own, { has: 'an account owns', counted: 'images' }, added);
}
