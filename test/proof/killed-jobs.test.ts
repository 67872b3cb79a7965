import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { createRandom } from '../support/random.ts';
import { useLocal, type LocalInfo } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';

/** Jobs whose service is killed again and again while they run: every input goes once through every phase, and comes out once. */

const user = useLocal();
const rounds = scale(1, 20);
const inputCount = 120;
const names = Array.from({ length: inputCount }, (_, number) => `n${String(number).padStart(3, '0')}`);
const random = createRandom(seed);

/** A chain of maps, and one that two reducers end. */
const jobs = ["--map 'sleep 0.02; cat' --map 'sed s/^/x/'", "--map cat --map 'sleep 0.02; sed s/^/x/' --reduce cat --count 2"];

beforeAll(async () => {
  for (const name of names) user.write(`in/${name}`, `${name}\n`);
  const { code, stderr } = await user.shell('cloud stor put -q -r in in');
  if (code !== 0) throw new Error(stderr);
});

function start(): Promise<LocalInfo> {
  return user.json<LocalInfo>('local', 'start', '--compute-port', '0', '--stor-port', '0');
}

interface Job {
  state: string;
  stats: { errors: number; outputs: number; tasks: number; tasksDone: number };
}

test(
  `jobs of a service that is killed come out whole, ${rounds} rounds, seed ${seed}`,
  { timeout: 120_000 + rounds * 150_000 },
  async () => {
    let { pid } = user.local;
    let [kills, resumed] = [0, 0];
    for (let round = 0; round < rounds; round += 1) {
      const ids = [];
      for (const phases of jobs) {
        const line = `cloud stor find in --type object -o name | cloud jobs run ${phases} --detach -q -o name`;
        ids.push((await user.shell(line)).stdout.trim());
      }
      for (let kill = 0; kill < 3; kill += 1) {
        await sleep(random() * 600);
        process.kill(pid, 'SIGKILL');
        kills += 1;
        ({ pid } = await start());
        const running = await user.json<Job[]>('jobs', 'list', '--state', 'running');
        resumed += running.length;
      }
      for (const [at, id] of ids.entries()) {
        const { code, stdout, stderr } = await user.shell(`cloud jobs wait ${id} -q --wait-timeout 60s && cloud jobs outputs ${id} --cat`);
        const told = `round ${round}, ${jobs[at]}: ${stderr}`;
        expect([code, stdout.trimEnd().split('\n').toSorted()], told).toEqual([0, names.map((name) => `x${name}`)]);
        const { stats } = await user.json<Job>('jobs', 'get', id);
        const [tasks, outputs] = at === 0 ? [inputCount * 2, inputCount] : [inputCount * 2 + 2, 2];
        expect(stats, told).toMatchObject({ errors: 0, outputs, tasks, tasksDone: tasks });
      }
    }
    expect(resumed).toBeGreaterThan(0);
    report('proof', {
      name: `jobs of ${inputCount} inputs, service killed while they run`,
      ours: `${rounds * jobs.length} jobs, ${kills} kills, ${resumed} times gone on with; each input came out once`,
      promise: 'exactly one output an input, nothing twice',
    });
  },
);
