/**
 * Regular expressions of rules, matched without backtracking: the time is proportional to the length of the text times the size of the
 * pattern, whatever the pattern is. Anyone who may write a policy chooses the pattern, and the service runs it at each request. The syntax
 * is JavaScript's without the features that need backtracking (back references, lookahead, lookbehind). JavaScript's RegExp tests single
 * characters and classes.
 */
import { createUnlimitedBudget, isExhausted, type Budget } from './budget.ts';
import { parsePattern, type Node } from './pattern-parser.ts';

/** Tests a text against one regular expression; undefined when the text is longer than `longestSubject` or the budget is exhausted. */
export type Pattern = (text: string, budget?: Budget) => boolean | undefined;

/** Characters of the longest text that a pattern is matched against. */
const longestSubject = 2048;
const longestBody = 512;
const mostSteps = 500;

/** One instruction of a compiled pattern: read a character, continue at one or two places, check an anchor, or finish. */
type Step =
  | { kind: 'read'; test: (character: string) => boolean }
  | { kind: 'fork'; first: number; second: number }
  | { kind: 'anchor'; holds: (before: string | undefined, after: string | undefined) => boolean }
  | { kind: 'done' };

function isWordCharacter(character: string | undefined): boolean {
  return character !== undefined && /^\w$/.test(character);
}

/** Tests single characters with JavaScript's RegExp; caches up to 256 results. */
function testCharacter(source: string, flags: string): (character: string) => boolean {
  if (/^[\w-]$/.test(source) && !flags.includes('i')) return (character) => character === source;
  const single = new RegExp(`^(?:${source})$`, flags.replaceAll(/[gm]/g, ''));
  const known = new Map<string, boolean>();
  return (character) => {
    const before = known.get(character);
    if (before !== undefined) return before;
    const result = single.test(character);
    if (known.size < 256) known.set(character, result);
    return result;
  };
}

const isLineEnd = (character: string | undefined): boolean => character === undefined || /^[\n\r\u2028\u2029]$/.test(character);

function findAnchor(sign: string, multiline: boolean): (before: string | undefined, after: string | undefined) => boolean {
  if (sign === '^') return (before) => (multiline ? isLineEnd(before) : before === undefined);
  if (sign === '$') return (_before, after) => (multiline ? isLineEnd(after) : after === undefined);
  const wanted = sign === '\\b';
  return (before, after) => (isWordCharacter(before) !== isWordCharacter(after)) === wanted;
}

function addSteps(steps: Step[], node: Node, flags: string): void {
  switch (node.kind) {
    case 'character':
      steps.push({ kind: 'read', test: testCharacter(node.source, flags) });
      return;
    case 'anchor':
      steps.push({ kind: 'anchor', holds: findAnchor(node.sign, flags.includes('m')) });
      return;
    case 'sequence':
      for (const part of node.parts) addSteps(steps, part, flags);
      return;
    case 'choice':
      addChoice(steps, node.options, flags);
      return;
    case 'repeat':
      addRepeat(steps, node, flags);
  }
}

function addChoice(steps: Step[], options: readonly Node[], flags: string): void {
  const jumps: { kind: 'fork'; first: number; second: number }[] = [];
  for (const [index, option] of options.entries()) {
    const fork = { kind: 'fork' as const, first: steps.length + 1, second: steps.length + 1 };
    steps.push(fork);
    addSteps(steps, option, flags);
    const jump = { kind: 'fork' as const, first: 0, second: 0 };
    steps.push(jump);
    jumps.push(jump);
    if (index < options.length - 1) fork.second = steps.length;
  }
  for (const jump of jumps) jump.first = jump.second = steps.length;
}

