import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { prepareBytes } from './byte-stores.ts';
import { endLocal, removeHome } from './end-service.ts';
import { findSandboxes } from './job-sandboxes.ts';
import { prepareCluster } from './cluster-database.ts';
import { lacksHaproxy } from './haproxy.ts';
import { dataFolder, localTemplate, makeTemplate, sharedServices } from './local-template.ts';
import { makeSharedKeys, sharedKeys } from './rsa-keys.ts';
import { areRequired, describeAbsent } from './witnesses.ts';

/** The variable that says where the sandboxes of a run share compiled code. */
export const sharedCode = 'CLOUD_TEST_CODE';

/** Where a home has compiled code. A folder that is a link would not be used. */
export const codeFolder = '.cache/cloud/code';

const reported = 'CLOUD_TEST_ABSENT_REPORTED';

/** Ends the services that test files shared, and removes their homes. */
async function endServices(folder: string): Promise<void> {
  for (const name of readdirSync(folder)) {
    const home = readFileSync(join(folder, name), 'utf8');
    await endLocal(home, join(home, dataFolder));
    removeHome(home);
  }
}

/** Makes the folders that all processes of a run share; each project asks for them. @returns what removes them. */
function makeSharedFolders(): () => Promise<void> {
  if (process.env[sharedKeys] !== undefined) return async () => undefined;
  const folder = mkdtempSync(join(tmpdir(), 'cloud-tests-'));
  makeSharedKeys(join(folder, 'keys'));
  process.env[sharedKeys] = join(folder, 'keys');
  process.env[sharedServices] = join(folder, 'services');
  mkdirSync(join(folder, 'services'));
  return async () => {
    await endServices(join(folder, 'services'));
    rmSync(folder, { recursive: true, force: true });
    for (const variable of [sharedCode, sharedKeys, sharedServices, localTemplate]) delete process.env[variable];
  };
}

/** Makes what tests of the built program share: compiled code, and the data of a local service. */
function prepareProgram(): void {
  if (process.env[localTemplate] !== undefined) return;
  const folder = resolve(process.env[sharedKeys] ?? '', '..');
  const { version, commit } = makeTemplate(join(folder, 'home'), join(folder, 'local'));
  // What runs in the process of a test is of the same build as the services that it starts.
  Object.assign(process.env, { CLOUD_VERSION: version, CLOUD_COMMIT: commit });
  process.env[localTemplate] = join(folder, 'local');
  // Two thousand starts in homes that are all new would compile the program again and again.
  process.env[sharedCode] = join(folder, 'home', codeFolder);
}

/** What the tests of clusters run on. */
async function startEngines(): Promise<() => Promise<void>> {
  if (lacksHaproxy())
    process.stdout.write('haproxy is not installed: tests behind it are left out; to run them: apt-get install haproxy\n');
  const stopBytes = await prepareBytes();
  try {
    const stopCluster = await prepareCluster();
    return async () => {
      await stopCluster();
      await stopBytes();
    };
  } catch (error) {
    await stopBytes();
    throw error;
  }
}

/** The end-to-end tests run the built program: without one they would test nothing. */
export async function setup({ name }: TestProject): Promise<() => Promise<void>> {
  if (!existsSync('dist/start.js')) throw new Error('dist/start.js is missing: run npm run build');
  const absent = [describeAbsent(), await findSandboxes()].filter((line) => line !== undefined).join('') || undefined;
  if (absent !== undefined && areRequired) throw new Error(absent);
  const removeShared = makeSharedFolders();
  if (!['unit', 'contract', 'cluster'].includes(name)) prepareProgram();
  const stopEngines = name === 'cluster' ? await startEngines() : undefined;
  return async () => {
    await stopEngines?.();
    await removeShared();
    // Each project runs this: one says it for all.
    if (absent !== undefined && process.env[reported] === undefined) process.stdout.write(absent);
    process.env[reported] = 'yes';
  };
}
