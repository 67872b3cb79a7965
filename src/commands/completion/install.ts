import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { writeFileAtomically } from '../../config/files.ts';
import { describeSystemError, unlessNoEntry, isSystemError, LocalError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { findWriteTarget } from '../../transfer/local/write-target.ts';
import type { World } from '../../base/world.ts';
import { addLine, removeLine } from './rc-line.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

/** A folder that an XDG variable names, or its default below the home folder. */
function findFolder({ env, home }: World, variable: string, fallback: string): string {
  const value = env[variable];
  return value?.startsWith('/') === true ? value : join(home, fallback);
}

function readText(file: string): string {
  return unlessNoEntry(() => readFileSync(file, 'utf8')) ?? '';
}

/**
 * The installed files. They ask the program for its script when a line is completed for the first time: so the completion always fits
 * the installed release, and a new shell starts no slower. `command` bypasses an alias called cloud.
 */
const loaders: Readonly<Record<Shell, string>> = {
  bash: 'eval "$(command cloud completion bash 2>/dev/null)"\n',
  zsh: '_cloud_load() { eval "$(command cloud completion zsh 2>/dev/null)"; (( $+functions[_cloud] )) && _cloud "$@" }\ncompdef _cloud_load cloud\n',
  fish: 'command cloud completion fish 2>/dev/null | source\n',
};

/** True for this loader, and for that of earlier releases, which works unless there is an alias called cloud. */
function isLoader(shell: Shell, text: string): boolean {
  return text === loaders[shell] || text === loaders[shell].replace('command cloud', 'cloud');
}

/** The file that completion is installed in, for each shell. */
function listFiles(world: World): Readonly<Record<Shell, string>> {
  const data = findFolder(world, 'XDG_DATA_HOME', '.local/share');
  return {
    bash: join(data, 'bash-completion/completions/cloud'),
    zsh: join(data, 'cloud/completion.zsh'),
    fish: join(findFolder(world, 'XDG_CONFIG_HOME', '.config'), 'fish/completions/cloud.fish'),
  };
}

/** Shells whose installed completion is a copy of the script from an earlier release, which upgrades do not change. */
export function findStale(world: World): Shell[] {
  const files = Object.entries(listFiles(world)) as [Shell, string][];
  return files.filter(([shell, file]) => readText(file) !== '' && !isLoader(shell, readText(file))).map(([shell]) => shell);
}

/** Timeout for a question to a shell about its set-up, milliseconds. */
const answerTimeout = 5000;

/** Returns what a shell prints between `<<` and `>>`, whatever else its set-up prints; undefined without such a shell or output. */
function ask({ env, home }: World, shell: string, args: readonly string[], line: string): string | undefined {
  const { stdout } = spawnSync(shell, [...args, line], {
    env: { ...env, HOME: home, TERM: 'dumb' },
    cwd: home,
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: answerTimeout,
    encoding: 'utf8',
  });
  return /<<([^<>]*)>>/.exec(stdout ?? '')?.[1];
}

/** True if an interactive bash of this user loads the package bash-completion, which finds completions by the names of commands. */
function hasBashCompletion(world: World): boolean {
  const line = 'if declare -F _completion_loader || declare -F _comp_load || declare -F _comp_complete_load; then echo "<<yes>>"; fi >&1';
  return ask(world, 'bash', ['-ic'], line) === 'yes';
}

/** Asks zsh itself for the folder of its set-up: ~/.zshenv may set it without exporting it. `notes` say what was assumed. */
function findZshFolder(world: World): { folder: string; notes: string[] } {
  const given = ask(world, 'zsh', ['-c'], 'print -r -- "<<$ZDOTDIR>>"') ?? world.env['ZDOTDIR'] ?? '';
  if (given === '') return { folder: world.home, notes: [] };
  if (isAbsolute(given)) return { folder: given, notes: [] };
  return { folder: world.home, notes: [`ZDOTDIR is ${given}, which is not an absolute path: ${join(world.home, '.zshrc')} is used`] };
}

/** The set-up file to change and the line to add; undefined where the shell finds the installed file by itself. */
function planLine(shell: Shell, world: World, installed: string): { file: string; line: string; notes: string[] } | undefined {
  if (shell === 'fish') return undefined;
  const guarded = (work: string): string => `[ -r ${installed} ] && ${work}`;
  if (shell === 'bash') return { file: join(world.home, '.bashrc'), line: guarded(`source ${installed}`), notes: [] };
  const start = '(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }';
  const { folder, notes } = findZshFolder(world);
  return { file: join(folder, '.zshrc'), line: guarded(`{ ${start}; source ${installed}; }`), notes };
}

/** Installs completion for a shell and returns messages that say what was done. @throws {LocalError} on failure; then nothing is changed */
export function install(shell: Shell, world: World): string[] {
  const file = listFiles(world)[shell];
  const installed = quoteShell(file);
  const before = readText(file);
  const needsLine = shell === 'zsh' || (shell === 'bash' && !hasBashCompletion(world));
  const plan = needsLine ? planLine(shell, world, installed) : undefined;
  // A symbolic link, as in dotfiles that are kept in a repository, is followed.
  const target = existsSync(dirname(file)) ? findWriteTarget(file).file : file;
  writeFileAtomically(target, loaders[shell]);
  try {
    const added = plan ? addLine(plan.file, plan.line, installed) : [];
    return [`Installed ${file}`, ...(plan?.notes ?? []), ...added, `Open a new ${shell} to use it`];
  } catch (error) {
    if (before === '') rmSync(target, { force: true });
    else writeFileAtomically(target, before);
    if (!isSystemError(error)) throw error;
    throw new LocalError(`${describeSystemError(error)}: nothing was installed`, {
      cause: error,
      hint: `cloud completion ${shell} > ${installed}; and in ${plan?.file ?? ''}: ${plan?.line ?? ''}`,
    });
  }
}

/** Removes everything that `install` added; returns messages that say what was done. */
export function uninstall(shell: Shell, world: World): string[] {
  const file = listFiles(world)[shell];
  const installed = quoteShell(file);
  const plan = planLine(shell, world, installed);
  const done = plan ? removeLine(plan.file, installed) : [];
  if (existsSync(file)) {
    rmSync(file);
    done.push(`Removed ${file}`);
  }
  return done.length > 0 ? done : [`Completion for ${shell} was not installed`];
}
