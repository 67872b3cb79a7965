import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { control } from '../../src/commands/local/control.ts';
import { readServicePid, runsFor } from './end-service.ts';
import { codeFolder } from './global-setup.ts';
import { copyTemplate, dataFolder, sharedServices } from './local-template.ts';
import { createSandbox, listSwitches, returnCode, type LocalInfo, type Sandbox } from './sandbox.ts';

/** Local services that the test files of a worker use one after the other, because a service costs more than most files do with it. */

interface HomeFile {
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
}

interface SharedService {
  readonly sandbox: Sandbox;
  /** True while no test file has used the home since it was emptied. */
  isClean: boolean;
  local?: LocalInfo;
  /** The program and the configuration of the user after the start of the service. */
  files: readonly HomeFile[];
}

/** What stays in the home from one test file to the next. */
const lasting = [dataFolder, codeFolder];

const snapshot = 'as-started';

/** By the words with which the services were started. Modules are the same for all test files of a worker. */
const services = new Map<string, SharedService>();

/** Removes everything in a home but what lasts. */
function emptyHome(home: string, folder = ''): void {
  for (const name of readdirSync(join(home, folder))) {
    const path = join(folder, name);
    if (lasting.includes(path)) continue;
    if (lasting.some((each) => each.startsWith(`${path}/`))) emptyHome(home, path);
    else rmSync(join(home, path), { recursive: true, force: true });
  }
}

function readFiles(folder: string): HomeFile[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path) => ({ path, content: readFileSync(path), mode: statSync(path).mode }));
}

async function start(service: SharedService, words: readonly string[]): Promise<void> {
  const { sandbox } = service;
  copyTemplate(sandbox.home, words);
  const ports = ['--compute-port', '0', '--stor-port', '0'];
  service.local = await sandbox.json<LocalInfo>('local', 'start', ...ports, ...words, ...listSwitches(words));
  await control(service.local.dataDir, 'snapshot', { name: snapshot });
  service.files = ['bin', '.config'].flatMap((folder) => readFiles(join(sandbox.home, folder)));
}

/** Brings a service and its user to the state after the start. */
async function renew({ files }: SharedService, { dataDir }: LocalInfo): Promise<void> {
  await control(dataDir, 'clearFaults', {});
  await control(dataDir, 'clock', { reset: true });
  await control(dataDir, 'restore', { name: snapshot });
  for (const { path, content, mode } of files) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, content, { mode });
  }
}

/** The service of this worker, if test files before have left it as it has to be. */
function findService(key: string): SharedService | undefined {
  const found = services.get(key);
  if (found?.local === undefined || !found.isClean) return undefined;
  return runsFor(found.sandbox.home, readServicePid(found.local.dataDir)) ? found : undefined;
}

function createService(key: string): SharedService {
  const { sandbox } = createSandbox();
  const service: SharedService = { sandbox, isClean: true, files: [] };
  Object.defineProperty(sandbox, 'local', {
    get: () => {
      if (!service.local) throw new Error('the local service has not started yet');
      return service.local;
    },
  });
  // The end of the run ends the service and removes the home.
  const folder = process.env[sharedServices];
  if (folder === undefined) throw new Error('global setup has made no folder for the homes of shared services');
  writeFileSync(join(folder, basename(sandbox.home)), sandbox.home);
  services.set(key, service);
  return service;
}

/**
 * A sandbox with a local service that other test files use too, before and after this one: each finds the data, the clock and the
 * configuration of a new service, and an empty home. For tests whose subject is not the service itself: its log, its metrics and the
 * requests that it remembers stay.
 */
export function useShared(...words: string[]): Sandbox {
  const key = words.join(' ');
  const service = findService(key) ?? createService(key);
  service.isClean = false;
  beforeAll(async () => {
    if (service.local) await renew(service, service.local);
    else await start(service, words);
  });
  afterAll(() => {
    const { home } = service.sandbox;
    returnCode(home);
    emptyHome(home);
    service.isClean = true;
  });
  return service.sandbox;
}
