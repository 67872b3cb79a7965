/** What clients did to one job and saw of it, and whether a service that keeps its promises can have answered so. */

/** Inputs that were sent in one request. The first line of each is in no other. */
export interface Batch {
  readonly lines: readonly string[];
  /** `unknown`: the answer was lost, the inputs may have been added. */
  readonly outcome: 'added' | 'refused' | 'unknown';
  readonly ended: number;
}

/** One answer of GetJob, and when it was asked for and came. */
export interface Observation {
  readonly begun: number;
  readonly ended: number;
  readonly state: string;
  readonly cancelled: boolean;
  readonly inputDone: boolean;
  readonly stats: Readonly<Record<'tasks' | 'tasksDone' | 'outputs' | 'errors', number>>;
}

export interface JobHistory {
  readonly batches: readonly Batch[];
  readonly observations: readonly Observation[];
  /** When an end of the input, and a cancel, had been answered with success. */
  readonly inputEnded: number | undefined;
  readonly cancelled: number | undefined;
  /** The job when it was done. */
  readonly final: Observation;
  readonly inputs: readonly string[];
  /** Inputs that the outputs are of, by their names. */
  readonly outputs: readonly string[];
  readonly outputPaths: readonly string[];
  readonly failures: readonly string[];
}

function count(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

/** Each batch stands in the input once, whole and in its order, or not at all; and nothing else does. */
function* checkInputs({ batches, inputs }: JobHistory): Generator<string> {
  const covered = inputs.map(() => false);
  for (const { lines, outcome } of batches) {
    const [first = ''] = lines;
    const places = inputs.flatMap((line, at) => (line === first ? [at] : []));
    if (places.length > 1) yield `${first} was added ${places.length} times`;
    if (outcome === 'added' && places.length === 0) yield `${first} was acknowledged and is gone`;
    if (outcome === 'refused' && places.length > 0) yield `${first} was refused and is there`;
    for (const place of places) {
      const found = inputs.slice(place, place + lines.length);
      if (found.join('\n') !== lines.join('\n')) yield `the request that begins with ${first} was added in part`;
      covered.fill(true, place, place + lines.length);
    }
  }
  const foreign = covered.indexOf(false);
  if (foreign !== -1) yield `${inputs[foreign]} was added by nobody`;
}

/** Every input has one output or one error; only a cancelled job may have fewer. */
function* checkResults({ inputs, outputs, outputPaths, failures, final }: JobHistory): Generator<string> {
  const results = count([...outputs, ...failures]);
  for (const [line, wanted] of count(inputs)) {
    const found = results.get(line) ?? 0;
    if (found > wanted) yield `${line} has ${found} results, and was added ${wanted} times`;
    if (found < wanted && !final.cancelled) yield `${line} has ${found} results, and was added ${wanted} times`;
    results.delete(line);
  }
  for (const line of results.keys()) yield `${line} has a result, and was never added`;
  if (new Set(outputPaths).size !== outputPaths.length) yield 'an output is listed twice';
  const { tasks, tasksDone, outputs: counted, errors } = final.stats;
  if (tasks !== inputs.length) yield `${tasks} tasks of ${inputs.length} inputs`;
  if (counted !== outputs.length || errors !== failures.length) yield `the counters say ${counted} outputs and ${errors} errors`;
  if (tasksDone !== counted + errors) yield `${tasksDone} tasks done, ${counted} outputs and ${errors} errors`;
  if (final.state !== 'done') yield `the job is ${final.state}`;
  if (!final.cancelled && tasksDone !== tasks) yield `${tasksDone} of ${tasks} tasks are done`;
}

const ranks: Readonly<Record<string, number>> = { queued: 0, running: 1, done: 2 };

/** What may only grow, as numbers. */
function measure({ state, cancelled, inputDone, stats }: Observation): Record<string, number> {
  return { state: ranks[state] ?? -1, cancelled: Number(cancelled), inputDone: Number(inputDone), ...stats };
}

/** Of two answers, the second asked for after the first had come, the second goes back in nothing. */
function* checkOrder({ observations, final }: JobHistory): Generator<string> {
  const inOrder = [...observations, final].toSorted((left, right) => left.begun - right.begun);
  const seen = [...observations, final].toSorted((left, right) => left.ended - right.ended);
  const most: Record<string, number> = {};
  let next = 0;
  for (const later of inOrder) {
    for (; (seen[next]?.ended ?? Infinity) < later.begun; next += 1) {
      const earlier = seen[next];
      if (earlier) for (const [name, value] of Object.entries(measure(earlier))) most[name] = Math.max(most[name] ?? 0, value);
    }
    for (const [name, value] of Object.entries(measure(later))) {
      if (value < (most[name] ?? 0)) yield `${name} went back from ${most[name]} to ${value}`;
    }
  }
}

/** What was acknowledged is seen by everything that is asked for later. */
function* checkAcknowledged({ batches, observations, final, inputEnded = Infinity, cancelled = Infinity }: JobHistory): Generator<string> {
  for (const { begun, inputDone, cancelled: isCancelled, stats } of [...observations, final]) {
    if (begun > inputEnded && !inputDone) yield 'the end of the input was acknowledged and is not seen';
    if (begun > cancelled && !isCancelled) yield 'the cancel was acknowledged and is not seen';
    const added = batches.filter(({ outcome, ended }) => outcome === 'added' && ended < begun);
    const least = added.reduce((sum, { lines }) => sum + lines.length, 0);
    if (stats.tasks < least) yield `${stats.tasks} tasks after ${least} inputs were acknowledged`;
  }
}

/** What is wrong with a history; nothing when it can be true. */
export function checkJobHistory(history: JobHistory): string[] {
  return [...checkInputs(history), ...checkResults(history), ...checkOrder(history), ...checkAcknowledged(history)];
}
