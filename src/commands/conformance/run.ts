import { InterruptedError } from '../../base/errors.ts';
import { createAt, type Probe } from './at.ts';
import type { Area, Check, Checks } from './check.ts';
import { Mismatch, Skip } from './outcome.ts';

export const results = ['as specified', 'as deployed services do', 'neither', 'skipped'] as const;

/** The result of a check. */
export interface Verdict {
  readonly result: (typeof results)[number];
  readonly area: Area;
  readonly section: string;
  readonly statement: string;
  /** What was found instead, the decision that the service follows, or why the check was skipped. */
  readonly detail: string;
  /** Area and id of the check: `storage/put-directory`. */
  readonly id: string;
  readonly operations: readonly string[];
}

async function judge(check: Check, probe: Probe): Promise<Pick<Verdict, 'result' | 'detail'>> {
  if (probe.isReadOnly && !check.reads) return { result: 'skipped', detail: 'it makes changes (--read-only)' };
  const at = createAt(probe);
  try {
    await check.run(at);
  } catch (error) {
    if (error instanceof Skip) return { result: 'skipped', detail: error.message };
    if (error instanceof Mismatch) return { result: 'neither', detail: error.message };
    throw error;
  }
  return at.decisions.length === 0
    ? { result: 'as specified', detail: '' }
    : { result: 'as deployed services do', detail: at.decisions.join('; ') };
}

/** Runs the checks one after the other: a check may find what an earlier one left behind. */
export async function* runChecks(checks: Checks, probe: Probe): AsyncGenerator<Verdict> {
  for (const check of checks) {
    if (probe.interrupted.aborted) throw new InterruptedError('interrupted');
    const { area, section, id, statement, operations } = check;
    const { result, detail } = await judge(check, probe);
    yield { result, area, section, statement, detail, id: `${area}/${id}`, operations };
  }
}
