/**
 * Checks whether a history of concurrent operations could have happened one after the other, each at some moment between its call and its
 * return (Herlihy and Wing), by the search of Wing and Gong with the memory of Lowe: an operation is next in the order when it was called
 * before all others that are left returned. Keys are independent, so each is checked alone. Operations without an answer multiply the
 * orders; they are tried only where they make a next operation possible, and a position that was reached with fewer of them is not searched
 * again. The checker knows nothing of any service: whoever drives one writes down the requests and the responses.
 */

/** What a version of an object is known by: the content, which is written once only, and the mark in its metadata. */
export interface Version {
  readonly content: string;
  /** `undefined` in an outcome that does not show it, and in a version whose mark nobody knows. */
  readonly mark?: string | undefined;
}

/** A condition of a write: the content that must be there, `present` for any, `absent` for none. */
export type Condition = { readonly content: string } | 'present' | 'absent';

/** An operation on one key. */
export type Action =
  /** What was found: a version, or nothing. */
  | { readonly kind: 'read'; readonly found: Version | undefined }
  | { readonly kind: 'write'; readonly version: Version; readonly condition?: Condition | undefined }
  /** Gives the version that is there another mark. */
  | { readonly kind: 'mark'; readonly mark: string; readonly condition?: Condition | undefined }
  | { readonly kind: 'remove'; readonly condition?: Condition | undefined };

/** How an operation that changes something ended. */
export type Ending =
  /** It was done. */
  | 'done'
  /** Its condition did not hold; nothing was changed. */
  | 'refused'
  /** There was nothing to change. */
  | 'missing'
  /** No answer came: it was done at some time after its call, or never. */
  | 'unknown';

/** One operation of a history. Reads without an answer are left out. */
export interface Operation {
  readonly key: string;
  readonly action: Action;
  readonly ending: Ending;
  /** Milliseconds; those of all clients are of one clock. */
  readonly called: number;
  readonly returned: number;
  /** For whoever reads the violation. */
  readonly client?: number;
}

/** Why a history cannot have happened. */
export interface Violation {
  readonly key: string;
  /** The first operation that was left where the search came farthest. */
  readonly stuck: Operation;
  /** Those of the same time. */
  readonly near: readonly Operation[];
}

type State = Version | undefined;

function holds(state: State, condition: Condition | undefined): boolean {
  if (condition === undefined) return true;
  if (condition === 'absent') return state === undefined;
  if (condition === 'present') return state !== undefined;
  return state?.content === condition.content;
}

function fits(state: State, found: State): boolean {
  if (state === undefined || found === undefined) return state === found;
  const sameMark = state.mark === undefined || found.mark === undefined || state.mark === found.mark;
  return state.content === found.content && sameMark;
}

/** The state after an operation that happens in a state; `impossible` when it cannot have ended as it did. */
function step(state: State, { action, ending }: Operation): State | 'impossible' {
  if (action.kind === 'read') return fits(state, action.found) ? state : 'impossible';
  const isMissing = action.kind !== 'write' && state === undefined;
  if (ending === 'missing') return isMissing ? state : 'impossible';
  if (ending === 'refused') return holds(state, action.condition) ? 'impossible' : state;
  if (isMissing || !holds(state, action.condition)) return 'impossible';
  if (action.kind === 'remove') return undefined;
  return action.kind === 'write' ? action.version : state && { ...state, mark: action.mark };
}

/** Steps of a search after which a history counts as undecided. */
const mostSteps = 6_000_000;

/** The order that is being searched for the operations of one key. */
class Search {
  /** Operations with an answer, in the order of their calls. */
  readonly #known: readonly Operation[];
  /** Those without, in the order of their calls, by kinds of which one can stand for another; of each kind the first that is left is tried. */
  readonly #unknown: readonly (readonly Operation[])[];
  readonly #done: Uint8Array;
  /** How many of each kind of operations without an answer are in the order. */
  readonly #used: number[];
  /** By set of operations with an answer and state: how many of each kind without an answer were used to get there. */
  readonly #seen = new Map<string, number[][]>();
  /** All before it are in the order. */
  #first = 0;
  #left: number;

