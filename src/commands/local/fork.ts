import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { assertOwnDataDirectory } from '../../base/data-directory.ts';
import { UsageError } from '../../base/errors.ts';
import { removeFolder } from '../../base/remove-folder.ts';
import { undoOnFailure } from '../../base/undo-on-failure.ts';
import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { folderPath, text } from '../../cli/parameters.ts';
import { spin } from '../../cli/wait.ts';
import { makeFolders } from '../../transfer/local/folders.ts';
import { readLimits } from './limits.ts';
import { checkProfile, writeProfiles } from './profile.ts';
import type { Running } from './running.ts';
import { dataDirOf, dataOption, readIsolation, serveOptions } from './service.ts';
import { describeStarted, launch, startedFields } from './start.ts';
import { checkData, copyData } from './state.ts';
import { stopProcess, uninterrupted } from './stop.ts';

/** Creates the directory of a fork. @throws {UsageError} if it is not empty */
function makeTarget({ world, paths }: Context, to: string | undefined): string {
  const target = to === undefined ? join(paths.data, 'forks', randomUUID()) : resolvePath(world, to);
  assertOwnDataDirectory(target);
  makeFolders(target, 0o700);
  if (readdirSync(target).length === 0) return target;
  throw new UsageError(`--to ${target} is not empty; nothing was changed`, { hint: 'give a directory that does not exist' });
}

const { data: _, replay: __, ...serving } = serveOptions;

const forkOptions = {
  ...dataOption,
  ...serving,
  snapshot: text('Fork this snapshot instead of the current state', { placeholder: 'NAME', values: 'snapshot' }),
  to: folderPath('Folder for its data; a new one by default'),
};

export const fork = command({
  summary: 'Start another service with the same state on other ports',
  description:
    'The fork starts with the current state of the service, and clients trust it as they trust the original. Object contents are linked, not copied. A profile is written only with --profile. To stop and remove the fork, use cloud local stop and reset with --data.',
  options: forkOptions,
  fields: startedFields,
  changes: true,
  run: async (invocation) => {
    const { options, world, note } = invocation;
    const { snapshot, to, data, ...rest } = options;
    const origin = dataDirOf(invocation, data);
    const profile = invocation.settingGiven('profile');
    readLimits(options.limit);
    checkData(origin);
    const target = makeTarget(invocation, to);
    if (profile !== undefined) checkProfile(invocation, profile, target);
    const open = async (): Promise<Running> => {
      try {
        await copyData(world, origin, snapshot, target);
        const { inheritIsolation } = await import('../../server/jobs/shown-isolation.ts');
        inheritIsolation(origin, target, readIsolation(world, options.isolation));
        const running = await launch(invocation, target, {
          ...rest,
          replay: undefined,
          data: target,
          computePort: rest.computePort ?? 0,
          storPort: rest.storPort ?? 0,
        });
        await undoOnFailure(
          () => stopProcess(uninterrupted(world), running.pid),
          async () => profile !== undefined && writeProfiles(invocation, running, { asked: profile, usual: profile }),
        );
        return running;
      } catch (error) {
        await removeFolder(target);
        throw error;
      }
    };
    const running = await spin(invocation, 'Forking', open);
    note(`Running; to stop it: cloud local stop --data ${target} && cloud local reset -y --data ${target}`);
    return describeStarted(running, profile);
  },
  examples: [
    { line: 'cloud local fork --profile trial', help: 'Try a change on a copy, with cloud --profile trial' },
    { line: 'cloud local fork --snapshot ready -j', help: 'For a test: a separate service, addresses as JSON' },
  ],
});
