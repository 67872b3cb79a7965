import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { createRandom } from '../random.ts';

/**
 * A world of its own: virtual time, and one thing after the other. Whatever an actor asks of the database or the byte store, and every time
 * that it waits for, is a step that stays where it is until the simulation picks it; the seed decides which, when time passes, and what
 * fails. While a step is done nothing else is, so that the same seed gives the same history.
 */

/** Milliseconds since the epoch when a simulation begins. */
const beginning = Date.UTC(2026, 0, 1);

/** Milliseconds that pass with each step. */
const stepTime = 0.1;

/** Steps after which something goes round in circles. */
const mostSteps = 20_000;

/** Processes of the simulated cluster, which stop and die as a whole. */
export interface Group {
  readonly name: string;
  /** When it goes on, while it is frozen. */
  frozenUntil: number;
  /** When it reaches the database again, while it is cut off from it. */
  cutUntil: number;
  isDead: boolean;
  /** Whether its lease has ended, as far as it can know. */
  hasLapsed: () => boolean;
  /** When it last did something although its lease had ended. */
  lapsedAt: number;
}

/** Who does something: since when, as a part of which process. */
export interface Actor {
  readonly group: Group;
  readonly began: number;
  /** What it does, such as `PUT /demo/stor/a`; undefined for what a process does by itself. */
  readonly task: string | undefined;
}

/** What is done instead of a step, or after it. */
export type Fault = 'none' | 'refused' | 'answer lost';

interface Waiting {
  readonly number: number;
  readonly group: Group;
  readonly task: string | undefined;
  readonly label: string;
}

/** Steps that are not done before somebody says so, as if the network were slow there and nowhere else. */
export interface Held {
  readonly group: Group;
  /** What is being done; undefined for what the process does by itself. */
  readonly task: string | undefined;
  readonly label: RegExp;
  /** Whether such a step would have been done. */
  isReached: boolean;
}

interface Pending extends Waiting {
  readonly go: (fault: Fault) => void;
}

interface Timer extends Waiting {
  readonly due: number;
  readonly go: () => void;
}

function isTimer(one: Pending | Timer): one is Timer {
  return 'due' in one;
}

/** What may happen to whoever is about to do a step, and how often in 1,000 steps. */
export interface Dangers {
  readonly freeze: number;
  readonly crash: number;
  readonly cut: number;
  readonly lostAnswer: number;
  /** How often time passes although there is something to do. */
  readonly time: number;
}

/** Something beside the actors that takes part in each step: the database. */
export interface Participant {
  /** Waits until nothing moves that could move by itself. */
  settle(): Promise<void>;
  /** When something of it is over by itself; Infinity for never. */
  nextDeadline(): number;
  /** Does what is due by now. */
  expire(): Promise<void>;
  /** Ends what a dead process leaves. */
  abandon(group: Group): Promise<void>;
}

const realImmediate = setImmediate;

/** Lets everything go on that waits for nothing but the processor. */
export function drain(): Promise<void> {
  return new Promise((resolve) => realImmediate(resolve));
}

export class Simulation {
  readonly random: () => number;
  /** Milliseconds since the epoch. */
  now = beginning;
  steps = 0;
  /** How often each kind of danger came true. */
  readonly met = new Map<string, number>();
  /** What happened, a line each. */
  readonly history: string[] = [];
  readonly #actors = new AsyncLocalStorage<Actor>();
  readonly #groups: Group[] = [];
  #pending: Pending[] = [];
  #timers: Timer[] = [];
  #held: Held[] = [];
  #numbers = 0;
  #participant: Participant | undefined;
  #onDeath: (group: Group) => void = () => undefined;

  constructor(seed: number) {
    this.random = createRandom(seed);
  }

  join(participant: Participant, onDeath: (group: Group) => void): void {
    this.#participant = participant;
    this.#onDeath = onDeath;
  }

  /** A process. */
  addGroup(name: string): Group {
    const group: Group = { name, frozenUntil: 0, cutUntil: 0, isDead: false, hasLapsed: () => false, lapsedAt: 0 };
    this.#groups.push(group);
    return group;
  }

  /** Does work as a part of a process. */
  within<T>(group: Group, work: () => T, task?: string): T {
    return this.#actors.run({ group, began: this.now, task }, work);
  }

  /** Holds steps up from here on. */
  hold(group: Group, label: RegExp, task?: string): Held {
    const held: Held = { group, task, label, isReached: false };
    this.#held.push(held);
    return held;
  }

  /** Lets them be done. */
  release(held: Held): void {
    this.#held = this.#held.filter((each) => each !== held);
  }

  /** True for what a process of the simulation does. */
  isInside(): boolean {
    return this.#actors.getStore() !== undefined;
  }

  /** Who does what is being done. */
  current(): Actor {
    const actor = this.#actors.getStore();
    if (actor === undefined) throw new Error('this is done by no process of the simulation');
    return actor;
  }

