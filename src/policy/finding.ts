import type { Place } from './syntax-error.ts';

/** A finding before the index of its rule is known. */
export interface PlacedFinding {
  message: string;
  place: Place;
  /** Replacement for the text at the place. */
  suggestion?: string;
}

/** An error (a rule that the service rejects) or a warning (a rule that most likely does not mean what its author intended). */
export interface Finding extends PlacedFinding {
  severity: 'error' | 'warning';
  /** `rule` is the index of the rule in the list. */
  place: Place & { rule: number };
}
