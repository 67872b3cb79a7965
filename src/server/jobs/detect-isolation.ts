import { join } from 'node:path';
import { createNamespaces, createOpenIsolation, findBash, type Isolation } from './isolation.ts';
import { prepareZone, startZone } from './zone.ts';

/** Whether a zone with these walls comes up. */
async function canOpen(isolation: Isolation, dataDir: string): Promise<boolean> {
  const directory = join(dataDir, 'zones', 'trial');
  try {
    await prepareZone(directory);
    const zone = await startZone({ isolation, name: 'trial', directory, dataDir, command: 'true', environment: {}, timeLimit: 10_000 });
    const isReady = await zone.ready.then(
      ({ status }) => status === 0,
      () => false,
    );
    await zone.end();
    return isReady;
  } catch {
    return false;
  }
}

/** The strongest isolation that this machine allows, told in the log. Undefined without bash: no task can run then. */
export async function detectIsolation(dataDir: string, log: (line: string) => void): Promise<Isolation | undefined> {
  const bash = await findBash(process.env['PATH']);
  if (bash === undefined) {
    log('jobs: there is no bash on this machine, so tasks of jobs wait until there is one');
    return undefined;
  }
  const choices = process.platform === 'linux' ? [createNamespaces(bash, false), createNamespaces(bash, true)] : [];
  for (const isolation of choices) {
    if (!(await canOpen(isolation, dataDir))) continue;
    log('jobs: tasks run in namespaces of their own, without network');
    return isolation;
  }
  log('jobs: tasks run without namespaces, which this machine does not allow: they can use the network and the files of this user');
  return createOpenIsolation(bash);
}