  /** One of some things. */
  pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.random() * items.length)];
  }

  note(line: string): void {
    this.history.push(`${(this.now - beginning).toFixed(1)} ${line}`);
  }

  /** What all that happened comes to. */
  digest(): string {
    return createHash('sha256').update(this.history.join('\n')).digest('hex').slice(0, 16);
  }

  /** Waits until the simulation picks this step. @returns what happens to it */
  step(group: Group, label: string): Promise<Fault> {
    return new Promise((go) => {
      this.#numbers += 1;
      this.#pending.push({ number: this.#numbers, group, task: this.#actors.getStore()?.task, label, go });
    });
  }

  /** Waits for virtual milliseconds. @returns what forgets it */
  schedule(milliseconds: number, work: () => void, label = 'timer'): () => void {
    const { group, task } = this.current();
    this.#numbers += 1;
    const go = (): void => this.within(group, work, task);
    const timer: Timer = { number: this.#numbers, group, task, label, go, due: this.now + Math.max(0, milliseconds) };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  }

  /** Goes on until `isOver`. @param dangers none: everything goes well from here on */
  async run(isOver: () => boolean, dangers?: Dangers): Promise<void> {
    if (!dangers) for (const group of this.#groups) [group.frozenUntil, group.cutUntil] = [0, 0];
    for (;;) {
      await drain();
      await this.#participant?.settle();
      await drain();
      if (isOver()) return;
      this.steps += 1;
      this.now += stepTime;
      if (this.steps > mostSteps) throw new Error(`nothing comes to an end in ${mostSteps} steps`);
      if ((this.#participant?.nextDeadline() ?? Infinity) <= this.now) await this.#participant?.expire();
      const isFree = ({ group }: Waiting): boolean => group.frozenUntil <= this.now;
      const ready = this.#pending.filter((one) => isFree(one) && !this.#isHeld(one));
      const due = this.#timers.filter((timer) => isFree(timer) && timer.due <= this.now);
      const isWaiting = this.#groups.some(({ isDead, frozenUntil }) => !isDead && frozenUntil > this.now);
      // What was waited for may be that a step is held.
      if (isOver()) return;
      const passes = dangers && this.random() * 1000 < dangers.time * (isWaiting ? 4 : 1);
      const next = passes ? undefined : this.pick([...ready, ...due]);
      if (next === undefined) await this.#passTime(ready.length > 0);
      else if (isTimer(next)) this.#fire(next);
      else await this.#do(next, dangers);
    }
  }

  #isHeld({ group, task, label }: Waiting): boolean {
    const held = this.#held.find((each) => each.group === group && each.task === task && each.label.test(label));
    if (held && !held.isReached) this.note(`${group.name} is held at ${label}`);
    if (held) held.isReached = true;
    return held !== undefined;
  }

  async #do(next: Pending, dangers: Dangers | undefined): Promise<void> {
    const { group } = next;
    if (group.hasLapsed()) group.lapsedAt = this.now;
    const danger = dangers && this.#chooseDanger(dangers);
    if (danger !== undefined) {
      this.met.set(danger, (this.met.get(danger) ?? 0) + 1);
      this.note(`${danger} ${group.name} at ${next.label}`);
    }
    if (danger === 'crash') return this.kill(group);
    if (danger === 'freeze') {
      group.frozenUntil = this.now + (this.pick([800, 7000, 17_000, 40_000, 40_000]) ?? 0);
      return undefined;
    }
    if (danger === 'cut') {
      group.cutUntil = this.now + (this.pick([800, 4000, 17_000]) ?? 0);
      return undefined;
    }
    this.#pending = this.#pending.filter((each) => each !== next);
    this.note(`${group.name} ${next.label}`);
    const isCut = group.cutUntil > this.now;
    next.go(isCut ? 'refused' : danger === 'lost answer' ? 'answer lost' : 'none');
    return undefined;
  }

  #chooseDanger({ freeze, crash, cut, lostAnswer }: Dangers): 'freeze' | 'crash' | 'cut' | 'lost answer' | undefined {
    const dice = this.random() * 1000;
    if (dice < freeze) return 'freeze';
    if (dice < freeze + crash) return 'crash';
    if (dice < freeze + crash + cut) return 'cut';
    return dice < freeze + crash + cut + lostAnswer ? 'lost answer' : undefined;
  }

  /** Ends a process in the middle of whatever it does. */
  async kill(group: Group): Promise<void> {
    group.isDead = true;
    this.#pending = this.#pending.filter((each) => each.group !== group);
    this.#timers = this.#timers.filter((each) => each.group !== group);
    await this.#participant?.abandon(group);
    this.#onDeath(group);
  }

  /** To the next time at which something happens by itself. */
  async #passTime(mayStay: boolean): Promise<void> {
    const deadline = this.#participant?.nextDeadline() ?? Infinity;
    const thaws = this.#groups.flatMap(({ isDead, frozenUntil }) => (!isDead && frozenUntil > this.now ? [frozenUntil] : []));
    const [timer] = this.#timers
      .filter(({ group }) => group.frozenUntil <= this.now)
      .toSorted((left, right) => left.due - right.due || left.number - right.number);
    const due = Math.min(deadline, timer?.due ?? Infinity, ...thaws);
    if (due === Infinity) {
      if (mayStay) return;
      throw new Error('nothing is left that could go on');
    }
    this.now = Math.max(this.now, due);
    if (deadline <= this.now) await this.#participant?.expire();
    if (timer !== undefined && timer.due <= this.now) this.#fire(timer);
  }

  #fire(timer: Timer): void {
    this.#timers = this.#timers.filter((each) => each !== timer);
    this.note(`${timer.group.name} ${timer.label}`);
    timer.go();
  }
}
