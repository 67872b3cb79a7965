import { foldCounts } from '../../../src/server/store/counts.ts';
import { collect } from '../../../src/server/cluster-collector.ts';
import { CrowdedTree } from '../crowded-tree.ts';
import { findDamage } from '../find-damage.ts';
import { HistoryDriver, type SendToStorage } from '../history-driver.ts';
import { judgeHistory } from '../linearizability.ts';
import { SimulatedBytes } from './bytes.ts';
import type { Rewrite, SimulatedDatabase } from './database.ts';
import { openStore, startGateway, tellDeath, type SimulatedGateway, type World } from './gateway.ts';
import { scenarios, type ScenarioName } from './directed-histories.ts';
import { putScenarios } from './put-histories.ts';
import { takeGlobals } from './globals.ts';
import { Script, type Scenario } from './script.ts';
import { Simulation, type Dangers } from './simulation.ts';

/** Histories of the object storage: clients of several gateways that freeze, die and are cut off, and what must be true afterwards. */

/** A mistake that is put into the product, for as long as one simulation runs. */
export interface Mutation {
  readonly rewrite?: Rewrite;
}

/** What came of a simulation. */
export interface Outcome {
  /** What is wrong; empty when all is as it must be. */
  readonly wrong: readonly string[];
  /** Of these, answers 500, and statements that the server does not understand: mistakes of a program, in any order of events. */
  readonly failures: readonly string[];
  /** What happened, as a short text and line by line. */
  readonly digest: string;
  readonly history: readonly string[];
  readonly steps: number;
  readonly met: ReadonlyMap<string, number>;
}

/** What clients do: objects of a row or of a file, objects of files alone while gateways often freeze, or directories and uploads. */
export type Work = 'objects' | 'files' | 'directories';

const dangers: Record<Work, Dangers> = {
  objects: { freeze: 6, crash: 2, cut: 2, lostAnswer: 6, time: 60 },
  files: { freeze: 45, crash: 3, cut: 2, lostAnswer: 3, time: 100 },
  // Whoever drives them knows of each request how it ended: only the order is left to chance.
  directories: { freeze: 0, crash: 0, cut: 0, lostAnswer: 0, time: 20 },
};

const clients = 4;

/** Virtual milliseconds between two collections of an operator. */
const operatorPause = 4000;

/** Most collections until nothing is left to collect. */
const collections = 10;
const steps = 5;

interface Clients {
  step(client: number, send: SendToStorage, other: SendToStorage): Promise<void>;
  finish(send: SendToStorage): Promise<readonly string[]>;
}

function driveObjects({ random }: Simulation, share: number): Clients {
  const driver = new HistoryDriver('/demo/stor', ['a', 'b', 'c', 'd'], random, { share, lines: 6000 });
  return {
    step: (client, send) => driver.step(client, send),
    async finish(send) {
      await driver.look(send);
      const { history, wrong } = driver.finish();
      const { violation } = judgeHistory(history);
      return violation ? [...wrong, `no order of operations at ${violation.key} has ${JSON.stringify(violation.stuck)}`] : wrong;
    },
  };
}

function driveDirectories({ random }: Simulation): Clients {
  const tree = new CrowdedTree('/demo/stor', random);
  return { step: (_, send, other) => tree.step(send, other), finish: (send) => tree.finish(send) };
}

/** What an operator does with `cloud server collect`, again and again: this looks for what no note tells of, too. */
async function collectRegularly(world: World): Promise<void> {
  const store = openStore(world, world.operator);
  for (;;) {
    await new Promise<void>((resolve) => world.simulation.schedule(operatorPause, resolve, 'collects'));
    await collect({ store, sweep: true }).catch(() => undefined);
  }
}

/** Lets clients do their steps by any gateway, and starts another one where one dies. */
async function crowd(world: World, driver: Clients, work: Work): Promise<void> {
  const { simulation } = world;
  const gateways: SimulatedGateway[] = [];
  let started = 0;
  const start = async (): Promise<void> => {
    started += 1;
    const name = `gateway ${started}`;
    // One that dies while it starts is nobody's.
    gateways.push(await startGateway(world, name));
  };
  simulation.join(world.database, (group) => {
    if (group === world.operator) return;
    tellDeath(group);
    const at = gateways.findIndex((gateway) => gateway.group === group);
    if (at !== -1) gateways.splice(at, 1);
    void start().catch(() => undefined);
  });
  let isReady = false;
  void Promise.all([start(), start()]).then(() => (isReady = true));
  await simulation.run(() => isReady);
  simulation.within(world.operator, () => void collectRegularly(world));
  let left = clients;
  const act = async (client: number): Promise<void> => {
    for (let done = 0; done < steps; done += 1) {
      const one = simulation.pick(gateways);
      const other = simulation.pick(gateways) ?? one;
      if (one && other)
        await driver.step(client, one.send, other.send).catch((error: unknown) => simulation.note(`client ${client}: ${String(error)}`));
      else await new Promise<void>((resolve) => simulation.within(world.outside, () => simulation.schedule(500, resolve, 'client waits')));
    }
    left -= 1;
  };
  for (let client = 0; client < clients; client += 1) void act(client);
  await simulation.run(() => left === 0, dangers[work]);
}

