import { loadJob, type ActiveJob, type ActivePhase, type Task } from '../../../src/server/jobs/active-job.ts';
import { claimTasks } from '../../../src/server/jobs/claims.ts';
import { createTaskLeases, leaseTime } from '../../../src/server/jobs/leases.ts';
import type { TaskLeases } from '../../../src/server/jobs/task-leases.ts';
import { recordResults } from '../../../src/server/jobs/record.ts';
import type { Result } from '../../../src/server/jobs/result.ts';
import { baseOf } from '../../../src/server/jobs/results.ts';
import { placeOfAbsolute } from '../../../src/server/storage/paths.ts';
import type { SimulatedGateway } from './gateway.ts';
import type { Begun, Scenario, Script } from './script.ts';

/** The histories for which the rules of workers are there that do the tasks of one job. */

const large = Buffer.from('large\n'.repeat(4000));

/** Milliseconds for which a task that was lost once waits at most. */
const pause = 600;

/** A job as one worker knows it. */
interface Worker {
  readonly process: SimulatedGateway;
  readonly leases: TaskLeases;
  readonly job: ActiveJob;
  readonly phase: ActivePhase;
}

/** Makes a job of one phase, whose input is done. @returns its id */
async function createJob(script: Script, process: SimulatedGateway, inputs: number): Promise<string> {
  await script.do(process, 'PUT', '/demo/stor/a', { body: Buffer.from('a\n') });
  const { headers } = await script.do(process, 'POST', '/demo/jobs', { json: { phases: [{ exec: 'cat' }] } });
  const id = String(headers['location']).split('/').at(-1) ?? '';
  await script.do(process, 'POST', `/demo/jobs/${id}/live/in?end=true`, { body: Buffer.from('/demo/stor/a\n'.repeat(inputs)) });
  return id;
}

/** @param accountTasks most tasks of an account that are to run at once */
function enter(script: Script, process: SimulatedGateway, id: string, accountTasks?: number): Promise<Worker> {
  return script.run(process, 'enter', async () => {
    const job = await loadJob(process.store.db, id, Date.now);
    const phase = job?.phases[0];
    if (!job || !phase) throw new Error('there is no such job');
    return { process, leases: createTaskLeases(process.store, process.group.name, accountTasks), job, phase };
  });
}

/** Two workers, and a job. */
async function startWorkers(script: Script, inputs: number, limits: readonly [number?, number?] = []): Promise<readonly [Worker, Worker]> {
  const [one, other] = [await script.start('worker 1'), await script.start('worker 2')];
  const id = await createJob(script, one, inputs);
  return [await enter(script, one, id, limits[0]), await enter(script, other, id, limits[1])];
}

function claim(script: Script, { process, leases, job, phase }: Worker, limit: number): Begun & { value: readonly Task[] | undefined } {
  const work = async (): Promise<readonly Task[]> => (await claimTasks(process.store, leases, job, phase, limit)).tasks;
  return script.attempt(process.group, 'claim', work);
}

/** Claims, where nothing is in the way of it. */
async function take(script: Script, worker: Worker, limit: number): Promise<readonly Task[]> {
  const claimed = claim(script, worker, limit);
  await script.over(claimed);
  if (claimed.value === undefined) throw new Error('a claim has failed');
  return claimed.value;
}

/** What a task comes to that wrote an object. */
function finish(script: Script, { process, job }: Worker, task: Task): Promise<Result> {
  return script.run(process, 'finish', async () => {
    const place = placeOfAbsolute(`${baseOf(job, 0, task.origin)}${process.group.name}-${task.number}`);
    if (!place) throw new Error('no place');
    const { id, size, md5 } = await process.store.bytes.write(large);
    const objects = [{ place, content: id, size, md5 }];
    return { kind: 'output', task, zone: 'z', output: { outputs: [{ path: place.path, given: 0 }], objects, named: [] } };
  });
}

/** What a task comes to that named an object which was there. */
function nameExisting(task: Task): Result {
  return { kind: 'output', task, zone: 'z', output: { outputs: [{ path: '/demo/stor/a', given: 1 }], objects: [], named: [] } };
}

type Recorded = Awaited<ReturnType<typeof recordResults>>;

function record(script: Script, { process }: Worker, results: readonly Result[]): Begun & { value: Recorded | undefined } {
  return script.attempt(process.group, 'record', () =>
    recordResults(process.store, results, { now: Date.now(), server: 's', settings: {} }),
  );
}

