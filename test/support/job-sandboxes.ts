import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { detectIsolation } from '../../src/server/jobs/detect-isolation.ts';

/** Sandboxes for tasks of jobs that this machine allows, found out once for a run of the tests. */

type SandboxKind = 'bubblewrap' | 'namespaces';

/** The variable in which global setup leaves them; `CLOUD_TEST_SANDBOXES=` (empty) runs the tests as where there is none. */
const variable = 'CLOUD_TEST_SANDBOXES';

/** Finds out which kinds can be made here. @returns a line for the report when there is none. */
export async function findSandboxes(): Promise<string | undefined> {
  if (process.env[variable] === undefined) {
    const dataDir = mkdtempSync(join(tmpdir(), 'cloud-sandboxes-'));
    const found: string[] = [];
    for (const wanted of ['bubblewrap', 'namespaces'] as const) {
      const detected = await detectIsolation({ dataDir, wanted, log: () => undefined });
      if ('isolation' in detected) found.push(wanted);
    }
    rmSync(dataDir, { recursive: true, force: true });
    process.env[variable] = found.join(',');
  }
  if (listSandboxes().length > 0) return undefined;
  return 'No sandbox can be made for tasks of jobs: tests of jobs run with --isolation none; to test the sandbox: apt-get install bubblewrap\n';
}

/** The kinds that can be made here. */
export function listSandboxes(): SandboxKind[] {
  return (process.env[variable] ?? '').split(',').filter((each): each is SandboxKind => each === 'bubblewrap' || each === 'namespaces');
}

/** The isolation of tests that are not about it: the strongest, and `none` where there is no sandbox. */
export function usualIsolation(): 'none' | undefined {
  return listSandboxes().length === 0 ? 'none' : undefined;
}
