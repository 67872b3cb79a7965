import { afterAll, beforeAll } from 'vitest';
import { useLocal, type LocalInfo, type Sandbox } from './sandbox.ts';

/** A user with two local services: profile `local`, and profile `far` for another data directory. */
export function useTwoServices(...words: string[]): Sandbox & { readonly far: LocalInfo } {
  const user = useLocal('--http', ...words);
  let far: LocalInfo | undefined;
  const data = (): string => `${user.home}/far-data`;
  beforeAll(async () => {
    const ports = ['--compute-port', '0', '--stor-port', '0'];
    far = await user.json<LocalInfo>('local', 'start', '--http', '--empty', '--data', data(), '--profile', 'far', ...ports, ...words);
    await user.here(['profile', 'use', 'local']);
  });
  afterAll(async () => {
    await user.here(['local', 'stop', '--data', data()]);
  });
  return Object.defineProperty(user, 'far', {
    get: () => {
      if (!far) throw new Error('the second service has not started yet');
      return far;
    },
  }) as Sandbox & { readonly far: LocalInfo };
}
