import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asRoot, buildPackages, clone, createDebianRoot, createEnvironment, findFile, isRoot, root, version } from '../support/release.ts';
import { lacks } from '../support/witnesses.ts';

/** The release as users get it: built twice, installed as the README says by each tool, tried, and removed. */

const tarball = `cloud-${version}.tgz`;
const single = `cloud-${version}-${process.platform}-${process.arch}.tar.gz`;
const folder = mkdtempSync(join(tmpdir(), 'cloud-release-'));
chmodSync(folder, 0o755);
const nobody = 65_534;
/** Tools install as somebody who may write nowhere else. */
const unprivileged = isRoot ? ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--'] : [];

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function createFolder(...names: string[]): string {
  const path = join(folder, ...names);
  mkdirSync(path, { recursive: true });
  if (isRoot) chownSync(path, nobody, nobody);
  return path;
}

/** Runs a line of a shell as the user who installs. */
function runLine(line: string, cwd: string, env: NodeJS.ProcessEnv): string {
  const [file, ...words] = [...unprivileged, 'bash', '-euo', 'pipefail', '-c', line];
  const { status, stdout, stderr } = spawnSync(file, words, { cwd, env, encoding: 'utf8' });
  expect([line, status], `${stdout}${stderr}`).toEqual([line, 0]);
  return stdout;
}

/** The commands of the README's table for a way to install. */
function readWays(way: string): { install: string; remove: string } {
  const row = readFileSync(join(root, 'README.md'), 'utf8').match(new RegExp(`^\\| ${way} \\| \`(.+?)\` \\| \`(.+?)\` \\|$`, 'm'));
  const [, install = '', remove = ''] = row ?? [];
  expect([way, install === ''], 'the README has no such row').toEqual([way, false]);
  return { install, remove };
}

/** Files of the program that are below a folder, but for what tools keep in a store or cache of their own. */
function findLeft(path: string): string[] {
  const all = existsSync(path) ? readdirSync(path, { recursive: true, encoding: 'utf8' }) : [];
  return all.filter(
    (name) => /(^|\/)(cloud|_cloud|libsql|cloud-[\w-]+)(\.\w+)?$/.test(name) && !/(^|\/)(store|cache|\.cache)\//.test(name),
  );
}

const first = join(folder, 'first');
/** Where the packages of the release are. */
const released = join(first, 'release');
beforeAll(() => {
  const person = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.com', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@example.com' };
  execFileSync(join(first, '.ci/release'), [], { cwd: clone(first), env: createEnvironment(folder, person), stdio: 'pipe' });
}, 300_000);

it('a release has a tag, and packages that can be verified as the README says; it is made once, and of what is committed', () => {
  const [, line = ''] = /Verify those you have with `(.+?)`/.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? [];
  const deb = basename(findFile(released, '.deb'));
  const sbom = `cloud-${version}.cdx.json`;
  const verified = execFileSync('bash', ['-c', line], { cwd: released, encoding: 'utf8' });
  expect(verified.trim().split('\n').toSorted()).toEqual([tarball, deb, single, sbom].map((name) => `${name}: OK`).toSorted());
  const { components } = JSON.parse(readFileSync(join(released, sbom), 'utf8')) as { components: { name: string }[] };
  // One that is installed with the program, one that it is bundled with, and what the single file contains.
  expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['libsql', 'commander', 'node']));
  const git = (...words: string[]): string => execFileSync('git', words, { cwd: first, encoding: 'utf8' }).trim();
  expect(git('describe', '--exact-match')).toBe(`v${version}`);
  expect(git('status', '--porcelain')).toBe('');
  const release = (): string => spawnSync(join(first, '.ci/release'), [], { cwd: first, encoding: 'utf8' }).stderr;
  expect(release()).toBe(`the tag v${version} exists already\n`);
  writeFileSync(join(first, 'README.md'), 'changed');
  expect(release()).toBe('there are changes that are not committed\n');
  git('checkout', 'README.md');
});

