import { randomInt } from 'node:crypto';
import type { ControlInput, FaultState } from '../../api/control.ts';
import { compute } from '../../api/compute.ts';
import { storage } from '../../api/storage.ts';
import { nearest } from '../../base/nearest.ts';
import { NotFoundError, UsageError } from '../../base/errors.ts';
import { matchesPattern } from '../../base/wildcards.ts';
import { imageCreation, readFailureOf, type Failure } from './failure.ts';

/** What rules look at. */
export interface FaultSubject {
  /** Operation in lower case. */
  readonly action: string;
  /** Login of the caller's account; undefined without a signature. */
  readonly account: string | undefined;
  /** Path as it was sent. */
  readonly path: string;
  /** False for requests in which a failure of this kind can have no effect. */
  readonly isPossible: (failure: Failure) => boolean;
}

/** A failure that is due, and how to know that its rule is there no longer. */
export interface DueFault {
  readonly id: number;
  readonly failure: Failure;
  /** The rule in the log. */
  readonly label: string;
  /** Aborted when the rule is cleared: requests that it holds go on. */
  readonly cleared: AbortSignal;
}

interface Rule extends DueFault {
  readonly words: Omit<FaultState, 'id' | 'injected' | 'left'>;
  readonly abort: AbortController;
  readonly random: () => number;
  injected: number;
  left: number;
}

/** Failures that the services were told to have: by `--fault` when they started, and while they run. */
export interface Faults {
  /** Whether there is any rule. */
  readonly isEmpty: boolean;
  /** The failures that are due for a request; asking uses them up. */
  take(subject: FaultSubject): DueFault[];
  /** The code in which the making of an image is to end. */
  takeCreation(): string | undefined;
  /** Milliseconds by which reads may lag, by the rule with the longest. */
  readonly longestLag: number;
  add(rule: ControlInput<'addFault'>): FaultState;
  list(): FaultState[];
  /** Removes a rule, or all of them, and lets go on what they hold. @throws {NotFoundError} */
  clear(id?: number): FaultState[];
}

const actions = new Set([...Object.values(compute), ...Object.values(storage)].map(({ action }) => action));
/** Operations whose reads may lag (compute specification, section 1, rule 6). */
const lagging = new Set(
  Object.values(compute).flatMap(({ action, method, path }) =>
    method === 'GET' && /\/(?:users|roles|policies)\b/u.test(path) ? [action] : [],
  ),
);

/** Most rules: each is looked at for every request. */
const mostRules = 1000;

/** Numbers from 0 up to 1 that are the same for the same seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function readOperation(written: string): string {
  const operation = written.toLowerCase();
  if (operation === '*' || operation === imageCreation || actions.has(operation)) return operation;
  const close = nearest(operation, [...actions, imageCreation]);
  throw new UsageError(`"${written}" is not an operation${close === undefined ? '' : `; did you mean ${close}?`}`, {
    hint: 'operations are those of policies, such as getobject, or * for all: cloud help policies',
  });
}

function assertCount(name: string, value: number | undefined, most: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= (name === 'count' ? 1 : 0) && value <= most)) return;
  throw new UsageError(`${name} must be a whole number${name === 'count' ? ' from 1 on' : ` from 0 to ${most}`}`);
}

function makeRule(id: number, { operation: written, failure: words, ...given }: ControlInput<'addFault'>): Rule {
  if (written === undefined || words === undefined) throw new UsageError('a fault needs an operation and a failure');
  const { path, account, count, rate } = given;
  const operation = readOperation(written);
  const failure = readFailureOf(operation, words);
  if (failure.kind === 'stale' && operation !== '*' && !lagging.has(operation))
    throw new UsageError(`${operation} never lags: stale is for reads of users, roles and policies (${[...lagging].join(', ')})`);
  assertCount('count', count, Number.MAX_SAFE_INTEGER);
  assertCount('seed', given.seed, 2 ** 32 - 1);
  if (rate !== undefined && !(rate > 0 && rate <= 1)) throw new UsageError('rate must be more than 0 and at most 1: 0.1 is one in ten');
  const seed = rate === undefined ? given.seed : (given.seed ?? randomInt(2 ** 32));
  const abort = new AbortController();
  return {
    id,
    failure,
    label: `${operation}=${words}`,
    abort,
    cleared: abort.signal,
    random: rate === undefined ? () => 0 : createRandom(seed ?? 0),
    words: { operation, failure: words, path, account, count, rate, seed },
    injected: 0,
    left: count ?? Infinity,
  };
}

function show({ id, words, injected, left }: Rule): FaultState {
  const stated = Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined)) as unknown as FaultState;
  return { ...stated, id, injected, ...(left !== Infinity && { left }) };
}

function fits({ words }: Rule, { action, account, path }: FaultSubject): boolean {
  if (words.operation !== action && !(words.operation === '*' && action !== imageCreation)) return false;
  if (words.account !== undefined && words.account !== account) return false;
  return words.path === undefined || matchesPattern(decodePath(path), words.path);
}

/** One rule of a group is taken for a request: the first that is due. */
function groupOf({ kind }: Failure): string {
  if (kind === 'error' || kind === 'throttle' || kind === 'close') return 'end';
  return kind === 'cut' || kind === 'stall' ? 'download' : kind === 'cut-upload' || kind === 'stall-upload' ? 'upload' : kind;
}

