import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { HistoryDriver, type SendToStorage } from '../support/history-driver.ts';
import { judgeHistory } from '../support/linearizability.ts';
import { createRandom } from '../support/random.ts';
import { useLocal, type LocalInfo } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';
import { openServices, type SignedServices } from '../support/signed.ts';

/**
 * 32 clients write, read and list five names at once, by every kind of write, while the service is killed at random points and started
 * again. What they were answered has an order that explains all of it: nothing acknowledged is lost, nothing refused is done.
 */

const rounds = scale(4, 60);
const clients = 32;
const steps = 40;
const names = ['a', 'b', 'c', 'd', 'e'];
/** Histories of one name whose search may be given up: one in fifty, and one of few. */
const mostUndecided = Math.max(1, (rounds * names.length) / 50);
const user = useLocal('--http');
const random = createRandom(seed);
let local: LocalInfo;
let services: SignedServices;

async function connect(info: LocalInfo): Promise<void> {
  local = info;
  services = await openServices(info, clients);
}

/** Settles when the service can be reached again. */
let reachable = Promise.resolve();

async function restart(): Promise<void> {
  process.kill(local.pid, 'SIGKILL');
  while (existsSync(`/proc/${local.pid}/exe`)) await sleep(5);
  await services.close();
  await connect(await user.json<LocalInfo>('local', 'start', '--http', '--compute-port', '0', '--stor-port', '0'));
}

afterAll(() => services.close());

const send: SendToStorage = (method, path, sent) => services.send('storage', method, path, sent);

/** Lets a client do its steps; while the service is away it waits. */
async function work(driver: HistoryDriver, client: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    await reachable;
    await driver.step(client, send).catch(() => sleep(20));
  }
}

test('histories of 32 clients with kills can all be put in order', { timeout: 60_000 + rounds * 30_000 }, async () => {
  await connect(user.local);
  let [operations, kills, unanswered, undecided] = [0, 0, 0, 0];
  for (let round = 1; round <= rounds; round += 1) {
    const directory = `/demo/stor/history${round}`;
    await send('PUT', directory, { headers: { 'content-type': 'application/json; type=directory' } });
    const driver = new HistoryDriver(directory, names, random);
    const working = Promise.all(Array.from({ length: clients }, (_, client) => work(driver, client)));
    let isDone = false;
    void working.finally(() => (isDone = true));
    for (let kill = 0; kill < 2; kill += 1) {
      await sleep(50 + random() * 400);
      if (isDone) break;
      kills += 1;
      reachable = restart();
      await reachable;
    }
    await working;
    // Everything is looked at once more when nobody changes anything.
    await driver.look(send);
    const { history, wrong } = driver.finish();
    const verdict = judgeHistory(history);
    expect([seed, round, wrong]).toEqual([seed, round, []]);
    expect([seed, round, verdict.violation]).toEqual([seed, round, undefined]);
    undecided += verdict.undecided.length;
    operations += history.length;
    unanswered += history.filter(({ ending }) => ending === 'unknown').length;
  }
  expect(operations).toBeGreaterThan(rounds * 300);
  expect(undecided).toBeLessThanOrEqual(mostUndecided);
  report('proof', {
    name: `histories of ${clients} clients at ${names.length} names`,
    ours: `${rounds} histories, ${operations} operations, ${kills} kills, ${unanswered} changes without an answer: all in order; ${undecided} of ${rounds * names.length} with too many orders to try`,
    promise: 'linearizable, whatever is killed',
  });
});