it('the same commit gives the same bytes: in another folder, with umask 027, in another time zone', () => {
  const second = clone(join(folder, 'elsewhere/with another name'));
  buildPackages(second, 'umask 027; git checkout-index --all --force', { TZ: 'Pacific/Auckland', LC_ALL: 'C' });
  execFileSync(join(second, '.ci/build-single'), ['.'], { env: createEnvironment(folder), stdio: 'pipe' });
  const files = readdirSync(released).filter((name) => /\.(tgz|deb|gz)$/.test(name));
  expect(files.toSorted()).toEqual([single, tarball, expect.stringMatching(/^cloud_.*\.deb$/)]);
  for (const file of files)
    expect([file, readFileSync(join(second, file)).equals(readFileSync(join(released, file)))]).toEqual([file, true]);
});

describe('installed from the tarball as the README says', () => {
  /** Sets a tool up in a home of its own; returns what it needs to run. */
  function prepare(name: string, packages: string): { cwd: string; env: NodeJS.ProcessEnv } {
    const cwd = createFolder(name);
    const env = createEnvironment(cwd, { TMPDIR: createFolder(name, 'tmp'), npm_config_cache: join(cwd, 'cache') });
    execFileSync('cp', [join(released, tarball), cwd]);
    if (packages !== '') runLine(`npm install --silent --no-save --prefix "$HOME/tools" ${packages}`, cwd, env);
    const path = `${cwd}/prefix/bin:${cwd}/pnpm/bin:${cwd}/pnpm:${cwd}/tools/node_modules/.bin:${process.env['PATH'] ?? ''}`;
    return { cwd, env: { ...env, PATH: path } };
  }

  const tools = {
    npm: { packages: '', env: (cwd: string) => ({ npm_config_prefix: `${cwd}/prefix` }) },
    pnpm: { packages: 'pnpm', env: (cwd: string) => ({ PNPM_HOME: `${cwd}/pnpm` }) },
    'Yarn 1': { packages: 'yarn@1', env: (cwd: string) => ({ PREFIX: `${cwd}/prefix` }) },
  } as const;

  it.each(['npm', 'pnpm', 'Yarn 1'] as const)('%s: the guided tour passes, nothing is left', (tool) => {
    const { packages, env: more } = tools[tool];
    const prepared = prepare(tool.replace(' ', '-'), packages);
    const { cwd } = prepared;
    const env = { ...prepared.env, ...more(cwd) };
    const { install, remove } = readWays(tool);
    // A second time, as for an upgrade.
    for (const line of [install, install]) runLine(line, cwd, env);
    expect(runLine('cloud --version', cwd, env)).toContain(`cloud ${version} (`);
    expect(runLine('cloud local try', cwd, env)).toContain('Everything works');
    runLine(remove, cwd, env);
    const [, line = ''] = /which stay otherwise: `(.+?)`/.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? [];
    expect(existsSync(join(cwd, '.cache/cloud'))).toBe(true);
    runLine(line, cwd, env);
    expect(['.cache', '.config', '.local/state', '.local/share'].filter((name) => existsSync(join(cwd, name, 'cloud')))).toEqual([]);
    expect([tool, ...['prefix', 'pnpm', '.config'].flatMap((part) => findLeft(join(cwd, part)))]).toEqual([tool]);
  });

  it("Yarn 4 with Plug'n'Play: the guided tour passes, nothing is left", () => {
    const { cwd, env } = prepare('yarn-4', '@yarnpkg/cli-dist');
    const { install, remove } = readWays('Yarn 4, in a project');
    const project = createFolder('yarn-4', 'project');
    execFileSync('cp', [join(released, tarball), project]);
    writeFileSync(join(project, 'package.json'), '{}');
    if (isRoot) chownSync(join(project, 'package.json'), nobody, nobody);
    const settings = {
      ...env,
      YARN_ENABLE_TELEMETRY: '0',
      YARN_GLOBAL_FOLDER: join(cwd, 'cache/yarn'),
      YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
    };
    runLine(install, project, settings);
    expect(runLine('ls -a', project, settings)).toContain('.pnp.cjs');
    expect(runLine('yarn cloud local try', project, settings)).toContain('Everything works');
    runLine(remove, project, settings);
    expect(findLeft(join(project, '.yarn/unplugged'))).toEqual([]);
    expect(readFileSync(join(project, '.pnp.cjs'), 'utf8')).not.toContain('cloud-file');
  });
});

