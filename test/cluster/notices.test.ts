import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ActiveJob } from '../../src/server/jobs/active-job.ts';
import { createJobsElsewhere } from '../../src/server/jobs/elsewhere.ts';
import { startJobEngine } from '../../src/server/jobs/engine.ts';
import { createTaskLeases } from '../../src/server/jobs/leases.ts';
import { watchJobs } from '../../src/server/jobs/watch.ts';
import type { Store } from '../../src/server/store/store.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import { createSharedPlace, type SharedPlace } from '../support/cluster-database.ts';
import { usualIsolation } from '../support/job-sandboxes.ts';
import { lacksPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { runStatement } from '../support/postgres.ts';
import { createTestService, type TestService } from '../support/service.ts';

/** How engines learn that there is something to do: by notices where they can be had, and by asking. */

const wait = { timeout: 60_000, interval: 20 };
let place: SharedPlace;
let service: TestService;
const stores: Store[] = [];

async function open(url = place.url, log?: (line: string) => void): Promise<Store> {
  const store = await openClusterStore({ database: url, bytes: place.dir, log });
  stores.push(store);
  return store;
}

beforeAll(async () => {
  place = await createSharedPlace();
  service = await createTestService({
    open: place.open,
    // A gateway that leaves tasks to others.
    startJobs: (store) => ({
      ...createJobsElsewhere(store),
      detected: Promise.resolve({ isolation: { kind: 'none' } as never }),
      close: () => Promise.resolve(),
    }),
  });
});
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await service.close();
  await place.remove();
});

async function createJob(exec = 'cat'): Promise<string> {
  const { headers } = await service.storage('POST', '/demo/jobs', { json: { phases: [{ exec }] } });
  return headers['location']?.split('/').at(-1) ?? '';
}

/** Watches as an engine does that asks by itself only after an hour. */
function watchFor(store: Store): { changed: Set<string>; questions: () => number; stop: () => Promise<void> } {
  const changed = new Set<string>();
  let questions = 0;
  const stop = new AbortController();
  const watching = watchJobs({
    store,
    leases: createTaskLeases(store, randomUUID()),
    jobs: new Map<string, ActiveJob>(),
    pollTime: 3_600_000,
    log: () => undefined,
    signal: stop.signal,
    onChange: (job) => void changed.add(job),
    onDone: () => undefined,
    onTasks: () => void (questions += 1),
  });
  return {
    changed,
    questions: () => questions,
    stop: () => {
      stop.abort();
      return watching;
    },
  };
}

/** Ends all connections that listen. */
const cutListeners = (): Promise<void> =>
  runStatement(
    place.url,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen%'`,
  );

describe('an engine', () => {
  test('is told by a gateway of another process, and again after its connection broke', async () => {
    const engine = watchFor(await open());
    // One question of its own, one when it listens.
    await expect.poll(engine.questions, wait).toBeGreaterThanOrEqual(2);
    const first = await createJob();
    await expect.poll(() => engine.changed.has(first), wait).toBe(true);
    const before = engine.questions();
    await cutListeners();
    await expect.poll(engine.questions, wait).toBeGreaterThan(before);
    const second = await createJob();
    await expect.poll(() => engine.changed.has(second), wait).toBe(true);
    await engine.stop();
  });

  test('is told of inputs, of their end, and of a cancel', async () => {
    const engine = watchFor(await open());
    await expect.poll(engine.questions, wait).toBeGreaterThanOrEqual(2);
    const id = await createJob();
    for (const request of ['in', 'in/end', 'cancel']) {
      await expect.poll(() => engine.changed.has(id), wait).toBe(true);
      const before = engine.questions();
      expect(
        (await service.storage('POST', `/demo/jobs/${id}/live/${request}`, { body: Buffer.from('/demo/stor/a\n') })).status,
      ).toBeLessThan(300);
      await expect.poll(engine.questions, wait).toBeGreaterThan(before);
    }
    await engine.stop();
  });

  test('that nobody tells still does the tasks', async () => {
    const { notices: _, ...store } = await open();
    await service.storage('PUT', '/demo/stor/a', { body: Buffer.from('a\n') });
    const given = { dataDir: join(place.dir, 'deaf'), owner: 'deaf', url: () => '', server: 'deaf', isolation: usualIsolation(), slots: 1 };
    const engine = startJobEngine({ ...given, store, now: Date.now, log: () => undefined });
    await engine.detected;
    const id = await createJob();
    await service.storage('POST', `/demo/jobs/${id}/live/in?end=true`, { body: Buffer.from('/demo/stor/a\n') });
    await expect.poll(async () => (await service.storage('GET', `/demo/jobs/${id}/live/status`)).text, wait).toContain('"state":"done"');
    await engine.close();
  });
});

describe.skipIf(lacksPgbouncer())('behind a pooler of transactions', () => {
  test('nobody listens, one line says so, and tasks are found by asking', async () => {
    const pooler = await startPgbouncer(place.url);
    const lines: string[] = [];
    const store = await openClusterStore({ database: pooler.url, bytes: place.dir, log: (line) => void lines.push(line) });
    try {
      const given = {
        dataDir: join(place.dir, 'pooled'),
        owner: 'pooled',
        url: () => '',
        server: 'pooled',
        isolation: usualIsolation(),
        slots: 1,
      };
      const engine = startJobEngine({ ...given, store, now: Date.now, log: () => undefined });
      await expect.poll(() => lines, wait).toEqual([expect.stringContaining('through a pooler')]);
      const id = await createJob('cat; echo done');
      await service.storage('POST', `/demo/jobs/${id}/live/in?end=true`, { body: Buffer.from('/demo/stor/a\n') });
      await expect.poll(async () => (await service.storage('GET', `/demo/jobs/${id}/live/status`)).text, wait).toContain('"state":"done"');
      const [output = ''] = (await service.storage('GET', `/demo/jobs/${id}/live/out`)).text.split('\n');
      expect((await service.storage('GET', output)).text).toBe('a\ndone\n');
      await engine.close();
      expect(lines).toHaveLength(1);
    } finally {
      await store.close();
      await pooler.stop();
    }
  });
});