/** What must be true of the data when nobody writes: nothing dangles, all counts are right, and what nothing refers to is gone. */
async function checkData(world: World): Promise<string[]> {
  const store = openStore(world, world.outside);
  await foldCounts(store.db);
  // Longer than orphans are kept, and then until the gateways have said that nothing old runs there any more.
  world.simulation.now += 7_200_000;
  for (let turn = 0; turn < collections; turn += 1) {
    const done = await collect({ store, sweep: true });
    if (turn > 0 && done?.waiting === 0) break;
    await new Promise<void>((resolve) => world.simulation.schedule(20_000, resolve, 'pause'));
  }
  const damage = await findDamage(store);
  const rows = (await world.database.look('select content from entries union all select bytes from pieces')) as {
    content: string | null;
  }[];
  const named = new Set(rows.map(({ content }) => content));
  return [...damage, ...[...world.bytes.kept.keys()].filter((id) => !named.has(id)).map((id) => `${id}: nothing names it, and it stays`)];
}

/** Which history: what clients do by chance, or one that is fixed. */
export interface StorageOptions {
  readonly seed: number;
  readonly work: Work | ScenarioName;
  readonly mutation?: Mutation;
}

/** Lets clients do what they like. */
async function simulateClients(world: World, work: Work): Promise<string[]> {
  const { simulation } = world;
  const driver = work === 'directories' ? driveDirectories(simulation) : driveObjects(simulation, work === 'files' ? 0.9 : 0.5);
  await crowd(world, driver, work);
  const found: string[] = [];
  const finish = async (): Promise<void> => {
    const last = await startGateway(world, 'the last gateway');
    found.push(...(await driver.finish(last.send)));
    await simulation.within(world.outside, async () => found.push(...(await checkData(world))));
  };
  let isOver = false;
  finish()
    .catch((error: unknown) => found.push(`what follows is not known: ${error instanceof Error ? error.stack : String(error)}`))
    .finally(() => (isOver = true));
  await simulation.run(() => isOver);
  return found;
}

/** Does what a scenario says. */
async function simulateScenario(world: World, scenario: Scenario): Promise<string[]> {
  const { outside } = world;
  const script = new Script(world);
  await scenario(script);
  const found: string[] = [];
  const store = openStore(world, outside);
  const look = async (): Promise<void> => {
    await foldCounts(store.db);
    found.push(...(await findDamage(store)));
  };
  await script.over(script.attempt(outside, 'a look at the data', look));
  return [...script.wrong, ...found];
}

function isRandom(work: Work | ScenarioName): work is Work {
  return Object.hasOwn(dangers, work);
}

/** Runs one history. */
export async function simulateStorage(
  database: SimulatedDatabase,
  signed: World['signed'],
  { seed, work, mutation = {} }: StorageOptions,
): Promise<Outcome> {
  const simulation = new Simulation(seed);
  await database.begin(simulation, mutation.rewrite ?? ((sql) => sql));
  const [outside, operator] = [simulation.addGroup('outside'), simulation.addGroup('operator')];
  const bytes = new SimulatedBytes(simulation);
  const putsAtOnce = isRandom(work) || Object.hasOwn(putScenarios, work);
  const world: World = { simulation, database, bytes, signed, putsAtOnce, failures: [], outside, operator };
  const giveBack = takeGlobals(simulation, seed);
  try {
    const found = isRandom(work) ? await simulateClients(world, work) : await simulateScenario(world, scenarios[work]);
    const failures = [...world.failures, ...database.misunderstood];
    return {
      wrong: [...failures, ...found, ...world.bytes.cutOff],
      failures,
      digest: simulation.digest(),
      history: simulation.history,
      steps: simulation.steps,
      met: simulation.met,
    };
  } finally {
    giveBack();
    await database.end();
  }
}
