import { defineConfig } from 'vitest/config';

/** One project per kind of test; `--project NAME` runs one of them. */
function project(name: string, testTimeout: number, fileParallelism = true) {
  const include = [`test/${name}/**/*.test.ts`];
  return { extends: true as const, test: { name, include, testTimeout, hookTimeout: 60_000, fileParallelism } };
}

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    pool: 'forks',
    // Most tests wait for processes of their own: more workers than cores keep the cores busy.
    maxWorkers: 4,
    // Machines of CI are shared and noisy: what fails once there is tried once more, and the report shows it.
    retry: process.env['CI'] === 'true' ? 1 : 0,
    globalSetup: 'test/support/global-setup.ts',
    projects: [
      project('unit', 10_000),
      project('contract', 20_000),
      project('e2e', 60_000),
      project('proof', 300_000, false),
      project('bench', 600_000, false),
    ],
  },
});
