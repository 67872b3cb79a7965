import { CloudError, exitCodes } from '../base/errors.ts';

/** A range of a rule's text, in UTF-16 units. */
export interface Place {
  offset: number;
  length: number;
}

/** A rule that does not conform to the access-policy language. The message is one line and ends with the position, counted from 1. */
export class PolicySyntaxError extends CloudError {
  override readonly name = 'PolicySyntaxError';
  readonly code = 'PolicySyntaxError';
  readonly exitCode = exitCodes.usage;
  /** The problem, without the place. */
  readonly problem: string;
  /** The text of the whole rule. */
  readonly rule: string;
  readonly offset: number;
  /** UTF-16 units; 0 where something is missing. */
  readonly length: number;

  constructor(problem: string, rule: string, place: Place) {
    super(`${problem} (character ${place.offset + 1} of the rule)`);
    this.problem = problem;
    this.rule = rule;
    this.offset = place.offset;
    this.length = place.length;
  }
}

const shownAround = 60;

/** Replaces each control character and line end by one space, so that the text stays on one line and carets point to the right place. */
function flatten(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, ' ');
}

/** Quotes text of a rule for a message: between quotation marks, on one line, cut after 40 characters. */
export function quoteForMessage(text: string): string {
  const shown = flatten(text);
  return shown.length > 40 ? `"${shown.slice(0, 40)}..."` : `"${shown}"`;
}

/** The part of a rule around a place, and carets under the place: two lines for a fixed-width font. */
export function pointAt(rule: string, { offset, length }: Place): [string, string] {
  const start = Math.max(0, offset - shownAround);
  const end = Math.min(rule.length, offset + Math.min(length, shownAround) + shownAround);
  const before = start > 0 ? '...' : '';
  const after = end < rule.length ? '...' : '';
  const line = `${before}${flatten(rule.slice(start, end))}${after}`;
  const carets = '^'.repeat(Math.max(1, Math.min(length, shownAround)));
  return [line, `${' '.repeat(before.length + offset - start)}${carets}`];
}
