import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useSandbox } from '../support/sandbox.ts';
import { lacks } from '../support/witnesses.ts';

const runProgram = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
/** Most bytes of the package when it is unpacked. */
const largest = 4.5 * 1024 * 1024;

interface Packed {
  filename: string;
  unpackedSize: number;
  files: { path: string; size: number }[];
}

describe('the package', () => {
  const sandbox = useSandbox();
  const folder = mkdtempSync(join(tmpdir(), 'cloud-package-'));
  const prefix = join(folder, 'prefix');
  let packed: Packed;

  // The test process answers meanwhile: npm may ask a registry that is slow.
  beforeAll(async () => {
    const { stdout } = await runProgram('npm', ['pack', '--json', '--silent', '--ignore-scripts', '--pack-destination', folder], {
      cwd: root,
    });
    packed = (JSON.parse(stdout) as Packed[])[0] as Packed;
    const words = [
      'install',
      '--global',
      '--prefix',
      prefix,
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      '--silent',
      join(folder, packed.filename),
    ];
    await runProgram('npm', words, { cwd: folder });
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** The environment of somebody who has installed it. */
  const environment = (): NodeJS.ProcessEnv => ({ ...sandbox.env, PATH: `${join(prefix, 'bin')}:${process.env['PATH'] ?? ''}` });

  it('holds what a user needs, and nothing else', () => {
    const paths = packed.files.map(({ path }) => path);
    for (const path of [
      'dist/start.js',
      'completions/cloud.bash',
      'completions/_cloud',
      'completions/cloud.fish',
      'man/cloud.1',
      'README.md',
      'LICENSE',
    ])
      expect(paths).toContain(path);
    expect(paths.filter((path) => !/^(dist|completions|man)\/|^(README|CHANGELOG)\.md$|^LICENSE$|^package\.json$/.test(path))).toEqual([]);
    expect(paths).not.toContain('dist/generate.js');
    expect(packed.unpackedSize).toBeLessThan(largest);
    for (const path of paths.filter((path) => path.startsWith('dist/'))) expect(readFileSync(join(root, path), 'utf8')).not.toContain(root);
  });

  it('runs', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    const run = (...words: string[]): string => execFileSync('cloud', words, { env: environment(), cwd: sandbox.home, encoding: 'utf8' });
    const system = `Node.js ${process.version}, ${process.platform} ${process.arch}`;
    const said = run('--version');
    expect(said).toMatch(/^cloud \S+ \(commit [\da-f]{12}\+? of \d{4}-\d\d-\d\d\), [^\n]+\n$/);
    expect(said).toMatch(new RegExp(`^cloud ${version} .*, ${system}\n$`));
    expect(JSON.parse(run('version', '-j'))).toMatchObject({
      version,
      node: process.version,
      program: join(prefix, 'lib/node_modules/cloud/dist/start.js'),
    });
    const started = JSON.parse(run('local', 'start', '--compute-port', '0', '--stor-port', '0', '-j')) as { profile: string };
    try {
      expect(started.profile).toBe('local');
      expect(run('images', 'list', '-o', 'name').split('\n').length).toBeGreaterThan(3);
    } finally {
      run('local', 'stop');
    }
  });

  it('completes', () => {
    const line =
      'source <(cloud completion bash); COMP_WORDS=(cloud im) COMP_CWORD=1 COMP_LINE="cloud im" COMP_POINT=8; _cloud cloud im; echo $COMPREPLY';
    expect(execFileSync('bash', ['-c', line], { env: environment(), encoding: 'utf8' })).toBe('images\n');
    expect(execFileSync('cloud', ['completion', 'zsh'], { env: environment(), encoding: 'utf8' })).toBe(
      readFileSync(join(prefix, 'lib/node_modules/cloud/completions/_cloud'), 'utf8'),
    );
  });

  it('has its manual where man looks for it', () => {
    const man = join(prefix, 'share/man');
    expect(existsSync(join(man, 'man1/cloud.1'))).toBe(true);
    expect(readdirSync(join(man, 'man7'))).toContain('cloud-signing.7');
    expect(readdirSync(join(man, 'man1')).length).toBe(readdirSync(join(root, 'man')).filter((name) => name.endsWith('.1')).length);
  });

  it.skipIf(lacks('man'))('has a manual that man reads', () => {
    const man = join(prefix, 'share/man');
    const env = { ...environment(), MANPATH: man, MANPAGER: 'cat', PAGER: 'cat' };
    expect(execFileSync('man', ['cloud-images'], { env, encoding: 'utf8' })).toContain('images list');
  });

  it('needs no package at run time but a database, which is prebuilt and may be left out', () => {
    const record = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, object>;
    expect([record['dependencies'], Object.keys(record['optionalDependencies'] ?? {})]).toEqual([undefined, ['libsql']]);
    expect(statSync(join(prefix, 'lib/node_modules/cloud/node_modules/libsql')).isDirectory()).toBe(true);
  });

  it('cannot be published by mistake: its name on the registry belongs to another program', () => {
    expect(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))).toMatchObject({ private: true });
    const documents = readdirSync(join(root, 'man')).map((name) => join('man', name));
    const suggesting = ['README.md', ...documents].filter((file) =>
      /npx cloud|npm (i|install) (-g|--global) cloud\b/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(suggesting).toEqual([]);
  });
});

describe('without a database to install', () => {
  const sandbox = useSandbox();
  const hasOwn = Number(process.versions.node.split('.')[0]) >= 24;
  const start = ['local', 'start', '--compute-port', '0', '--stor-port', '0'];
  afterAll(() => void spawnSync(process.execPath, [join(root, 'dist/start.js'), 'local', 'stop'], { env: sandbox.env }));

  function expectOneLine({ status, stderr }: { status: number | null; stderr: string }, system: string): void {
    if (hasOwn) return expect([status, stderr]).toEqual([0, expect.stringMatching(/running/i)]);
    const [line = '', ...hints] = stderr.trim().split('\n');
    expect(line).toContain(`the database of the local service is missing: libsql is not installed for ${system}: use Node.js 24 or later`);
    expect([status, hints]).toEqual([1, [expect.stringMatching(/^hint: see .*service\.log$/)]]);
  }

  it.each(['freebsd x64', 'openbsd x64', 'linux riscv64'])('the client works on %s, and the service says what is missing', (system) => {
    const [platform, arch] = system.split(' ');
    const hook = sandbox.write(
      'system.cjs',
      `Object.defineProperty(process, 'platform', { value: '${platform}' }); Object.defineProperty(process, 'arch', { value: '${arch}' });`,
    );
    const env = { ...sandbox.env, NODE_OPTIONS: `--require ${hook}` };
    const run = (...words: string[]) => spawnSync(process.execPath, [join(root, 'dist/start.js'), ...words], { env, encoding: 'utf8' });
    expect(run('stor', 'ls', '--help').status).toBe(0);
    expectOneLine(run(...start), system);
  });

  it('installed with --omit=optional too', () => {
    cpSync(join(root, 'dist'), join(sandbox.home, 'bare/dist'), { recursive: true });
    const words = [join(sandbox.home, 'bare/dist/start.js'), ...start];
    expectOneLine(spawnSync(process.execPath, words, { env: sandbox.env, encoding: 'utf8' }), `${process.platform} ${process.arch}`);
  });
});
