/**
 * Steps that one decision may still take. Authors of policies determine how much work a request costs, and all users share the service, so
 * the work is limited. A step takes about 15 ns. A negative budget is exhausted, and the request is denied.
 */
export interface Budget {
  left: number;
}

/** For decisions on the command line, where no other user waits. */
export function createUnlimitedBudget(): Budget {
  return { left: Infinity };
}

export function isExhausted({ left }: Budget): boolean {
  return left < 0;
}
