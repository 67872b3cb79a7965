import { DatabaseError, Client, types } from 'pg';
import type { PostgresPool } from 'kysely';
import { guard } from '../../../src/server/store/postgres/pool.ts';
import { runStatement } from '../postgres.ts';
import { Statements, type Rows, type Session, type Statement } from './statements.ts';
import { drain, type Group, type Participant, type Simulation } from './simulation.ts';

/**
 * PostgreSQL under the simulation: one statement at a time is sent, and nothing else is done until it has ended or waits for a lock, which
 * the server itself is asked about. What the server would do by its own clock (deadlocks, time limits) is done here, by virtual time.
 */

/** Milliseconds of virtual time, as `store/postgres/pool.ts` sets them. */
const lockTimeout = 5000;
const idleTimeout = 10_000;

/** Connections of all processes together, which are opened beforehand. */
const usualSessions = 48;

/** Which tables of a database are used. */
export interface DatabaseOptions {
  readonly schema?: string;
  /** Connections of all processes together. */
  readonly sessions?: number;
}

/**
 * The time that a statement was sent with, or that it has become while it waited: a sequence has one value for all, in whichever
 * transaction. Microseconds since the epoch.
 */
const clock = `
create schema sim;
create sequence sim.clock;
create function sim.time(sent bigint) returns timestamptz language sql volatile
  as 'select pg_catalog.to_timestamp(greatest(sent, last_value) / 1000000.0) from sim.clock';
`;

/** Prepares a database whose time a simulation sets. */
export async function takeClock(url: string): Promise<void> {
  await runStatement(url, clock);
}

