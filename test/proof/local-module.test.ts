import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { testing } from '../../src/cli/guides/testing.ts';
import { useSandbox } from '../support/sandbox.ts';

/** The module `cloud/local`, in a project of somebody who has installed the package. */

const root = resolve(import.meta.dirname, '../..');
const user = useSandbox();
const project = join(user.home, 'project');
const runs = join(user.home, '.local/share/cloud/runs');
const listLeft = (): string[] => (existsSync(runs) ? readdirSync(runs) : []);

/** The example of the guide, as it stands there. */
const blocks = testing.sections.find(({ title }) => title === 'The module cloud/local')?.blocks ?? [];
const [example = []] = blocks.flatMap((block) => (typeof block === 'object' && 'lines' in block ? [block.lines] : []));

beforeAll(() => {
  mkdirSync(join(project, 'node_modules'), { recursive: true });
  const [{ filename }] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--silent', '--ignore-scripts', '--pack-destination', project], { cwd: root, encoding: 'utf8' }),
  ) as [{ filename: string }];
  // Without the network: what npm would do with the packed file.
  execFileSync('tar', ['xzf', filename, '-C', 'node_modules'], { cwd: project });
  execFileSync('mv', ['node_modules/package', 'node_modules/cloud'], { cwd: project });
  for (const name of ['libsql', '@libsql', 'detect-libc', '@neon-rs', 'vitest', '@types']) {
    const [from, to] = [join(root, 'node_modules', name), join(project, 'node_modules', name)];
    if (existsSync(from)) symlinkSync(from, to);
  }
  writeFileSync(join(project, 'package.json'), '{"type":"module"}');
}, 120_000);

/** Runs a program in the project, with its `cloud` in the PATH. */
const run = (line: string) => user.shell(line, { cwd: project });

describe('cloud/local', () => {
  it('the example of the guide passes with the runner of Node.js, and leaves nothing', async () => {
    writeFileSync(join(project, 'module.test.mjs'), example.join('\n'));
    const { code, stdout } = await run('node --test module.test.mjs');
    expect([code, stdout]).toEqual([0, expect.stringContaining('pass 1')]);
    expect(listLeft()).toEqual([]);
  });

  it('starts also when NODE_OPTIONS preloads a module that prints', async () => {
    writeFileSync(join(project, 'noise.cjs'), 'process.stdout.write("{loaded}")');
    writeFileSync(join(project, 'start.mjs'), 'import { startLocal } from "cloud/local"; await (await startLocal()).stop();');
    expect(await run('NODE_OPTIONS="-r ./noise.cjs" node start.mjs')).toMatchObject({ code: 0, stdout: '{loaded}', stderr: '' });
  });

  it('settings of the suite, such as its profile, have no effect on programs that get env', async () => {
    const lines = [
      'import { execFileSync } from "node:child_process"; import { startLocal } from "cloud/local";',
      'const services = await startLocal({ empty: true }); const env = { ...process.env, ...services.env };',
      'execFileSync("cloud", ["stor", "ls"], { env, stdio: "inherit" }); await services.stop();',
    ];
    writeFileSync(join(project, 'settings.mjs'), lines.join('\n'));
    const words = 'CLOUD_PROFILE=work CLOUD_USER=jill CLOUD_ROLE=dev SDC_USER=jack';
    expect(await run(`${words} node settings.mjs`)).toMatchObject({ code: 0, stderr: '' });
  });

  it('passes in TypeScript with vitest: fork, snapshot, clock, faults, requests, fixtures', { timeout: 180_000 }, async () => {
    mkdirSync(join(project, 'fixtures/stor'), { recursive: true });
    writeFileSync(join(project, 'fixtures/stor/a.txt'), 'June');
    writeFileSync(join(project, 'fixtures/access.yaml'), 'version: "1"\npolicies:\n  - name: reading\n    rules: [CAN getobject]\n');
    writeFileSync(join(project, 'own.test.ts'), readFileSync(join(import.meta.dirname, '../support/module-suite.ts')));
    const { code, stdout, stderr } = await run(
      'node node_modules/vitest/vitest.mjs run --root . --testTimeout 60000 --hookTimeout 60000 own.test.ts',
    );
    expect([code, stdout + stderr]).toEqual([0, expect.stringContaining('passed')]);
    expect(listLeft()).toEqual([]);
  });

  it('its types are those of what it gives', async () => {
    const words = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
    writeFileSync(join(project, 'own.ts'), readFileSync(join(import.meta.dirname, '../support/module-suite.ts')));
    writeFileSync(
      join(project, 'wrong.ts'),
      `import { startLocal } from 'cloud/local';\nconst { clock } = await startLocal({});\nawait clock.advance('1h');\n`,
    );
    const check = (file: string) => run(`node ${join(root, 'node_modules/typescript/bin/tsc')} ${words.join(' ')} --skipLibCheck ${file}`);
    expect(await check('own.ts')).toMatchObject({ code: 0, stdout: '' });
    expect((await check('wrong.ts')).stdout).toContain("Argument of type 'string' is not assignable to parameter of type 'number'");
  });

  it('services end with the process that started them, however it ends; what cannot start says why', async () => {
    writeFileSync(
      join(project, 'killed.mjs'),
      `import { startLocal } from 'cloud/local';
await startLocal({ fixtures: './nothing' }).catch(({ name, code, message }) => console.log(name, code, message));
await startLocal({ empty: true });
process.kill(process.pid, 'SIGKILL');`,
    );
    const { stdout } = await run('node killed.mjs');
    expect(stdout).toMatch(/^LocalServiceError UsageError .*nothing does not exist$/mu);
    await expect.poll(listLeft).toEqual([]);
  });
});
