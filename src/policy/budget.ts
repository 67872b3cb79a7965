/**
 * Steps that one decision may still take: whoever may write policies chooses how much work each request is, and the service does it for
 * everybody. A step is about 15 ns. One that is negative is used up; what needed more is then not allowed.
 */
export interface Budget {
  left: number;
}

/** For decisions that nobody else waits for, such as those of the command line. */
export function createUnlimitedBudget(): Budget {
  return { left: Infinity };
}

/** Whether steps were needed that are not there. */
export function isExhausted({ left }: Budget): boolean {
  return left < 0;
}