it('from a clone as the README says: it runs, and the clone is as it was', () => {
  const { install, remove } = readWays('a clone');
  const own = clone(join(folder, 'own'));
  rmSync(join(own, 'node_modules'));
  const home = createFolder('clone-home');
  const path = `${home}/prefix/bin:${process.env['PATH'] ?? ''}`;
  const env = createEnvironment(home, { npm_config_prefix: join(home, 'prefix'), PATH: path });
  const run = (line: string): string => execFileSync('bash', ['-euc', line], { cwd: own, env, encoding: 'utf8', stdio: 'pipe' });
  run(install);
  const listPackages = (): string[] => readdirSync(join(own, 'node_modules'));
  const before = listPackages();
  expect(run('cd "$HOME"; cloud local try')).toContain('Everything works');
  run(remove);
  expect([findLeft(join(home, 'prefix')), listPackages()]).toEqual([[], before]);
});

describe('the single file', () => {
  it('is installed as the README says where there is no Node.js, passes the guided tour without a warning, and is removed', () => {
    const cwd = createFolder('single');
    execFileSync('cp', [join(released, single), cwd]);
    const { install, remove } = readWays('Linux x64, without Node.js');
    const tools = createFolder('single-tools');
    for (const name of readdirSync('/usr/bin').filter((each) => !/^(node|nodejs|npm|npx)$/.test(each))) {
      symlinkSync(join('/usr/bin', name), join(tools, name));
    }
    const env = createEnvironment(cwd, { PATH: `${cwd}/.local/bin:${tools}`, TMPDIR: createFolder('single', 'tmp') });
    for (const line of [install, install]) runLine(line, cwd, env);
    expect(runLine('command -v node || cloud --version', cwd, env)).toContain(`cloud ${version} (`);
    const toured = runLine('cloud local try 2>&1', cwd, env);
    expect(toured).toContain('Everything works');
    expect(toured).not.toMatch(/warning|deprecat|experimental/i);
    expect(
      runLine('cloud datacenters list --help >help; cloud completion bash | head -1; cloud version --jq .program', cwd, env),
    ).toContain(`${cwd}/.local/bin/cloud`);
    runLine(remove, cwd, env);
    expect(readdirSync(join(cwd, '.local/bin'))).toEqual([]);
  });

  it('starts within 1.5 times the time of what npm installs', () => {
    const cwd = createFolder('single-start');
    runLine(`tar -xzf "${join(released, single)}"`, cwd, createEnvironment(cwd));
    const env = createEnvironment(cwd);
    const measure = (file: string, ...words: string[]): number => {
      const before = performance.now();
      const { status } = spawnSync(file, [...words, '--version'], { env });
      expect(status).toBe(0);
      return performance.now() - before;
    };
    const rounds = Array.from({ length: 20 }, () => ({
      npm: measure(process.execPath, join(first, 'dist/start.js')),
      single: measure(join(cwd, 'cloud/cloud')),
    }));
    const [least, leastSingle] = [Math.min(...rounds.map(({ npm }) => npm)), Math.min(...rounds.map((each) => each.single))];
    expect(leastSingle).toBeLessThan(1.5 * least);
  });
});

