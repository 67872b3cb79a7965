import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { assertOwnDataDirectory } from '../../base/data-directory.ts';
import { UsageError } from '../../base/errors.ts';
import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { folderPath, text } from '../../cli/parameters.ts';
import { spin } from '../../cli/wait.ts';
import { makeFolders } from '../../transfer/local/folders.ts';
import { controlledDataOf, controlOption } from './control.ts';
import { readLimits } from './limits.ts';
import { checkProfile } from './profile.ts';
import type { Running } from './running.ts';
import { readIsolation, serveOptions } from './service.ts';
import { describeStarted, launch } from './start.ts';
import { checkData, copyData } from './state.ts';

/** Creates the directory of a fork. @throws {UsageError} if it is not empty */
function makeTarget({ world, paths }: Context, to: string | undefined): string {
  const target = to === undefined ? join(paths.data, 'forks', randomUUID()) : resolvePath(world, to);
  assertOwnDataDirectory(target);
  makeFolders(target, 0o700);
  if (readdirSync(target).length === 0) return target;
  throw new UsageError(`--to ${target} is not empty: left alone`, { hint: 'name a directory that does not exist' });
}

const { data: _, replay: __, ...serving } = serveOptions;

const forkOptions = {
  ...controlOption,
  ...serving,
  snapshot: text('Fork this snapshot, not what is there now', { placeholder: 'NAME' }),
  to: folderPath('Folder for its data; a new one when absent'),
};

export const fork = command({
  summary: 'Start another service with the same state on other ports',
  description:
    'The fork has what the service holds now; clients trust it as they trust its origin. Contents of objects are linked, not copied. A profile is written only with --profile. cloud local stop and reset with --data end and remove it.',
  options: forkOptions,
  run: async (invocation) => {
    const { options, world, note } = invocation;
    const { snapshot, to, data, ...rest } = options;
    const origin = controlledDataOf(invocation, data);
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
        return await launch(invocation, target, {
          ...rest,
          replay: undefined,
          data: target,
          computePort: rest.computePort ?? 0,
          storPort: rest.storPort ?? 0,
        });
      } catch (error) {
        rmSync(target, { recursive: true, force: true });
        throw error;
      }
    };
    const running = await spin(invocation, 'Forking', open);
    note(`Running; to end it: cloud local stop --data ${target} && cloud local reset -y --data ${target}`);
    return describeStarted(invocation, running, profile);
  },
  examples: [
    { line: 'cloud local fork --profile trial', help: 'Try something on a copy, with cloud --profile trial' },
    { line: 'cloud local fork --snapshot ready -j', help: 'For a test: a service of its own, JSON that tells where' },
  ],
});