  constructor(operations: readonly Operation[]) {
    const sorted = forgetUnseen(operations).toSorted((left, right) => left.called - right.called);
    this.#known = sorted.filter(({ ending }) => ending !== 'unknown');
    this.#unknown = groupUnknown(sorted);
    this.#done = new Uint8Array(this.#known.length);
    this.#used = this.#unknown.map(() => 0);
    this.#left = this.#known.length;
  }

  /** The operation that no order explains; undefined when one does. */
  run(): Operation | 'undecided' | undefined {
    const frames = [{ state: undefined as State, candidates: this.#listCandidates(undefined), next: 0 }];
    let [deepest, stuck, steps] = [this.#left, this.#known[0], 0];
    while (this.#left > 0) {
      steps += 1;
      if (steps > mostSteps) return 'undecided';
      const frame = frames.at(-1);
      if (frame === undefined) return stuck;
      const candidate = frame.candidates[frame.next];
      if (candidate === undefined) {
        frames.pop();
        const parent = frames.at(-1);
        const taken = parent?.candidates[parent.next - 1];
        if (taken !== undefined) this.#change(taken, -1);
        continue;
      }
      frame.next += 1;
      const state = step(frame.state, this.#operationOf(candidate));
      if (state === 'impossible') continue;
      this.#change(candidate, 1);
      if (this.#left < deepest) [deepest, stuck] = [this.#left, this.#known[this.#first] ?? stuck];
      if (this.#remember(state)) frames.push({ state, candidates: this.#listCandidates(state), next: 0 });
      else this.#change(candidate, -1);
    }
    return undefined;
  }

  /** Numbers from 0 for operations with an answer, below 0 for kinds of those without. */
  #operationOf(candidate: number): Operation {
    const kind = -candidate - 1;
    const operation = candidate >= 0 ? this.#known[candidate] : this.#unknown[kind]?.[this.#used[kind] ?? 0];
    if (operation === undefined) throw new Error('no such operation');
    return operation;
  }

  /**
   * What can be next: everything that was called before the first return of what is left. One that can be next and changes nothing is the
   * only one: whatever can come before it can come behind it.
   */
  #listCandidates(state: State): number[] {
    let firstReturn = Infinity;
    const candidates: number[] = [];
    for (let index = this.#first; index < this.#known.length; index += 1) {
      const operation = this.#known[index];
      if (this.#done[index] === 1 || operation === undefined) continue;
      if (operation.called > firstReturn) break;
      firstReturn = Math.min(firstReturn, operation.returned);
      candidates.push(index);
    }
    const possible = candidates.filter((index) => (this.#known[index]?.called ?? Infinity) <= firstReturn);
    const still = possible.find((index) => changesNothing(state, this.#operationOf(index)));
    if (still !== undefined) return [still];
    // What returned first was probably done first.
    possible.sort((left, right) => (this.#known[left]?.returned ?? 0) - (this.#known[right]?.returned ?? 0));
    const unknown = this.#unknown.flatMap((operations, kind) => {
      const operation = operations[this.#used[kind] ?? 0];
      return operation !== undefined && operation.called <= firstReturn ? [-kind - 1] : [];
    });
    const next = [...possible, ...unknown].map((each) => this.#operationOf(each));
    return [...possible, ...unknown.filter((candidate) => isUseful(state, this.#operationOf(candidate), next))];
  }

  /** Puts an operation into the order, or takes it out. */
  #change(candidate: number, direction: 1 | -1): void {
    if (candidate < 0) {
      this.#used[-candidate - 1] = (this.#used[-candidate - 1] ?? 0) + direction;
      return;
    }
    this.#done[candidate] = direction === 1 ? 1 : 0;
    this.#left -= direction;
    if (direction === -1) this.#first = Math.min(this.#first, candidate);
    else while (this.#done[this.#first] === 1) this.#first += 1;
  }

  /**
   * Remembers that this set of operations leads to a state. False when it was reached before with no more operations of any kind that got
   * no answer: whatever can follow here could follow there.
   */
  #remember(state: State): boolean {
    const last = this.#done.lastIndexOf(1) + 1;
    const window = Buffer.from(this.#done.subarray(this.#first, Math.max(this.#first, last))).toString('latin1');
    const name = `${this.#first} ${window} ${state === undefined ? '' : `${state.content}/${state.mark ?? '?'}`}`;
    const reached = this.#seen.get(name) ?? [];
    if (reached.some((used) => isAtMost(used, this.#used))) return false;
    this.#seen.set(name, [...reached.filter((used) => !isAtMost(this.#used, used)), [...this.#used]]);
    return true;
  }
}

/** True when no number of the first list is greater than that of the second. */
function isAtMost(left: readonly number[], right: readonly number[]): boolean {
  return left.every((count, index) => count <= (right[index] ?? 0));
}

function isSame(left: State | 'impossible', right: State | 'impossible'): boolean {
  if (left === 'impossible' || right === 'impossible' || left === undefined || right === undefined) return left === right;
  return left.content === right.content && left.mark === right.mark;
}

/** True when an operation without an answer brings about a state in which one of the next ones can happen as it could not without it. */
function isUseful(state: State, unknown: Operation, next: readonly Operation[]): boolean {
  const after = step(state, unknown);
  if (after === 'impossible' || isSame(after, state)) return false;
  return next.some((each) => {
    const result = each === unknown ? 'impossible' : step(after, each);
    return result !== 'impossible' && !isSame(result, step(state, each));
  });
}

/** True for an operation that can happen in a state and leaves it as it is. */
function changesNothing(state: State, operation: Operation): boolean {
  const isStill = operation.action.kind === 'read' || operation.ending === 'refused' || operation.ending === 'missing';
  return isStill && step(state, operation) !== 'impossible';
}

/** The same operations, in which all versions that nobody found or wanted to find are one: no order depends on which it is. */
function forgetUnseen(operations: readonly Operation[]): Operation[] {
  const observed = new Set(operations.flatMap(({ action }) => listObserved(action)));
  return operations.map((operation): Operation => {
    const { action } = operation;
    if (action.kind === 'write' && !observed.has(action.version.content)) return { ...operation, action: { ...action, version: unseen } };
    if (action.kind === 'mark' && !observed.has(action.mark)) return { ...operation, action: { ...action, mark: unseenName } };
    return operation;
  });
}

const unseenName = 'unseen';
const unseen: Version = { content: unseenName };

/** Operations without an answer by kinds: those that do the same can stand for each other. */
function groupUnknown(operations: readonly Operation[]): Operation[][] {
  const kinds = new Map<string, Operation[]>();
  for (const operation of operations.filter(({ ending }) => ending === 'unknown')) {
    const name = JSON.stringify(operation.action);
    kinds.set(name, [...(kinds.get(name) ?? []), operation]);
  }
  return [...kinds.values()];
}

/** Contents and marks that an operation found, or wanted to find. */
function listObserved(action: Action): string[] {
  if (action.kind === 'read') return [action.found?.content, action.found?.mark].flatMap((text) => text ?? []);
  return typeof action.condition === 'object' ? [action.condition.content] : [];
}

/** What is known of a history. */
export interface Verdict {
  readonly violation: Violation | undefined;
  /** Keys whose operations have so many orders that the search was given up: nothing is known of them. */
  readonly undecided: readonly string[];
}

/** Looks for a key whose operations no order explains. */
export function judgeHistory(history: readonly Operation[]): Verdict {
  const undecided: string[] = [];
  for (const key of new Set(history.map((operation) => operation.key))) {
    const operations = history.filter((operation) => operation.key === key);
    const stuck = new Search(operations).run();
    if (stuck === 'undecided') undecided.push(key);
    else if (stuck !== undefined) {
      const near = operations.filter((each) => each.called < stuck.returned && each.returned > stuck.called);
      return { violation: { key, stuck, near }, undecided };
    }
  }
  return { violation: undefined, undecided };
}
