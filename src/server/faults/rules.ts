import { randomInt } from 'node:crypto';
import type { ControlInput, FaultState } from '../../api/control.ts';
import { compute } from '../../api/compute.ts';
import { storage } from '../../api/storage.ts';
import { nearest } from '../../base/nearest.ts';
import { NotFoundError, UsageError, quietly } from '../../base/errors.ts';
import { splitList } from '../../base/split-list.ts';
import { matchesPattern } from '../../base/wildcards.ts';
import { groupOf, imageCreation, readFailureOf, type Failure } from './failure.ts';

/** The properties of a request that rules match. */
export interface FaultSubject {
  /** Name of the operation in lower case. */
  readonly action: string;
  /** Login of the caller's account; undefined for an unsigned request. */
  readonly account: string | undefined;
  /** Request path as the client sent it. */
  readonly path: string;
  /** False if a failure of this kind cannot affect the request. */
  readonly isPossible: (failure: Failure) => boolean;
}

/** A failure that is due, and a signal for the removal of its rule. */
export interface DueFault {
  readonly id: number;
  readonly failure: Failure;
  /** The rule as shown in the log. */
  readonly label: string;
  /** Aborted when the rule is cleared: requests that it delays continue. */
  readonly cleared: AbortSignal;
}

interface Rule extends DueFault {
  readonly words: Omit<FaultState, 'id' | 'injected' | 'left'>;
  readonly abort: AbortController;
  readonly random: () => number;
  injected: number;
  left: number;
}

/** Fault rules of the services, from `--fault` at the start and from control commands later. */
export interface Faults {
  /** True if there are no rules. */
  readonly isEmpty: boolean;
  /** The failures that are due for a request. Each call uses up one injection of the rules that it returns. */
  take(subject: FaultSubject): DueFault[];
  /** The code with which the next image creation fails; undefined if it succeeds. */
  takeCreation(): string | undefined;
  /** Maximum staleness of all rules, milliseconds. */
  readonly longestLag: number;
  add(rule: ControlInput<'addFault'>): FaultState;
  list(): FaultState[];
  /** Removes a rule, or all rules, and lets the requests that they delay continue. @throws {NotFoundError} */
  clear(id?: number): FaultState[];
}

const actions = new Set([...Object.values(compute), ...Object.values(storage)].map(({ action }) => action));
/** Operations whose reads may lag (compute specification, section 1, rule 6). */
const lagging = new Set(
  Object.values(compute).flatMap(({ action, method, path }) =>
    method === 'GET' && /\/(?:users|roles|policies)\b/u.test(path) ? [action] : [],
  ),
);

/** Maximum number of rules: each is checked for every request. */
const mostRules = 1000;

/** Pseudorandom numbers from 0 to less than 1, reproducible by the seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
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
  return (
    words.path === undefined ||
    matchesPattern(
      quietly(() => decodeURIComponent(path), path),
      words.path,
    )
  );
}

/** Parses a rule of `--fault`: `OPERATION=FAILURE` or `OPERATION=FAILURE*COUNT`. @throws {UsageError} */
function readSpec(part: string): ControlInput<'addFault'> {
  const { operation, failure, count } = /^(?<operation>\*|[a-z]+)=(?<failure>[^*=]+)(?:\*(?<count>\d{1,15}))?$/iu.exec(part)?.groups ?? {};
  if (operation !== undefined && failure !== undefined) return { operation, failure, ...(count !== undefined && { count: Number(count) }) };
  throw new UsageError(`fault "${part}": it must be OPERATION=FAILURE, or OPERATION=FAILURE*TIMES`, {
    hint: 'for example --fault createkey=InternalError*2,getobject=503:Busy,putobject=latency:2s',
  });
}

/** @param spec rules in the format of `--fault`, separated by commas @throws {UsageError} */
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

  /** A failure that ends the request may be combined with latency only; all other rules are kept for later requests. */
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
  for (const part of splitList(spec)) faults.add(readSpec(part));
  return faults;
}
