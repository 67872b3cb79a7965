import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useSandbox } from '../support/sandbox.ts';

const root = resolve(import.meta.dirname, '../..');
/** Most bytes of the package when it is unpacked. */
const largest = 3 * 1024 * 1024;

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

  beforeAll(() => {
    const output = execFileSync('npm', ['pack', '--json', '--silent', '--pack-destination', folder], { cwd: root, encoding: 'utf8' });
    packed = (JSON.parse(output) as Packed[])[0] as Packed;
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
    execFileSync('npm', words, { cwd: folder, stdio: 'pipe' });
  }, 120_000);
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
    expect(packed.unpackedSize).toBeLessThan(largest);
    for (const path of paths.filter((path) => path.startsWith('dist/'))) expect(readFileSync(join(root, path), 'utf8')).not.toContain(root);
  });

  it('runs', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    const run = (...words: string[]): string => execFileSync('cloud', words, { env: environment(), cwd: sandbox.home, encoding: 'utf8' });
    expect(run('--version')).toBe(`cloud ${version}\n`);
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
    const env = { ...environment(), MANPATH: man, MANPAGER: 'cat', PAGER: 'cat' };
    expect(execFileSync('man', ['cloud-images'], { env, encoding: 'utf8' })).toContain('images list');
  });

  it('needs one package at run time, whose program files are prebuilt', () => {
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies?: object };
    expect(Object.keys(dependencies)).toEqual(['libsql']);
    expect(statSync(join(prefix, 'lib/node_modules/cloud/node_modules/libsql')).isDirectory()).toBe(true);
  });
});
