import { command, type Context } from '../../cli/command.ts';
import { choice, flag, text, texts } from '../../cli/parameters.ts';
import { ApiError, exitCodes, PartialError, UsageError } from '../../base/errors.ts';
import { countEach } from '../../base/iterate.ts';
import { records } from '../../output/kinds.ts';
import type { Probe } from './at.ts';
import { areas, type Area, type Checks } from './check.ts';
import { removeMade } from './cleanup.ts';
import { beginRun, createLeftoverTest, endRun } from './names.ts';
import { createRequests } from './requests.ts';
import { runChecks, type Verdict } from './run.ts';

const loaders: Readonly<Record<Area, () => Promise<Checks>>> = {
  storage: async () => (await import('./storage/index.ts')).storageChecks,
  jobs: async () => (await import('./jobs/index.ts')).jobChecks,
  compute: async () => (await import('./compute/index.ts')).computeChecks,
};

const options = {
  area: choice('Check only this part of the specification', areas),
  check: texts('Run only the check with this id, such as storage/put-object', { placeholder: 'ID' }),
  readOnly: flag('Run only checks that change nothing'),
  machine: text('Create images of this instance, which must be prepared and stopped', { placeholder: 'UUID' }),
  importImage: text('Import this image of another datacenter', { placeholder: 'DATACENTER=UUID' }),
};

async function loadChecks(chosen: readonly Area[], ids: readonly string[]): Promise<Checks> {
  const checks = (await Promise.all(chosen.map((area) => loaders[area]()))).flat();
  const unknown = ids.find((id) => !checks.some((each) => `${each.area}/${each.id}` === id));
  if (unknown !== undefined)
    throw new UsageError(`--check ${unknown}: unknown check`, { hint: 'to list them: cloud conformance --read-only -o name' });
  return ids.length === 0 ? checks : checks.filter(({ area, id }) => ids.includes(`${area}/${id}`));
}

function readImport(given: string | undefined): Probe['foreignImage'] {
  if (given === undefined) return undefined;
  const [, datacenter, id] = /^([^=/]+)=([\da-f-]{36})$/iu.exec(given) ?? [];
  if (datacenter !== undefined && id !== undefined) return [datacenter, id];
  throw new UsageError(`--import-image ${given}: must be DATACENTER=UUID, a datacenter and the id of an image`, {
    hint: 'for example --import-image west=4ef0ff4c-0a6f-4a9c-b0b5-2d5b9d5f0c53',
  });
}

interface Services {
  readonly compute: boolean;
  readonly storage: boolean;
}

function findServices({ settings }: Context): Services {
  const { url, storUrl } = settings();
  return { compute: url !== undefined, storage: storUrl !== undefined };
}

/** Error codes for an unknown sender: with these, every check would fail in the same way. */
const unknownCaller = new Set(['InvalidCredentials', 'AccountDoesNotExist', 'UserDoesNotExist', 'KeyDoesNotExist', 'InvalidSignature']);

/** @throws {NetworkError} when a service cannot be reached, {ApiError} when it does not know the key */
async function contact({ compute, storage, account }: Context, services: Services): Promise<void> {
  const asked = [
    ...(services.compute ? [() => compute.getAccount({ account })] : []),
    ...(services.storage ? [() => storage.listDirectory({ account, path: 'stor', limit: 1 })] : []),
  ];
  for (const ask of asked) {
    try {
      await ask();
    } catch (error) {
      if (!(error instanceof ApiError) || unknownCaller.has(error.code)) throw error;
    }
  }
}

/** Passes verdicts on as they come; at the end removes what was created, and throws if a statement does not hold. */
async function* conclude(verdicts: AsyncIterable<Verdict>, finish: () => Promise<void>): AsyncGenerator<Verdict> {
  let failure: PartialError | undefined;
  try {
    yield* countEach(
      verdicts,
      ({ result }) => result === 'neither',
      (failed, total) => {
        if (failed > 0) failure = new PartialError(`${failed} of ${total} statements do not hold`, { allFailed: exitCodes.failed });
      },
    );
  } finally {
    await finish();
  }
  if (failure) throw failure;
}

/** Creates the function that ends a run: it removes everything that this run and killed runs created. */
function createCleanup(invocation: Context, services: Services, run: string, kept: readonly string[]): () => Promise<void> {
  const isLeft = createLeftoverTest(invocation.state, invocation.world);
  return async () => {
    const failures = await removeMade(invocation, services, (name) => name.startsWith(run) || isLeft(name), kept);
    if (failures.length > 0) invocation.warn(`some resources could not be removed; the next run tries again: ${failures.join('; ')}`);
    else endRun(invocation.state, run);
  };
}

export const conformance = command({
  summary: 'Check whether a cloud conforms to the specification',
  description:
    'Sends requests for each section of both documents of the specification and checks the responses. The result of a statement is: as specified; as deployed services do, with the decision; neither, with the actual behaviour; or skipped, with the reason. All created resources have names that begin with conformance- and are removed at the end, also after Ctrl-C; the next run removes those of a killed run. The account of the profile needs no special permissions. Requests are retried only with --retries. The exit status is 1 if the result of a statement is neither.',
  options,
  run: async (invocation) => {
    const { options: given, world, note } = invocation;
    const checks = await loadChecks(given.area === undefined ? areas : [given.area], given.check);
    const foreignImage = readImport(given.importImage);
    // Read before anything is created: from then on a signal ends the run gracefully.
    const { interrupted } = world;
    const services = findServices(invocation);
    await contact(invocation, services);
    const run = given.readOnly ? 'conformance' : beginRun(invocation.state, world);
    const requests = createRequests(invocation);
    const kept: string[] = [];
    const clean = given.readOnly ? async () => undefined : createCleanup(invocation, services, run, kept);
    const probe: Probe = {
      requests,
      account: invocation.account,
      run,
      isSubUser: (invocation.settings().user?.value ?? '') !== '',
      isReadOnly: given.readOnly,
      machine: given.machine,
      foreignImage,
      now: world.now,
      interrupted,
      kept,
      made: new Map(),
    };
    const finish = async (): Promise<void> => {
      if (interrupted.aborted) note('Interrupted: removing the created resources');
      await clean();
      requests.close();
    };
    return records(conclude(runChecks(checks, probe), finish), {
      columns: [
        'result',
        { key: 'id', title: 'CHECK' },
        { key: 'section', long: true },
        'statement',
        'detail',
        { key: 'operations', long: true },
      ],
      id: 'id',
    });
  },
  examples: [
    { line: 'cloud conformance --read-only', help: 'Only checks that change nothing' },
    { line: 'cloud conformance --area storage', help: 'Only statements about the object storage' },
    {
      line: 'cloud conformance --read-only -j --jq \'.[] | select(.result == "neither")\'',
      help: 'Failed statements of the read-only checks',
    },
  ],
});
