import type { Context } from '../../cli/command.ts';
import type { Engine } from '../../transfer/engine.ts';
import { checkPrecondition, hasCondition } from '../../transfer/precondition.ts';
import type { Tally } from './tally.ts';
import { explainCondition, explainParent } from './paths.ts';
import { nameStep, prepareNamed, type PutValues, type Step } from './put-step.ts';
import { rehearseFolder, rehearseInFolder, rehearseObject, rehearseSteps, type Rehearsed } from './rehearse.ts';

/** The dry run of `put`, which fails where the run would, as far as that can be known without a change. */

const line = 'cloud stor put -p';

async function rehearseNamed(
  context: Context,
  engine: Engine,
  step: Extract<Step, { kind: 'named' }>,
  options: PutValues & { parents: boolean },
): Promise<Rehearsed> {
  const { label, target } = step;
  const { hasParent = false, ifMatch, ifModifiedSince } = (await prepareNamed(context, engine, step, options, true)).putOptions;
  const condition = { ifMatch, ifModifiedSince };
  if (hasCondition(condition)) await explainCondition(() => checkPrecondition(engine.storage, target, condition), target);
  return await rehearseObject(engine, { action: 'store', from: label, to: target }, { noClobber: options.noClobber, hasParent, line });
}

/** Lists what would be stored; failures are reported and counted. */
export function rehearsePut(
  context: Context,
  { engine, tally }: { readonly engine: Engine; readonly tally: Tally },
  steps: AsyncIterable<Step>,
  options: PutValues & { parents: boolean },
): AsyncGenerator<Rehearsed> {
  return rehearseSteps(engine, steps, async (step) => {
    if (step.kind === 'named') return await tally.attempt(step.label, () => rehearseNamed(context, engine, step, options));
    if (step.kind === 'folder') return await tally.attempt(nameStep(step), () => explainParent(() => rehearseFolder(step.folder), line));
    const object = { action: 'store', from: nameStep(step), to: step.target } as const;
    return await rehearseInFolder(engine, tally, step.folder, object, { noClobber: options.noClobber, line });
  });
}
