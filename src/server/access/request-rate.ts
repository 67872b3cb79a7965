import { sql, type Kysely } from 'kysely';
import type { ServiceName } from '../../api/operation.ts';
import { setNewest } from '../../base/newest.ts';
import { createBuckets, type Taken } from '../http/throttle.ts';
import { LimitReached, limitOf } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';
import { isPostgres } from '../store/engine-of.ts';
import type { AccountRow, Schema } from '../store/schema.ts';

/**
 * Rate limit of an account in requests per second, over both services: a token bucket that holds the tokens of one second.
 *
 * If several gateways serve an account, the bucket is a row of the database. Each gateway takes tokens for a tenth of a second from it, so
 * that few requests wait for the database, and rejected requests never do. Tokens that a gateway has not used after a second are lost.
 */

/** Takes up to `want` tokens from the bucket of an account, which holds at most `rate` tokens and gets `rate` per second. */
export type TakeTokens = (account: string, rate: number, want: number) => Promise<Taken>;

/** The tokens of an account that this process holds. */
interface Share {
  tokens: number;
  /** When the tokens expire, and until when the bucket is known to be empty. */
  end: number;
  emptyUntil: number;
  taking: Promise<void> | undefined;
}

/** Maximum number of accounts whose tokens a process remembers. The one without requests for longest is forgotten, and starts anew. */
const mostShares = 10_000;

/** How many seconds' worth of tokens are taken in one query, and milliseconds after which they expire. */
const leaseSeconds = 0.1;
const leaseLife = 1000;

/** Takes tokens from rows that all gateways share. The rows do not survive a crash of the database: buckets are full again afterwards. */
function takeShared(db: Kysely<Schema>): TakeTokens {
  return async (account, rate, want) => {
    const most = Math.min(want, rate);
    const { rows } = await sql<Taken>`
      insert into request_tokens as of (account, tokens, granted, at) values (${account}, ${rate - most}, ${most}, clock_timestamp())
      on conflict (account) do update set (tokens, granted, at) = (
        select filled - least(${most}, floor(filled)), least(${most}, floor(filled)), moment from (
          select least(cast(${rate} as double precision),
            of.tokens + ${rate} * greatest(0, extract(epoch from moment - of.at))) as filled, moment
          from (select clock_timestamp() as moment) as clock
        ) as bucket
      )
      returning granted, tokens as left`.execute(db);
    return rows[0] ?? { granted: 0, left: 0 };
  };
}

/** Takes tokens from buckets in the memory of this process. @param now current time in milliseconds */
export function takeOwn(now: () => number): TakeTokens {
  const take = createBuckets(now);
  return async (account, rate, want) => take(account, rate, want);
}

/** Resolves if a request of an account is within its rate; otherwise throws. */
export type AdmitAccount = (service: ServiceName, account: Pick<AccountRow, 'id' | 'login' | 'most_requests'>) => Promise<void>;

/**
 * Creates the function that rejects requests of accounts beyond their rate.
 * @param now current time in milliseconds
 * @returns a function that throws {LimitReached} 429 `RequestThrottled`, for the compute service 420 (its specification), with
 * `Retry-After`
 */
export function createRateLimit(settings: ServiceSettings, take: TakeTokens, now: () => number): AdmitAccount {
  const shares = new Map<string, Share>();
  const refill = async (id: string, rate: number, share: Share): Promise<void> => {
    const { granted, left } = await take(id, rate, Math.max(1, Math.ceil(rate * leaseSeconds)));
    share.tokens = granted;
    share.end = now() + leaseLife;
    if (granted === 0) share.emptyUntil = now() + ((1 - left) / rate) * 1000;
  };
  return async (service, { id, login, most_requests: own }) => {
    const rate = own ?? limitOf(settings, 'accountRequests');
    if (rate === Infinity) return;
    const share = shares.get(id) ?? { tokens: 0, end: 0, emptyUntil: 0, taking: undefined };
    setNewest(shares, id, share, mostShares);
    for (;;) {
      const time = now();
      if (share.tokens >= 1 && time < share.end) {
        share.tokens -= 1;
        return;
      }
      if (time < share.emptyUntil) {
        const message = `account ${login} may send ${rate} requests per second: send fewer, or retry later`;
        const again = Math.max(1, Math.ceil((share.emptyUntil - time) / 1000));
        throw new LimitReached(service === 'compute' ? 420 : 429, 'RequestThrottled', message, 'accountRequests', { retryAfter: again });
      }
      // All waiting requests share one query.
      share.taking ??= refill(id, rate, share).finally(() => {
        share.taking = undefined;
      });
      await share.taking;
    }
  };
}

const limitsOf = new WeakMap<Kysely<Schema>, AdmitAccount>();

/** The rate limits of accounts, shared by both services of a process, which have the same database. */
export function limitRates(db: Kysely<Schema>, settings: ServiceSettings): AdmitAccount {
  const now = (): number => performance.now();
  const made = limitsOf.get(db) ?? createRateLimit(settings, isPostgres(db) ? takeShared(db) : takeOwn(now), now);
  limitsOf.set(db, made);
  return made;
}
