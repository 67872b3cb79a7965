import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { Client } from 'pg';
import type { Schema } from '../schema.ts';
import type { Notices } from '../store.ts';
import { lacksTls, readAddress, type Address } from './address.ts';

/**
 * Notices by LISTEN and NOTIFY. They have no content and may be lost: a receiver reads the database, which it would also do later without a
 * notice. A pooler that shares connections between transactions delivers none, so nobody listens through a pooler.
 */

const channel = 'cloud_tasks';

/** Milliseconds: to connect, for a query, between two attempts to listen, and between two checks of the connection. */
const connectTime = 2000;
const queryTime = 8000;
const retryTime = 1000;
const checkTime = 30_000;

/** True if queries reach the server process announced to this connection: a pooler gives its clients process ids of its own. */
async function isDirect(client: Client & { readonly processID?: number | null }): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid === client.processID;
}

/** Listens on a connection of its own until the connection breaks or `signal` is aborted. @returns false if notices are not available */
async function hold(address: Address, onNotice: () => void, signal: AbortSignal): Promise<boolean> {
  const { connectionString, ssl } = address;
  const client = new Client({
    connectionString,
    ssl,
    application_name: 'cloud',
    keepAlive: true,
    connectionTimeoutMillis: connectTime,
    query_timeout: queryTime,
  });
  const broken = new AbortController();
  const end = (): void => broken.abort();
  client.on('error', end).on('end', end);
  signal.addEventListener('abort', end, { once: true });
  try {
    await client.connect();
    if (!(await isDirect(client))) return false;
    client.on('notification', onNotice);
    await client.query(`listen ${channel}`);
    // Makes up for notices missed until now.
    onNotice();
    while (!broken.signal.aborted) {
      await sleep(checkTime, undefined, { signal: broken.signal }).catch(() => undefined);
      if (!broken.signal.aborted) await client.query('select 1');
    }
    return true;
  } finally {
    signal.removeEventListener('abort', end);
    await client.end().catch(() => undefined);
  }
}

async function listenUntil(url: string, onNotice: () => void, { signal, log }: { signal: AbortSignal; log: (line: string) => void }) {
  const offered = readAddress(url);
  const plain: Address = { ...offered, ssl: false };
  let address = offered;
  while (!signal.aborted) {
    // An unreachable database is reported by those who query it.
    const isPossible = await hold(address, onNotice, signal).catch((error: unknown) => {
      if (offered.isOptional && lacksTls(error)) address = plain;
      return true;
    });
    if (!isPossible) return log('the database is reached through a pooler, which delivers no notices: new tasks are found by asking');
    await sleep(retryTime * (0.75 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
  }
}

/** The notices of one process. @param db sends them */
export function createNotices(
  db: Kysely<Schema>,
  url: string,
  log: (line: string) => void,
): Notices & { /** Waits until nothing is being sent. */ finish(): Promise<void> } {
  let sending: Promise<void> | undefined;
  let isDue = false;
  async function sendAll(): Promise<void> {
    // A notice that becomes due while another is being sent is sent after it.
    for (; isDue;) {
      isDue = false;
      await sql`select pg_notify(${channel}, '')`.execute(db).catch(() => undefined);
    }
    sending = undefined;
  }
  return {
    send: () => {
      isDue = true;
      sending ??= sendAll();
    },
    listen: (onNotice) => {
      const stop = new AbortController();
      const listening = listenUntil(url, onNotice, { signal: stop.signal, log });
      return () => {
        stop.abort();
        return listening;
      };
    },
    finish: async () => sending,
  };
}
