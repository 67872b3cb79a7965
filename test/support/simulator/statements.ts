import type { Client } from 'pg';
import type { Group, Simulation } from './simulation.ts';

/** Real milliseconds after which the server is asked whether a statement waits. */
const glance = 3;

/** What a statement returns. */
export type Rows = { command: string; rowCount: number | null; rows: unknown[] };

/** A statement that was sent. */
export interface Statement {
  readonly session: Session;
  readonly label: string;
  /** Whether it reads the clock. */
  readonly isTimed: boolean;
  state: 'running' | 'blocked' | 'finished';
  blockedSince: number;
  /** What ended it, in the words of the server. */
  cause: '40P01' | '55P03' | undefined;
  outcome: { rows: Rows } | { error: unknown } | undefined;
  readonly deliver: () => void;
}

/** A connection of the server. Those that are given back are used again. */
export interface Session {
  readonly client: Client;
  readonly pid: number;
  owner: Group | undefined;
  /** Whether a transaction is begun, and whether the server knows of it. */
  transaction: 'none' | 'to be begun' | 'begun';
  begin: string;
  idleSince: number;
  isBroken: boolean;
  current: Statement | undefined;
}

/** What the watch of statements works with. */
interface Surroundings {
  ask(sql: string, parameters: unknown[]): Promise<unknown[]>;
  world(): Simulation;
}

/** The statements that were sent and are not over: which of them run, and which wait for a transaction that does not go on by itself. */
export class Statements {
  all: Statement[] = [];
  /** Whether a transaction has ended since it was looked who waits. */
  hasReleased = false;
  /** Whether more wait than when it was looked whether they wait for each other. */
  #hasWaiters = false;
  #wake: () => void = () => undefined;
  readonly #real = { setTimeout, clearTimeout };
  readonly #surroundings: Surroundings;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** Says that something has ended. */
  wake(): void {
    this.#wake();
  }

  /** Until something has ended. */
  async sleep(): Promise<void> {
    await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  /** Until each statement has ended or waits for one that nobody goes on with. */
  async wait(): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      const open = this.all.filter(({ state }) => state !== 'finished');
      if (open.length === 0) return;
      if (open.some(({ state }) => state === 'running')) {
        if (await this.#glimpse(isFirst)) continue;
      } else if (!this.hasReleased) return;
      if (!(await this.#findBlocked())) continue;
      this.hasReleased = false;
      return;
    }
  }

  /** Waits for an answer, for a moment. @returns whether nothing runs any more */
  async #glimpse(isFirst: boolean): Promise<boolean> {
    const before = this.all.filter(({ state }) => state === 'finished').length;
    await new Promise<void>((resolve) => {
      const timer = this.#real.setTimeout(resolve, isFirst ? glance : 0);
      this.#wake = () => {
        this.#real.clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = () => undefined;
    const after = this.all.filter(({ state }) => state === 'finished').length;
    return after > before && this.all.every(({ state }) => state !== 'running');
  }

  /** Asks the server who waits for whom. @returns whether everything that has not ended waits for what does not move */
  async #findBlocked(): Promise<boolean> {
    const open = this.all.filter(({ state }) => state !== 'finished');
    const by = await this.#readBlockers();
    // Ended meanwhile.
    if (open.some(({ state }) => state === 'finished')) return false;
    const running = new Set(open.filter(({ session }) => (by.get(session.pid) ?? []).length === 0).map(({ session }) => session.pid));
    if (running.size > 0) {
      for (const statement of open) if (running.has(statement.session.pid)) statement.state = 'running';
      return false;
    }
    this.#hasWaiters = true;
    for (const statement of open) {
      // One that is woken may wait again, for another.
      if (statement.blockedSince === 0) {
        statement.blockedSince = this.#surroundings.world().now;
        this.#surroundings.world().note(`  ${statement.label} waits`);
      }
      statement.state = 'blocked';
    }
    return true;
  }

  async #readBlockers(): Promise<Map<number, number[]>> {
    const pids = this.all.filter(({ state }) => state !== 'finished').map(({ session }) => session.pid);
    const rows = await this.#surroundings.ask('select pid, pg_blocking_pids(pid) as by from unnest(cast($1 as integer[])) as pid', [pids]);
    return new Map((rows as { pid: number; by: number[] }[]).map(({ pid, by }) => [pid, by]));
  }

  /** Ends one of several statements that wait for each other, as the server does after a while. @returns whether there were any */
  async breakDeadlock(): Promise<boolean> {
    const blocked = this.all.filter(({ state }) => state === 'blocked');
    if (blocked.length < 2 || !this.#hasWaiters) return false;
    this.#hasWaiters = false;
    const by = await this.#readBlockers();
    const reaches = (from: number, to: number, seen = new Set<number>()): boolean =>
      (by.get(from) ?? []).some((pid) => {
        if (pid === to) return true;
        if (seen.has(pid)) return false;
        seen.add(pid);
        return reaches(pid, to, seen);
      });
    const victim = this.#surroundings.world().pick(blocked.filter(({ session }) => reaches(session.pid, session.pid)));
    if (victim === undefined) return false;
    this.#surroundings.world().note(`  deadlock: ${victim.label} ends`);
    await this.cancel(victim, '40P01');
    return true;
  }

  async cancel(statement: Statement, cause: Statement['cause']): Promise<void> {
    statement.cause = cause;
    statement.state = 'running';
    await this.#surroundings.ask('select pg_cancel_backend($1)', [statement.session.pid]);
  }
}
