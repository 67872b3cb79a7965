import { NetworkError } from '../../base/errors.ts';
import type { JobContext } from './find.ts';
import type { NewJob } from './phases.ts';

/** Creates a job and returns its id, which is the last part of the `Location` header. */
export async function createJob({ storage, account }: Pick<JobContext, 'storage' | 'account'>, job: NewJob): Promise<string> {
  const { location = '' } = await storage.createJob({ account, ...job });
  const id = location.replace(/\/+$/, '').split('/').at(-1) ?? '';
  if (id === '') {
    throw new NetworkError('the service created a job but returned no id', { code: 'UnreadableReply', hint: 'cloud jobs list' });
  }
  return decodeURIComponent(id);
}
