import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomically } from '../../config/files.ts';
import { isSystemError } from '../../errors.ts';
import { quoteShell } from '../../quote.ts';
import type { World } from '../../world.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

/** Where the package bash-completion is, on the systems that have it. */
const bashCompletion = [
  '/usr/share/bash-completion/bash_completion',
  '/etc/bash_completion',
  '/usr/local/share/bash-completion/bash_completion',
  '/opt/homebrew/share/bash-completion/bash_completion',
  '/usr/local/etc/profile.d/bash_completion.sh',
  '/opt/homebrew/etc/profile.d/bash_completion.sh',
];

/** A folder that an XDG variable names, or its default below the home folder. */
function findFolder({ env, home }: World, variable: string, fallback: string): string {
  const value = env[variable];
  return value?.startsWith('/') === true ? value : join(home, fallback);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return '';
    throw error;
  }
}

/** Adds a line to a shell's own set-up, unless it is there; says so. */
function addLine(file: string, line: string): string[] {
  const text = readText(file);
  if (text.split('\n').includes(line)) return [];
  appendFileSync(file, `${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`, { mode: 0o600 });
  return [`Added to ${file}: ${line}`];
}

/** Puts a completion script where the user's shell reads it; returns what was done, in words. */
export function install(shell: Shell, script: string, world: World): string[] {
  const data = findFolder(world, 'XDG_DATA_HOME', '.local/share');
  const files: Readonly<Record<Shell, string>> = {
    bash: join(data, 'bash-completion/completions/cloud'),
    zsh: join(data, 'cloud/completion.zsh'),
    fish: join(findFolder(world, 'XDG_CONFIG_HOME', '.config'), 'fish/completions/cloud.fish'),
  };
  const file = files[shell];
  writeFileAtomically(file, script);
  const lines = [`Installed ${file}`];
  if (shell === 'bash' && !bashCompletion.some((path) => existsSync(path)))
    lines.push(...addLine(join(world.home, '.bashrc'), `source ${quoteShell(file)}`));
  if (shell === 'zsh') {
    const start = '(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }';
    lines.push(...addLine(join(world.env['ZDOTDIR'] ?? world.home, '.zshrc'), `${start}; source ${quoteShell(file)}`));
  }
  return [...lines, `Open a new ${shell} to use it`];
}