/** Reads of accounts and of what belongs to them. */
const identities = /^\s*select\b[^(]*\bfrom "?(?:accounts|keys|users|roles|policies)\b/iu;

/** What changes statements of a process on their way, to put mistakes back into the product. */
export type Rewrite = (sql: string, process: string) => string;

const parsed = {
  getTypeParser: (id: number, format?: 'text' | 'binary') =>
    format !== 'binary' && [types.builtins.INT8, types.builtins.NUMERIC].includes(id) ? Number : types.getTypeParser(id, format),
};

function terminate(): Error {
  return new Error('Connection terminated unexpectedly');
}

/** Few words of a statement, for the history. */
function describe(sql: string): string {
  const [verb = '', ...rest] = sql.replaceAll(/\s+/gu, ' ').trim().replaceAll('"', '').split(' ');
  const tables = /(?:from|into|update) (\w+)/iu.exec(sql.replaceAll('"', ''))?.[1] ?? rest.slice(0, 3).join(' ');
  const lock = /for (?:no key |key )?(?:update|share)/iu.exec(sql)?.[0] ?? '';
  return `${verb} ${tables} ${lock}`.trim();
}

/** A server's database, used by one simulation after the other. */
export class SimulatedDatabase implements Participant {
  /** What the server did not understand, or does not have: no order of events leads to that. */
  misunderstood: string[] = [];
  readonly #url: string;
  readonly #schema: string;
  readonly #sessions: number;
  readonly #free: Session[] = [];
  readonly #all: Session[] = [];
  #watch: Client | undefined;
  #simulation: Simulation | undefined;
  readonly #statements = new Statements({ ask: (sql, parameters) => this.#ask(sql, parameters), world: () => this.#world });
  #rewrite: Rewrite = (sql) => sql;
  #busy = 0;
  readonly #known = new Map<string, Rows>();

  constructor(url: string, { schema = 'public', sessions = usualSessions }: DatabaseOptions = {}) {
    this.#url = url;
    this.#schema = schema;
    this.#sessions = sessions;
  }

  /** Begins a simulation. */
  async begin(simulation: Simulation, rewrite: Rewrite): Promise<void> {
    this.#simulation = simulation;
    this.#rewrite = rewrite;
    this.misunderstood = [];
    this.#statements.all = [];
    while (this.#all.length < this.#sessions) this.#free.push(await this.#connect());
    await this.#tellTime();
  }

  /** Ends all that the simulation has left. */
  async end(): Promise<void> {
    for (const session of this.#all) if (session.owner) await this.#reset(session);
    this.#free.splice(0, Infinity, ...this.#all);
    this.#simulation = undefined;
  }

  async close(): Promise<void> {
    for (const { client } of this.#all) await client.end();
    await this.#watch?.end();
  }

  /** The connections of a process. */
  pool(group: Group): PostgresPool {
    return {
      connect: async () => {
        const session = this.#free.pop();
        if (session === undefined) throw new Error(`the simulation has no more than ${this.#sessions} connections`);
        session.owner = group;
        session.isBroken = false;
        return guard({
          query: (sql, parameters) => this.#query(session, group, sql, parameters ?? []),
          release: () => this.#release(session, group),
        });
      },
      end: async () => undefined,
    };
  }

  /** A statement that is no step. */
  look(sql: string): Promise<unknown[]> {
    return this.#aside(() => this.#ask(sql));
  }

  /** Does what the simulation waits for although it is no statement of an actor. */
  async #aside<T>(work: () => Promise<T>): Promise<T> {
    this.#busy += 1;
    try {
      return await work();
    } finally {
      this.#busy -= 1;
      this.#statements.wake();
    }
  }

  async #ask(sql: string, parameters: unknown[] = []): Promise<unknown[]> {
    this.#watch ??= await this.#open();
    return (await this.#watch.query({ text: sql, values: parameters, types: parsed })).rows as unknown[];
  }

  async #open(): Promise<Client> {
    // Who waits for each other is found here.
    const client = new Client({ connectionString: this.#url, options: `-c deadlock_timeout=1h -c jit=off -c search_path=${this.#schema}` });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  async #connect(): Promise<Session> {
    const client = await this.#open();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const session: Session = {
      client,
      pid: rows[0]?.pid ?? 0,
      owner: undefined,
      transaction: 'none',
      begin: '',
      idleSince: Infinity,
      isBroken: false,
      current: undefined,
    };
    this.#all.push(session);
    return session;
  }

  get #world(): Simulation {
    if (this.#simulation === undefined) throw new Error('no simulation runs');
    return this.#simulation;
  }

  async #query(session: Session, group: Group, sql: string, parameters: unknown[]): Promise<Rows> {
    const nothing: Rows = { command: 'SELECT', rowCount: 0, rows: [] };
    if (session.isBroken || session.owner !== group) throw terminate();
    const verb = sql.trimStart().slice(0, 8).toLowerCase();
    if (verb.startsWith('start tr') || verb.startsWith('begin')) {
      // It does nothing that others could notice.
      session.transaction = 'to be begun';
      session.begin = sql;
      return nothing;
    }
    const known = this.#remembered(session, sql, parameters);
    if (known !== undefined) return known;
    const label = describe(sql);
    const fault = await this.#world.step(group, label);
    if (session.isBroken || session.owner !== group) throw terminate();
    if (fault === 'refused') {
      // Its server notices later, or never.
      session.isBroken = true;
      throw terminate();
    }
    const { rows, error } = await this.#send(session, { sql: this.#rewrite(sql, group.name), parameters, label });
    if (verb.startsWith('commit') || verb.startsWith('rollback')) session.transaction = 'none';
    if (fault === 'answer lost') {
      await this.#aside(() => this.#reset(session));
      session.isBroken = true;
      throw terminate();
    }
    if (session.isBroken) throw terminate();
    if (error !== undefined) throw error as Error;
    return rows ?? nothing;
  }

  /** Who the clients are never changes here: that is asked once. */
  #remembered(session: Session, sql: string, parameters: unknown[]): Promise<Rows> | undefined {
    if (session.transaction !== 'none' || !identities.test(sql)) return undefined;
    const key = JSON.stringify([sql, parameters]);
    const known = this.#known.get(key);
    if (known !== undefined) return Promise.resolve(known);
    return this.#aside(async () => {
      const rows = await session.client.query({ text: sql, values: parameters, types: parsed });
      this.#known.set(key, rows);
      return rows;
    });
  }

  /** Sends a statement; resolves when its answer is to be told. */
  async #send(
    session: Session,
    { sql, parameters, label }: { sql: string; parameters: unknown[]; label: string },
  ): Promise<{ rows?: Rows; error?: unknown }> {
    const { client } = session;
    const text = sql.replaceAll('clock_timestamp()', `sim.time(${this.#time()})`);
    if (this.#statements.all.some(({ isTimed }) => isTimed)) await this.#aside(() => this.#tellTime());
    return new Promise((resolve) => {
      const deliver = (): void => {
        const { outcome } = statement;
        session.idleSince = this.#world.now;
        resolve(outcome ?? {});
      };
      const isTimed = text !== sql;
      const statement: Statement = {
        session,
        label,
        isTimed,
        state: 'running',
        blockedSince: 0,
        cause: undefined,
        outcome: undefined,
        deliver,
      };
      session.current = statement;
      session.idleSince = Infinity;
      this.#statements.all.push(statement);
      const end = (outcome: Statement['outcome']): void => {
        // Also a failure ends it, where locks may be given back at once.
        if (session.transaction === 'none' || 'error' in (outcome ?? {}) || /^(?:commit|rollback)/iu.test(sql))
          this.#statements.hasReleased = true;
        statement.outcome = outcome;
        statement.state = 'finished';
        this.#statements.wake();
      };
      const send = async (): Promise<Rows> => {
        if (session.transaction !== 'to be begun') return client.query({ text, values: parameters, types: parsed });
        session.transaction = 'begun';
        if (parameters.every((each) => typeof each === 'string')) {
          const whole = text.replaceAll(/\$(\d+)/gu, (_, number) => client.escapeLiteral(parameters[Number(number) - 1] ?? ''));
          const both = (await client.query({ text: `${session.begin}; ${whole}`, types: parsed })) as unknown as Rows[];
          return both[1] ?? { command: '', rowCount: 0, rows: [] };
        }
        await client.query(session.begin);
        return client.query({ text, values: parameters, types: parsed });
      };
      send().then(
        (rows) => end({ rows }),
        (error: unknown) => {
          if (error instanceof DatabaseError && error.code === '57014' && statement.cause !== undefined) error.code = statement.cause;
          end({ error });
        },
      );
    });
  }

  #time(): number {
    return Math.round(this.#world.now * 1000);
  }

  async #tellTime(): Promise<void> {
    await this.#ask(`select setval('sim.clock', ${this.#time()})`);
  }

  async settle(): Promise<void> {
    for (;;) {
      while (this.#busy > 0) {
        await this.#statements.sleep();
        await drain();
      }
      await this.#statements.wait();
      const finished = this.#statements.all.filter(({ state }) => state === 'finished');
      if (finished.length === 0) {
        if (!(await this.#statements.breakDeadlock())) return;
        continue;
      }
      this.#statements.all = this.#statements.all.filter(({ state }) => state !== 'finished');
      // In the order in which they were sent, whichever answer came first.
      for (const statement of finished) await this.#hand(statement);
      await drain();
    }
  }

  /** Gives an answer to whoever waits: at once, or in a step of its own when the statement has waited for others. */
  async #hand(statement: Statement): Promise<void> {
    const { session, outcome, label } = statement;
    if (session.current === statement) session.current = undefined;
    const told = outcome && 'error' in outcome ? `fails: ${(outcome.error as { code?: string }).code ?? String(outcome.error)}` : '';
    if (told !== '') this.#world.note(`  ${label} ${told}`);
    if (/: 42(?!P07)/u.test(told)) this.misunderstood.push(`${label} ${told}`);
    if (statement.blockedSince === 0 || session.owner === undefined) {
      statement.deliver();
      return;
    }
    session.idleSince = this.#world.now;
    void this.#world.step(session.owner, `goes on after ${label}`).then(() => statement.deliver());
  }

  nextDeadline(): number {
    const locks = this.#statements.all.flatMap(({ state, blockedSince }) => (state === 'blocked' ? [blockedSince + lockTimeout] : []));
    const idle = this.#all.flatMap(({ owner, transaction, idleSince }) =>
      owner && transaction === 'begun' ? [idleSince + idleTimeout] : [],
    );
    return Math.min(Infinity, ...locks, ...idle);
  }

  async expire(): Promise<void> {
    const { now } = this.#world;
    for (const statement of this.#statements.all) {
      if (statement.state !== 'blocked' || statement.blockedSince + lockTimeout > now) continue;
      this.#world.note(`  ${statement.label} has waited for too long`);
      await this.#statements.cancel(statement, '55P03');
    }
    for (const session of this.#all) {
      if (!session.owner || session.transaction !== 'begun' || session.idleSince + idleTimeout > now) continue;
      this.#world.note(`  a transaction of ${session.owner.name} was idle for too long`);
      await this.#reset(session);
      session.isBroken = true;
    }
    await this.settle();
  }

  async abandon(group: Group): Promise<void> {
    // A process that dies has its connections closed; a machine that goes away has not, and the server finds out by its time limits.
    const isMachine = this.#world.random() < 0.3;
    for (const session of this.#all) {
      if (session.owner !== group) continue;
      if (!isMachine) await this.#reset(session);
      session.isBroken = true;
    }
    await this.settle();
  }

  /** Rolls back what is open, as the end of a connection does. */
  async #reset(session: Session): Promise<void> {
    const { current } = session;
    if (current !== undefined && current.state !== 'finished') {
      await this.#ask('select pg_cancel_backend($1)', [session.pid]);
      this.#statements.all = this.#statements.all.filter((each) => each !== current);
    }
    session.current = undefined;
    session.transaction = 'none';
    session.idleSince = Infinity;
    // Queued behind what was cancelled.
    await session.client.query('rollback');
    this.#statements.hasReleased = true;
  }

  #release(session: Session, group: Group): void {
    if (session.owner !== group) return;
    session.owner = undefined;
    if (session.isBroken || session.transaction !== 'none') {
      // A connection that was cut: the server goes on with its transaction until it notices.
      if (session.transaction === 'begun') {
        session.owner = group;
        return;
      }
    }
    session.transaction = 'none';
    this.#free.push(session);
  }
}