describe('installed where libsql has no build, or without it', () => {
  const hasOwn = Number(process.versions.node.split('.')[0]) >= 24;

  it.each(['freebsd x64', 'linux riscv64', '--omit=optional'])('%s: the client works, and local start says what is missing', (where) => {
    const cwd = createFolder(`without-${where.replaceAll(/\W/g, '')}`);
    const [platform, arch] = where.startsWith('-') ? [process.platform, process.arch] : where.split(' ');
    const hook = join(cwd, 'system.cjs');
    const system = `{ platform: { value: '${platform}' }, arch: { value: '${arch}' } }`;
    writeFileSync(hook, `Object.defineProperties(process, ${system});`, { mode: 0o644 });
    const env = createEnvironment(cwd, { npm_config_cache: join(cwd, 'cache'), NODE_OPTIONS: `--require ${hook}` });
    const option = where.startsWith('-') ? where : '';
    runLine(`npm install --silent --prefix "$HOME/prefix" ${option} "${join(released, tarball)}"`, cwd, env);
    const program = join(cwd, 'prefix/node_modules/.bin/cloud');
    expect(runLine(`"${program}" version --jq .system`, cwd, env)).toContain(`${platform} ${arch}`);
    const said = runLine(
      `{ "${program}" local start --compute-port 0 --stor-port 0; } 2>&1 || echo "exit $?"; "${program}" local stop`,
      cwd,
      env,
    );
    if (hasOwn) expect(said).toContain('Running');
    else expect(said).toMatch(/libsql is not installed for [^\n]*: use Node\.js 24 or later[^]*\nexit 1\n/);
  });
});

describe('the Debian package', () => {
  it.skipIf(lacks('lintian'))('has no error that lintian knows', () => {
    const { status, stdout } = spawnSync('lintian', ['--allow-root', '--fail-on', 'error', findFile(released, '.deb')], {
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([0, '']);
  });

  it('is installed in a fresh root as the README says, passes the guided tour, and is removed without a trace', () => {
    const system = join(folder, 'root');
    const dpkg = createDebianRoot(system);
    // apt itself works on the system alone: what it would do is done by dpkg in the root.
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'sudo'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
    writeFileSync(join(bin, 'apt'), `#!/bin/sh\ncase $1 in install) ${dpkg} --install "$2" ;; purge) ${dpkg} --purge "$2" ;; esac\n`, {
      mode: 0o755,
    });
    const env = createEnvironment(join(folder, 'debian-home'), { PATH: `${bin}:${process.env['PATH'] ?? ''}` });
    const { install, remove } = readWays('Debian, Ubuntu');
    const run = (line: string, cwd = released): string => {
      const [file, ...words] = [...asRoot, 'bash', '-euc', line];
      const { status, stdout, stderr } = spawnSync(file, words, { cwd, env, encoding: 'utf8' });
      expect([line, status], `${stdout}${stderr}`).toEqual([line, 0]);
      return stdout;
    };
    for (const line of [install, install]) run(line);
    expect(readFileSync(join(system, 'usr/bin/cloud'), 'utf8')).toMatch(/^#!\/usr\/bin\/node\n/);
    mkdirSync(join(folder, 'debian-home'));
    expect(run(`"${process.execPath}" "${system}/usr/bin/cloud" local try`, folder)).toContain('Everything works');
    for (const file of [
      'man/man1/cloud.1.gz',
      'bash-completion/completions/cloud',
      'zsh/vendor-completions/_cloud',
      'doc/cloud/copyright',
    ]) {
      expect([file, existsSync(join(system, 'usr/share', file))]).toEqual([file, true]);
    }
    run(remove);
    expect(existsSync(join(system, 'usr')) ? readdirSync(join(system, 'usr'), { recursive: true }) : []).toEqual([]);
    expect(readdirSync(join(system, 'var/lib/dpkg/info')).filter((name) => name.startsWith('cloud'))).toEqual([]);
  });
});
