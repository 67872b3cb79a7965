import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { maybe } from '../../cli/parameters.ts';
import { NotFoundError } from '../../base/errors.ts';
import { removeFolder } from '../../base/remove-folder.ts';
import { record, type Output } from '../../output/kinds.ts';
import { controlVariable, dataDirOf, dataOption } from './service.ts';
import { describeOwnSettings } from './environment.ts';
import { putFixtures, readFixtures } from './fixtures.ts';
import { findRunning, type Running, type RunningAccount } from './running.ts';
import { makeFolder } from './scratch.ts';
import { changeState, checkData } from './state.ts';

const columns = ['images', 'packages', 'instances'];

async function seedSamples(invocation: Context, dataDir: string): Promise<Output> {
  const { world, note } = invocation;
  const account = invocation.settingGiven('account');
  const seeded = await changeState(world, dataDir, {
    name: 'seed',
    input: account === undefined ? {} : { account },
    atRest: async (store) => {
      const { seedStore } = await import('../../server/seed/samples.ts');
      return await seedStore(store, account, world.now());
    },
  });
  const total = Object.values<number>({ ...seeded }).reduce((sum, count) => sum + count, 0);
  note(total === 0 ? 'All samples exist' : `Added ${total} samples`);
  return record(seeded, { id: 'images', columns });
}

type Reached = Pick<Running, 'computeUrl' | 'storUrl' | 'caFile' | 'accounts'> & RunningAccount;

/** The environment in which this program signs as an account. @throws {NotFoundError} if the services have no key of the account */
function actAs(context: Context, service: Reached, home: string): NodeJS.ProcessEnv {
  const login = context.settingGiven('account') ?? service.account;
  const found = [service, ...(service.accounts ?? [])].find(({ account }) => account === login);
  if (found === undefined)
    throw new NotFoundError(`the services have no key of the account ${login}`, { hint: 'accounts of local start --add-account have one' });
  const { account, keyId, keyFile } = found;
  const { computeUrl: url, storUrl, caFile: ca } = service;
  return describeOwnSettings(context.world, { account, keyId, keyFile, url, storUrl, ca, storEcdsa: 'true' }, home);
}

/** Adds fixtures to running services, or to the data of stopped ones. */
async function seedFixtures(invocation: Context, dataDir: string, source: string): Promise<void> {
  const { world, paths, note } = invocation;
  const lines = readFixtures(resolvePath(world, source));
  checkData(dataDir);
  const running = await findRunning(world, dataDir);
  const home = await makeFolder(paths, world, 'seeds');
  try {
    if (running !== undefined) await putFixtures(world, lines, actAs(invocation, running, home));
    else {
      const { startLocal } = await import('../../server/local.ts');
      const service = await startLocal({ dataDir, computePort: 0, storPort: 0, empty: true, isolation: 'none', now: world.now });
      try {
        await putFixtures(world, lines, actAs(invocation, service, home));
      } finally {
        await service.close(0);
      }
    }
  } finally {
    await removeFolder(home);
  }
  note(`Added ${source}`);
}

export const seed = command({
  summary: 'Add missing samples, or objects and users from files',
  description: `Without SOURCE: adds images, packages, instances and directories, as the first start does without --empty. With a directory: the files in its folders stor and public become objects, and access.yaml, as written by cloud rbac export, its users, policies and roles; a directory without any of the three becomes the content of stor. With a file: applies it as access.yaml. Existing objects and users stay unless SOURCE has the same name. Works with running services, also in cloud local run (through ${controlVariable}), and with stopped ones.`,
  arguments: { source: maybe('Directory, or access document', { values: 'file' }) },
  usage: '[DIR|FILE]',
  fields: columns,
  changes: true,
  options: dataOption,
  run: async (invocation) => {
    const { args, options } = invocation;
    const dataDir = dataDirOf(invocation, options.data);
    if (args.source === undefined) return await seedSamples(invocation, dataDir);
    await seedFixtures(invocation, dataDir, args.source);
    return undefined;
  },
  examples: [
    { line: 'cloud local seed', help: 'After a start with --empty, or after samples were deleted' },
    { line: 'cloud local seed ./fixtures', help: 'Fixtures for tests: objects, users and roles' },
    { line: 'cloud local seed --data ./data -j', help: 'Services with their own data; print the number of added samples as JSON' },
  ],
});
