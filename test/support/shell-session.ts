import { spawn, type ChildProcess } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

/** What a shell made of the keys that were typed. */
export interface Typed {
  /** The command line as it stood then. */
  line: string;
  /** What the shell printed meanwhile, without the prompts. */
  lines: string[];
}

/** A shell at a terminal of its own. */
export interface ShellSession {
  /** Presses keys (`\t` completes) and reads what came of it; the command line is empty afterwards. */
  type(keys: string): Promise<Typed>;
  close(): Promise<void>;
}

/** How each shell reports its command line at a key and completes without asking or paging. */
const shells = {
  bash: {
    start: 'bash --norc --noprofile -i',
    setUp: [
      `bind 'set show-all-if-ambiguous on'; bind 'set completion-query-items 0'; bind 'set page-completions off'; bind 'set enable-bracketed-paste off'`,
      `bind -x '"\\C-xm": printf "\\n<%s%s>>\\n" "<" "$READLINE_LINE"; READLINE_LINE='`,
      `PS1='@ '`,
    ],
  },
  zsh: {
    start: 'zsh -f -i',
    setUp: [
      `report() { zle -I; print -r -- $'\\n<'"<$BUFFER>>"; BUFFER= }; zle -N report; bindkey '^Xm' report`,
      `LISTMAX=10000; setopt no_beep no_prompt_cr no_prompt_sp; unset zle_bracketed_paste; bindkey '^I' complete-word`,
      // Whoever completes runs compinit when the functions are there.
      `autoload -U compinit`,
      `PS1='@ '`,
    ],
  },
  fish: {
    start: 'fish --no-config -i',
    setUp: [
      `function fish_prompt; echo -n '@ '; end; function fish_greeting; end; set -g fish_autosuggestion_enabled 0`,
      `function report; printf '\\n<%s%s>>\\n' '<' (commandline -b | string collect); commandline ''; end; bind \\cxm report`,
    ],
  },
} as const;

const end = /<<(.*)>>\r?\n/;

/** Reads from a terminal until a pattern comes, and returns all that came up to it. */
function createReader({ stdout }: ChildProcess, shell: string) {
  let seen = '';
  let wake = (): void => undefined;
  stdout?.on('data', (piece: Buffer) => {
    seen += piece.toString();
    wake();
  });
  return async (pattern: RegExp): Promise<RegExpExecArray> => {
    const deadline = Date.now() + 120_000;
    for (;;) {
      const found = pattern.exec(seen);
      if (found) {
        seen = seen.slice(found.index + found[0].length);
        return found;
      }
      if (Date.now() > deadline) throw new Error(`${shell} did not answer: ${JSON.stringify(seen)}`);
      await new Promise<void>((resume) => {
        const timer = setTimeout(resume, 1000);
        wake = () => {
          clearTimeout(timer);
          resume();
        };
      });
    }
  };
}

/** Starts a shell at a terminal, without the user's set-up, and runs lines in it. The terminal comes from `script` (util-linux). */
export async function openShell(
  shell: keyof typeof shells,
  { env, cwd, setUp }: { env: NodeJS.ProcessEnv; cwd: string; setUp: readonly string[] },
): Promise<ShellSession> {
  const { start, setUp: own } = shells[shell];
  const child = spawn('script', ['-qfec', start, '/dev/null'], { cwd, env: { ...env, TERM: 'dumb', SHELL: '/bin/sh' } });
  const closed = new Promise<void>((done) => child.on('close', () => done()));
  const readUntil = createReader(child, shell);
  const press = (keys: string): boolean => child.stdin.write(keys);
  for (const line of ['stty cols 200 rows 200', ...own, ...setUp, `printf '<%s' '<ready>>'; echo`]) press(`${line}\n`);
  await readUntil(/<<ready>>\r?\n/);
  return {
    type: async (keys) => {
      press(`${keys}\u0018m`);
      const found = await readUntil(end);
      const text = stripVTControlCharacters(found.input.slice(0, found.index)).replaceAll('\r', '\n');
      // A busy shell lets the terminal echo what is typed before its own prompt is there.
      const echo = keys.replace(/[\t\n].*/s, '').trim();
      const isEcho = (line: string): boolean => line.startsWith('@ ') || (echo !== '' && line.startsWith(echo));
      const lines = text.split('\n').filter((line) => line.trim() !== '' && !isEcho(line));
      return { line: found[1] ?? '', lines };
    },
    close: async () => {
      press('exit\n');
      const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
      await closed;
      clearTimeout(timer);
    },
  };
}
