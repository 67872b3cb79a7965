import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Starts end-to-end tests first: in a new clone nothing is known of their time, and files that end last leave cores idle (8 of 110 s). */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isSlow = ({ moduleId }: TestSpecification): boolean => moduleId.includes('/test/e2e/');
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

/**
 * Milliseconds after which a test hangs. On a busy machine a test that takes 2 s alone takes more than a minute, and to start bash five
 * seconds.
 */
const longest = 180_000;

/** One project per kind of test; `--project NAME` runs one of them. */
function project(
  name: string,
  options: {
    testTimeout?: number;
    fileParallelism?: boolean;
    isolate?: boolean;
    maxWorkers?: number;
    execArgv?: string[];
    exclude?: string[];
    include?: string[];
  } = {},
) {
  const include = [`test/${name}/**/*.test.ts`];
  return { extends: true as const, test: { name, include, testTimeout: longest, hookTimeout: longest, ...options } };
}

/** Files share the modules that a worker has loaded, which saves a quarter of the time; none leaves anything behind in them. */
const shared = { isolate: false };
/**
 * Workers that live for two minutes. To optimise no function, and to collect no garbage before 512 MiB, saves a tenth of their processor time.
 * Six, because most tests wait for processes of their own: four take a tenth longer, eight no less. Tests that share a PostgreSQL or an
 * object store wait for these instead, and have four.
 */
const shortLived = { maxWorkers: 6, execArgv: ['--no-opt', '--initial-old-space-size=512'] };
/** What measures must not be disturbed by others. */
const alone = { fileParallelism: false };
/**
 * Proofs that measure neither time nor memory, and wait for processes of their own most of the time: two at once. In the long form one
 * after the other, because they write their figures into one table.
 */
const together = [
  'access-answers',
  'bad-input',
  'command-faults',
  'conformance',
  'damaged-cache',
  'documents',
  'durability',
  'examples',
  'find-exec',
  'histories',
  'history-driver',
  'hostile-scripts',
  'images-pipeline',
  'jobs-service',
  'killed-jobs',
  'large-download',
  'linearizability',
  'local-module',
  'moved-clock',
  'network-families',
  'nightly',
  'odd-trees',
  'operations',
  'peers',
  'plain-service',
  'plans',
  'policy-agreement',
  'published',
  'recording',
  'round-trips',
  'sandbox-files',
  'security',
  'short-listings',
  'signature-forms',
  'staleness',
  'transfer-faults',
].map((name) => `test/proof/${name}.test.ts`);
/** Needs the clients that others have published. */
const optional = process.env['CLOUD_PUBLISHED'] === undefined ? ['**/published.test.ts'] : [];

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    pool: 'forks',
    // Most tests wait for processes of their own: more workers than cores keep the cores busy.
    maxWorkers: 4,
    // What was found instead is shown whole.
    chaiConfig: { truncateThreshold: 4000 },
    // A state comes when it comes: how busy the machine is decides nothing.
    expect: { poll: { timeout: 120_000 } },
    globalSetup: 'test/support/global-setup.ts',
    sequence: { sequencer: SlowestFirst },
    projects: [
      project('unit', shared),
      project('contract', shared),
      project('e2e', shared),
      // What takes too long for `npm test`: interruptions, hostile surroundings, several services, a data directory for each test.
      project('scenarios', { ...shared, ...shortLived }),
      // All three for `npm test`: workers of another project would be others, and load everything again.
      project('test', {
        ...shared,
        ...shortLived,
        include: ['test/{unit,contract,e2e}/**/*.test.ts'],
      }),
      // The contract tests once more, on PostgreSQL, and what speaks of several gateways.
      project('cluster', {
        ...shared,
        include: ['test/{contract,cluster}/**/*.test.ts'],
      }),
      project('proof', { testTimeout: 300_000, ...alone, exclude: together }),
      project('proof-together', {
        testTimeout: 300_000,
        maxWorkers: process.env['CLOUD_SCALE'] === 'long' ? 1 : 2,
        include: together,
        exclude: optional,
      }),
      project('bench', { testTimeout: 600_000, ...alone, exclude: optional }),
    ],
  },
});