/** Rules as they are written in `--fault`: `OPERATION=FAILURE`, or with `*COUNT` behind. @throws {UsageError} */
function readSpec(part: string): ControlInput<'addFault'> {
  const { operation, failure, count } = /^(?<operation>\*|[a-z]+)=(?<failure>[^*=]+)(?:\*(?<count>\d{1,15}))?$/iu.exec(part)?.groups ?? {};
  if (operation !== undefined && failure !== undefined) return { operation, failure, ...(count !== undefined && { count: Number(count) }) };
  throw new UsageError(`fault "${part}": it must be OPERATION=FAILURE, or OPERATION=FAILURE*TIMES`, {
    hint: 'for example --fault createkey=InternalError*2,getobject=503:Busy,putobject=latency:2s',
  });
}

/** @param spec rules as `--fault` has them, with commas between @throws {UsageError} */
export function createFaults(spec = ''): Faults {
  let rules: Rule[] = [];
  let latest = 0;

  function takeOf(subject: FaultSubject, isMeant: (group: string) => boolean): Rule[] {
    const taken = new Map<string, Rule>();
    for (const rule of rules) {
      const group = groupOf(rule.failure);
      if (!isMeant(group) || rule.left === 0 || taken.has(group) || !fits(rule, subject) || !subject.isPossible(rule.failure)) continue;
      if (rule.random() >= (rule.words.rate ?? 1)) continue;
      rule.left -= 1;
      rule.injected += 1;
      taken.set(group, rule);
    }
    return [...taken.values()];
  }

  /** What ends a request may be late, and leaves all other rules for the next one. */
  function takeAll(subject: FaultSubject): Rule[] {
    const first = takeOf(subject, (group) => group === 'end' || group === 'latency');
    if (first.some(({ failure }) => groupOf(failure) === 'end')) return first;
    return [...first, ...takeOf(subject, (group) => group !== 'end' && group !== 'latency')];
  }

  const faults: Faults = {
    get isEmpty() {
      return rules.length === 0;
    },
    get longestLag() {
      return Math.max(0, ...rules.map(({ failure }) => (failure.kind === 'stale' ? failure.milliseconds : 0)));
    },
    take: takeAll,
    takeCreation: () => {
      const [rule] = takeAll({ action: imageCreation, account: undefined, path: '', isPossible: () => true });
      return rule?.failure.kind === 'error' ? rule.failure.code : undefined;
    },
    add: (given) => {
      if (rules.length >= mostRules) throw new UsageError(`there are ${mostRules} faults already`, { hint: 'cloud local faults clear' });
      const rule = makeRule(latest + 1, given);
      latest += 1;
      rules.push(rule);
      return show(rule);
    },
    list: () => rules.map(show),
    clear: (id) => {
      const gone = rules.filter((rule) => id === undefined || rule.id === id);
      if (id !== undefined && gone.length === 0) throw new NotFoundError(`there is no fault ${id}`, { hint: 'cloud local faults list' });
      rules = rules.filter((rule) => !gone.includes(rule));
      for (const { abort } of gone) abort.abort();
      return gone.map(show);
    },
  };
  for (const part of spec.split(',').map((each) => each.trim())) if (part !== '') faults.add(readSpec(part));
  return faults;
}