function addRepeat(steps: Step[], { part, least, most }: Extract<Node, { kind: 'repeat' }>, flags: string): void {
  for (let count = 0; count < least; count++) addSteps(steps, part, flags);
  if (most === Infinity) {
    const fork = { kind: 'fork' as const, first: steps.length + 1, second: 0 };
    const start = steps.length;
    steps.push(fork);
    addSteps(steps, part, flags);
    steps.push({ kind: 'fork', first: start, second: start });
    fork.second = steps.length;
    return;
  }
  const exits: { kind: 'fork'; first: number; second: number }[] = [];
  for (let count = least; count < most; count++) {
    const fork = { kind: 'fork' as const, first: steps.length + 1, second: 0 };
    steps.push(fork);
    exits.push(fork);
    addSteps(steps, part, flags);
  }
  for (const exit of exits) exit.second = steps.length;
}

/** Upper bound of the number of steps that a node compiles to. Each node counts as at least one, so that repeating nothing counts too. */
function countSteps(node: Node): number {
  if (node.kind === 'sequence') return node.parts.reduce((sum, part) => sum + countSteps(part), 1);
  if (node.kind === 'choice') return node.options.reduce((sum, option) => sum + countSteps(option) + 2, 0);
  if (node.kind !== 'repeat') return 1;
  return (countSteps(node.part) + 2) * Math.max(1, node.least, node.most === Infinity ? 1 : node.most);
}

/** Follows all paths through the steps in parallel. */
function runSteps(steps: readonly Step[], characters: readonly string[], budget: Budget): boolean | undefined {
  const seen = new Int32Array(steps.length).fill(-1);
  let reading: number[] = [];
  const enter = (start: number, at: number, into: number[]): boolean => {
    const open = [start];
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      budget.left -= 1;
      if (seen[index] === at) continue;
      seen[index] = at;
      const step = steps[index];
      if (step?.kind === 'done') return true;
      if (step?.kind === 'read') into.push(index);
      if (step?.kind === 'fork') open.push(step.second, step.first);
      if (step?.kind === 'anchor' && step.holds(characters[at - 1], characters[at])) open.push(index + 1);
    }
    return false;
  };
  for (let at = 0; at <= characters.length; at++) {
    budget.left -= reading.length;
    if (isExhausted(budget)) return undefined;
    const next: number[] = [];
    const character = characters[at - 1];
    for (const index of reading) {
      const step = steps[index];
      if (character !== undefined && step?.kind === 'read' && step.test(character) && enter(index + 1, at, next)) return true;
    }
    // A match may begin anywhere.
    if (enter(0, at, next)) return true;
    reading = next;
  }
  return false;
}

/** The reason in JavaScript's error for an invalid expression, without the expression itself. */
function describeBroken(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  const reason = words.slice(words.lastIndexOf(': ') + 2);
  return `the regular expression is not valid: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
}

/** Describes why a rule cannot use `/body/flags`; undefined when it can. The flags are g, i, m, s, u. Does not run the expression. */
export function findPatternProblem(body: string, flags: string): string | undefined {
  if (body.length > longestBody) return `the regular expression is longer than ${longestBody} characters`;
  try {
    void new RegExp(body, flags);
  } catch (error) {
    return describeBroken(error);
  }
  const parsed = parsePattern(body, flags);
  if ('problem' in parsed) return parsed.problem;
  return countSteps(parsed) > mostSteps ? 'the regular expression repeats too much: use smaller numbers in braces' : undefined;
}

/** Compiles a regular expression that has no problem; as in JavaScript, it matches anywhere in a text. */
export function compilePattern(body: string, flags: string): Pattern {
  const parsed = parsePattern(body, flags);
  if ('problem' in parsed || findPatternProblem(body, flags) !== undefined) return () => undefined;
  const steps: Step[] = [];
  addSteps(steps, parsed, flags);
  steps.push({ kind: 'done' });
  const unicode = flags.includes('u');
  const split = (text: string): string[] => (unicode ? Array.from(text) : text.split(''));
  return (text, budget = createUnlimitedBudget()) => (text.length > longestSubject ? undefined : runSteps(steps, split(text), budget));
}
