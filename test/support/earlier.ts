import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LocalInfo, Sandbox } from './sandbox.ts';

/**
 * An earlier release to compare with in the same run: a checkout of it with its packages that was built (`npm ci && npm run build`), named
 * by `CLOUD_EARLIER=DIR`. Without it these comparisons are left out.
 */
const folder = process.env['CLOUD_EARLIER'];

/** The program of the earlier release. */
export const earlierProgram = folder === undefined ? undefined : join(folder, 'bin/cloud');
if (earlierProgram !== undefined && !existsSync(earlierProgram)) throw new Error(`CLOUD_EARLIER: there is no ${earlierProgram}`);

/** The words that start services on data of their own, beside those of the same user that run. */
export const besideWords = '--data beside --profile beside --compute-port 0 --stor-port 0';

/** Starts the services of a program on data of their own. */
export async function startBeside({ shell }: Sandbox, program: string, words = ''): Promise<LocalInfo> {
  const { code, stdout, stderr } = await shell(`'${program}' local start ${besideWords} ${words} -j`);
  if (code !== 0) throw new Error(`${program} local start: ${stderr}`);
  return JSON.parse(stdout) as LocalInfo;
}
