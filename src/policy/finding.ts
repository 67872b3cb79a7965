import type { Place } from './syntax-error.ts';

/** Something that is wrong with a rule, or most likely not what its writer means. Errors are what the service refuses. */
export interface Finding {
  severity: 'error' | 'warning';
  message: string;
  /** `rule` is the index of the rule in the list. */
  place: Place & { rule: number };
  /** A text to put at the place instead of what stands there. */
  suggestion?: string;
}

/** A finding before it is known in which rule it is. */
export interface PlacedFinding {
  message: string;
  place: Place;
  suggestion?: string;
}
