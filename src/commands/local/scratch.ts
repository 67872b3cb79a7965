import { randomUUID } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, renameSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from '../../base/build.ts';
import { assertOwnDataDirectory } from '../../base/data-directory.ts';
import { unlessNoEntry, isSystemError, quietly } from '../../base/errors.ts';
import { readPrivate, writePrivate } from '../../base/private-files.ts';
import { removeFolder } from '../../base/remove-folder.ts';
import { isAlive, type World } from '../../base/world.ts';
import type { Paths } from '../../config/paths.ts';
import { makeFolders } from '../../transfer/local/folders.ts';
import { findHolder } from './holder.ts';
import { findProcess, killProcess, stopProcess, uninterrupted } from './stop.ts';

/** Data directories of temporary services, and the template that they are copied from. */

/** Milliseconds after which a folder is removed although its owner is alive, if no process has its database open. */
const openingTime = 60_000;

function copyTree(from: string, to: string): void {
  mkdirSync(to, { mode: 0o700, recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyTree(source, target);
    else if (entry.isFile()) {
      copyFileSync(source, target);
      chmodSync(target, lstatSync(source).mode & 0o777);
    }
  }
}

/** Removes folders of killed runs. The name of a folder begins with the id of the process that owns it. */
async function removeOld(folder: string, world: Pick<World, 'kill' | 'now'>, hasService: boolean): Promise<void> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const age = world.now() - (lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity);
    const isUsed = isAlive(world, Number(name.split('.')[0])) && (!hasService || age < openingTime || findHolder(path) !== undefined);
    if (isUsed) continue;
    try {
      for (const { pid, dataDir } of listStarted(join(path, homeName, 'data'))) {
        if (findHolder(dataDir, pid) !== pid) continue;
        if (dataDir.startsWith(`${path}/`)) await killProcess(uninterrupted(world), pid);
        else world.kill(pid, 'SIGTERM');
      }
      await removeFolder(path);
    } catch {
      // What cannot be removed waits for the next run.
    }
  }
}

/** Folder in the data directory of a run that is `CLOUD_HOME` of its program. */
export const homeName = 'home';

/** Folder in the data folder of a run with a file for each background service that was started in the run: it ends with the run. */
const startedName = 'started';

/** Creates the `CLOUD_HOME` of a run. */
export function makeHome(home: string): void {
  makeFolders(join(home, 'data', startedName), 0o700);
}

/** Notes the process of a background service that is started on a data directory, if that happens in a run. */
export function noteStarted({ data }: Pick<Paths, 'data'>, pid: number | undefined, dataDir: string): void {
  const folder = join(data, startedName);
  if (existsSync(folder) && pid !== undefined) writePrivate(join(folder, String(pid)), dataDir, { flush: false });
}

/** The processes of the background services that were started in a run, and their data directories. @param data its data folder */
function listStarted(data: string): { readonly pid: number; readonly dataDir: string }[] {
  const folder = join(data, startedName);
  return (unlessNoEntry(() => readdirSync(folder)) ?? []).map((name) => ({ pid: Number(name), dataDir: readPrivate(join(folder, name)) }));
}

/** Stops the background services that were started in a run, also when the run was interrupted. */
export async function endStarted(world: Pick<World, 'kill' | 'now'>, home: string): Promise<void> {
  const end = async ({ pid, dataDir }: { pid: number; dataDir: string }): Promise<void> => {
    // Another process may serve the directory by now, or have the id.
    if ((await findProcess(world, dataDir)) === pid) await stopProcess(uninterrupted(world), pid);
  };
  await Promise.all(listStarted(join(home, 'data')).map(end));
}

/** Codes of system errors that tell that nothing can be created in a folder. */
const unwritable: ReadonlySet<string> = new Set(['EACCES', 'ENOENT', 'ENOTDIR', 'EPERM', 'EROFS']);

/** Creates a folder for a command's temporary files: in the data folder, or where that cannot be written in a temporary one. */
export async function makeFolder(
  paths: Pick<Paths, 'data'>,
  world: Pick<World, 'kill' | 'now' | 'pid'>,
  kind: 'recordings' | 'runs' | 'seeds',
): Promise<string> {
  try {
    return await makeOwnFolder(paths, world, kind);
  } catch (error) {
    if (!isSystemError(error) || !unwritable.has(error.code ?? '')) throw error;
    return mkdtempSync(join(tmpdir(), `cloud-${kind}-`));
  }
}

async function makeOwnFolder(paths: Pick<Paths, 'data'>, world: Pick<World, 'kill' | 'now' | 'pid'>, kind: string): Promise<string> {
  const all = join(paths.data, kind);
  makeFolders(all, 0o700);
  assertOwnDataDirectory(all);
  await removeOld(all, world, kind === 'runs');
  const folder = join(all, `${world.pid}.${randomUUID()}`);
  makeFolders(folder, 0o700);
  return folder;
}

/** Milliseconds after which a template that no run has used is removed. */
const longestUnused = 30 * 24 * 3_600_000;

const templatePrefix = 'template-';

/** Removes the templates of releases that are used no more. */
async function removeOldTemplates(data: string, now: number): Promise<void> {
  for (const name of readdirSync(data).filter((each) => each.startsWith(templatePrefix))) {
    const path = join(data, name);
    const { mtimeMs = Infinity } = lstatSync(path, { throwIfNoEntry: false }) ?? {};
    // What cannot be removed waits for the next release.
    if (mtimeMs < now - longestUnused) await removeFolder(path).catch(() => undefined);
  }
}

/**
 * Creates a data directory for a temporary service.
 * @param make fills a directory with what a first start creates. The result is kept for later runs of this release, because creating keys
 * and samples takes longer than everything else; undefined if the run needs other data.
 */
export async function makeScratch(
  paths: Pick<Paths, 'data'>,
  world: Pick<World, 'kill' | 'now' | 'pid'>,
  make: ((dataDir: string) => Promise<void>) | undefined,
): Promise<string> {
  const dataDir = await makeFolder(paths, world, 'runs');
  if (!make) return dataDir;
  const template = join(paths.data, `${templatePrefix}${build.version}-${build.commit}`);
  if (!existsSync(template) && !dataDir.startsWith(`${paths.data}/`)) {
    await make(dataDir);
    return dataDir;
  }
  if (!existsSync(template)) {
    await removeOldTemplates(paths.data, world.now());
    await makeTemplate(template, `${dataDir}.template`, make);
  }
  assertOwnDataDirectory(template);
  const now = new Date(world.now());
  // Of a template that cannot be written, the time of its last use is not known.
  quietly(() => utimesSync(template, now, now), undefined);
  copyTree(template, dataDir);
  return dataDir;
}

async function makeTemplate(template: string, folder: string, make: (dataDir: string) => Promise<void>): Promise<void> {
  makeFolders(folder, 0o700);
  await make(folder);
  try {
    renameSync(folder, template);
  } catch {
    // Another run has created the template meanwhile, with the same content.
    await removeFolder(folder);
  }
}