/** The job has as many outputs as it counts, and as it must have; and counts what was given back to be done once more. */
async function checkOutputs(script: Script, { process, job }: Worker, expected: number, retries = 0): Promise<void> {
  const { db } = process.store;
  await script.run(process, 'look', async () => {
    const counted = await db.selectFrom('jobs').select(['outputs', 'retries']).where('id', '=', job.id).executeTakeFirstOrThrow();
    const { length } = await db.selectFrom('job_outputs').select('number').where('job', '=', job.id).execute();
    if (counted.outputs !== expected || length !== expected)
      script.wrong.push(`of ${expected} tasks there are ${length} outputs, and ${counted.outputs} are counted`);
    if (counted.retries !== retries) script.wrong.push(`${counted.retries} tasks count as given back, of ${retries}`);
    return true;
  });
}

/** A worker sleeps past the lease of its task, which another one does meanwhile; both record what it came to. */
async function recordLate(script: Script): Promise<void> {
  const [late, other] = await startWorkers(script, 1);
  const [mine] = await take(script, late, 1);
  await script.pass(leaseTime + 200 + script.random() * 3000);
  await script.run(other.process, 'collect', () => other.leases.collectLost());
  await script.pass(pause);
  const [theirs] = await take(script, other, 1);
  if (!mine || !theirs) throw new Error('a task was not claimed');
  const lost = script.random() < 0.5 ? await script.run(late.process, 'renew', () => late.leases.renew()) : [mine];
  if (lost.length === 0) script.wrong.push("a worker renews the lease of a task that is another one's");
  const refused = record(script, late, [await finish(script, late, mine)]);
  await script.over(refused);
  await checkOutputs(script, other, 0);
  if (refused.value?.refused !== 1) script.wrong.push(`of a late result ${refused.value?.refused} was refused`);
  const recorded = record(script, other, [await finish(script, other, theirs)]);
  await script.over(recorded);
  if (recorded.value?.over.length !== 1) script.wrong.push('the job is not over with its last task');
  await checkOutputs(script, other, 1);
}

/** The answer of the database is lost, and the same is recorded again. */
async function recordAgain(script: Script): Promise<void> {
  const [worker] = await startWorkers(script, 2);
  const tasks = await take(script, worker, 1 + Math.floor(script.random() * 2));
  for (let turn = 0; turn < 2; turn += 1) await script.over(record(script, worker, tasks.map(nameExisting)));
  await checkOutputs(script, worker, tasks.length);
}

/** Two workers record the last two tasks of a job at the same time; the second one may say that its task is to be done again. */
async function recordTogether(script: Script): Promise<void> {
  const [one, other] = await startWorkers(script, 2);
  const [[first], [second]] = [await take(script, one, 1), await take(script, other, 1)];
  if (!first || !second) throw new Error('a task was not claimed');
  const isDone = script.random() < 0.5;
  const outcome: Result = isDone ? await finish(script, other, second) : { kind: 'retry', task: second, zone: 'z', counts: true };
  const slow = record(script, one, [await finish(script, one, first)]);
  const held = await script.holdAt(
    one.process,
    script.pick(/^insert job_outputs/u, /^update jobs/u, /^select job_phases/u, /^commit/u),
    slow,
  );
  const quick = record(script, other, [outcome]);
  await script.overOrStuck(quick);
  script.release(held);
  await script.over(slow, quick);
  const over = [slow, quick].filter(({ value }) => value?.over.length === 1).length;
  if (over !== (isDone ? 1 : 0)) script.wrong.push(`the job was over ${over} times`);
  await checkOutputs(script, one, isDone ? 2 : 1, isDone ? 0 : 1);
}

/** Two workers claim at the same time, one of which is slow. @param limits most tasks of an account for each */
async function claimTogether(script: Script, limits: readonly [number, number]): Promise<readonly (readonly Task[])[]> {
  const [one, other] = await startWorkers(script, 4, limits);
  const slow = claim(script, one, 2);
  const held = await script.holdAt(one.process, /^commit/u, slow);
  const quick = claim(script, other, 1 + Math.floor(script.random() * 4));
  await script.overOrStuck(quick);
  script.release(held);
  await script.over(slow, quick);
  return [slow.value ?? [], quick.value ?? []];
}

/** Two workers take tasks of one job. */
async function claimSame(script: Script): Promise<void> {
  const [mine = [], theirs = []] = await claimTogether(script, [100, Infinity]);
  const both = mine.filter(({ number }) => theirs.some((task) => task.number === number));
  if (both.length > 0) script.wrong.push(`two workers do task ${both[0]?.number}`);
}

/** Two workers take as many tasks as an account may have. */
async function claimLimited(script: Script): Promise<void> {
  const claimed = (await claimTogether(script, [2, 2])).flat();
  if (claimed.length > 2) script.wrong.push(`${claimed.length} tasks of an account run that may have 2`);
}

export const taskScenarios = { recordLate, recordAgain, recordTogether, claimSame, claimLimited } satisfies Readonly<
  Record<string, Scenario>
>;
