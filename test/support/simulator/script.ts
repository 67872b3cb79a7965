import { collect } from '../../../src/server/cluster-collector.ts';
import type { Answered, Sent } from '../signed.ts';
import { NoAnswer, openStore, startGateway, type SimulatedGateway, type World } from './gateway.ts';
import type { Dangers, Group, Held } from './simulation.ts';

/**
 * Histories in which it is fixed who does what, and where somebody is slow or asleep meanwhile. The seed chooses at which of several
 * statements, for how long, and in which order everything else is done. So what a rule of the product is there for happens each time.
 */

/** Nothing happens by chance. */
const calm: Dangers = { freeze: 0, crash: 0, cut: 0, lostAnswer: 0, time: 0 };

/** Virtual milliseconds after which what has not come will not come, and after which somebody who is not done waits for another. */
const timeLimit = 120_000;
const stuckTime = 2000;

/** A gateway that collects nothing by itself. */
const never = 86_400_000;

/** Something that was begun. */
export interface Begun {
  readonly task: string | undefined;
  isOver: boolean;
}

/** A request. */
export interface Asked extends Begun {
  /** Undefined until it is over, and when no answer came. */
  answered: Answered | undefined;
}

export class Script {
  readonly random: () => number;
  /** What no order of events can excuse. */
  readonly wrong: string[] = [];
  readonly #world: World;
  readonly #gateways: SimulatedGateway[] = [];

  constructor(world: World) {
    this.#world = world;
    this.random = world.simulation.random;
    world.simulation.join(world.database, () => undefined);
  }

  /** One of several things. */
  pick<T>(first: T, ...others: T[]): T {
    return this.#world.simulation.pick([first, ...others]) ?? first;
  }

  /** A process that is no gateway. */
  open(name: string): Pick<SimulatedGateway, 'group' | 'store'> {
    const group = this.#world.simulation.addGroup(name);
    return { group, store: openStore(this.#world, group) };
  }

  async start(name: string): Promise<SimulatedGateway> {
    let started: SimulatedGateway | undefined;
    let failure: unknown;
    startGateway(this.#world, name, never).then(
      (gateway) => (started = gateway),
      (error: unknown) => (failure = error),
    );
    await this.until(() => started !== undefined || failure !== undefined, `${name} starts`);
    if (started === undefined) throw failure;
    this.#gateways.push(started);
    return started;
  }

  /** Sends a request. */
  ask({ send }: SimulatedGateway, method: string, path: string, sent: Sent = {}): Asked {
    const asked: Asked = { task: `${method} ${path}`, isOver: false, answered: undefined };
    send(method, path, sent)
      .then((answered) => (asked.answered = answered))
      .catch((error: unknown) => {
        if (!(error instanceof NoAnswer)) this.wrong.push(`${method} ${path}: ${String(error)}`);
      })
      .finally(() => (asked.isOver = true));
    return asked;
  }

  /** Sends a request, which nothing is in the way of. @throws when it does not succeed */
  async do(gateway: SimulatedGateway, method: string, path: string, sent?: Sent): Promise<Answered> {
    const asked = this.ask(gateway, method, path, sent);
    await this.over(asked);
    const { answered } = asked;
    if (answered === undefined || answered.status >= 300) throw new Error(`${method} ${path} was answered ${answered?.status}`);
    return answered;
  }

  /** Goes on until something is so. */
  async until(isSo: () => boolean, what: string): Promise<void> {
    const { simulation, outside } = this.#world;
    const end = simulation.now + timeLimit;
    const forget = simulation.within(outside, () => simulation.schedule(timeLimit, () => undefined, 'the time limit ends'));
    await simulation.run(() => isSo() || simulation.now >= end, calm);
    forget();
    if (!isSo()) throw new Error(`${what}: this has not happened`);
  }

  async pass(milliseconds: number): Promise<void> {
    const { simulation, outside } = this.#world;
    let isOver = false;
    simulation.within(outside, () => simulation.schedule(milliseconds, () => (isOver = true), 'time has passed'));
    await this.until(() => isOver, 'time passes');
  }

  async over(...begun: readonly Begun[]): Promise<void> {
    await this.until(() => begun.every(({ isOver }) => isOver), `${begun.map(({ task }) => task).join(', ')} ends`);
  }

  /** Until something is over, or waits for somebody else. */
  async overOrStuck(begun: Begun): Promise<void> {
    const { simulation, outside } = this.#world;
    let isStuck = false;
    const forget = simulation.within(outside, () => simulation.schedule(stuckTime, () => (isStuck = true), 'no more is waited for'));
    await this.until(() => begun.isOver || isStuck, `${begun.task} ends or waits`);
    forget();
  }

  /** Holds a step of a request up, or one of what a gateway does by itself; whatever else it does goes on. */
  hold({ group }: Pick<SimulatedGateway, 'group'>, label: RegExp, asked?: Begun): Held {
    return this.#world.simulation.hold(group, label, asked?.task);
  }

  /** The same, and goes on until it is reached. */
  async holdAt(process: Pick<SimulatedGateway, 'group'>, label: RegExp, asked: Begun): Promise<Held> {
    const held = this.hold(process, label, asked);
    await this.until(() => held.isReached, `${asked.task} comes to ${String(label)}`);
    return held;
  }

  release(held: Held): void {
    this.#world.simulation.release(held);
  }

  /** Stops a whole process, as SIGSTOP does. */
  freeze({ group }: SimulatedGateway): void {
    group.frozenUntil = Infinity;
  }

  thaw({ group }: SimulatedGateway): void {
    group.frozenUntil = 0;
  }

  /** Until each gateway has said again that it is alive. */
  async renewed(...gateways: readonly SimulatedGateway[]): Promise<void> {
    const { simulation } = this.#world;
    const asked = simulation.now;
    const all = gateways.length > 0 ? gateways : this.#gateways;
    await this.until(() => all.every(({ lease }) => simulation.now - lease.age() > asked), 'leases are renewed');
  }

  /** Collects once as an operator does, and looks for what no note tells of, too. */
  async collect(): Promise<void> {
    const { operator } = this.#world;
    const work = (): Promise<unknown> => collect({ store: openStore(this.#world, operator), sweep: true });
    await this.overOrStuck(this.attempt(operator, 'a collection', work));
  }

  /** Notes it where all of these succeeded, of which one may at most. */
  excludeEachOther(...asked: readonly Asked[]): void {
    const isDone = asked.every(({ answered }) => answered !== undefined && answered.status < 300);
    if (isDone) this.wrong.push(`all of these succeeded: ${asked.map(({ task }) => task).join(', ')}`);
  }

  /** Does work of a process, which nothing is in the way of. */
  async run<T>({ group }: SimulatedGateway, task: string, work: () => Promise<T>): Promise<T> {
    const done = this.attempt(group, task, work);
    await this.over(done);
    if (done.value === undefined) throw new Error(`${task} has failed`);
    return done.value;
  }

  /** Begins work of a process, which may fail. Its result is there when it is over. */
  attempt<T>(group: Group, task: string, work: () => Promise<T>): Begun & { value: T | undefined } {
    const attempted: Begun & { value: T | undefined } = { task, isOver: false, value: undefined };
    const { simulation } = this.#world;
    const run = async (): Promise<void> => {
      try {
        attempted.value = await work();
      } catch (error) {
        simulation.note(`${task} fails: ${String(error)}`);
      }
      attempted.isOver = true;
    };
    void simulation.within(group, run, task);
    return attempted;
  }
}

/** Does something with gateways; what is wrong then is found in the data, or noted by it. */
export type Scenario = (script: Script) => Promise<void>;
