import type { Guide } from './guide.ts';
import { exitCodeHelp, outputHelp } from './program.ts';

/** Guarantees for scripts. */
export const scripting: Guide = {
  page: 'cloud-scripting',
  topic: 'scripting',
  summary: 'what scripts can rely on',
  sections: [
    {
      title: 'Output',
      blocks: [
        outputHelp,
        {
          lines: [
            'cloud images list -o name',
            'cloud images list --jq \'.[] | select(.os == "linux") | .id\'',
            'cloud images list -H -o tsv --columns name,version',
            'cloud keys list -o csv --columns all > keys.csv',
          ],
        },
        '`--jq` filters JSON output with a jq expression; jq need not be installed. Text is printed without quotes, other values as JSON on one line, as by `jq -rc`. Environment variables are available as `env.NAME`. The expression applies to the whole output, and with `-o jsonl` to each record as it arrives. An invalid expression is a usage error, reported before anything is done.',
        'Lists are JSON arrays, single items JSON objects; fields have the names of the service. An empty list is `[]`. In CSV and TSV, lists and objects inside a cell are JSON. In TSV, `\\t`, `\\n`, `\\r` and `\\\\` stand for tabs, newlines and backslashes.',
      ],
    },
    { title: 'Exit status', blocks: [{ terms: exitCodeHelp }] },
    {
      title: 'Errors',
      blocks: [
        'An error is one line on standard error, possibly followed by a hint. With JSON output it is one JSON object with `code` and `message`, and where available `status`, `requestId` and `hint`.',
        { lines: ['cloud keys get nobody -j 2>&1 >/dev/null | jq -r .code'] },
        'With JSON output, each other line on standard error is a JSON object too: `{"note":...}` for messages that `--quiet` silences, `{"warning":...}` for those that it does not, `{"trace":...}` for a line of `--verbose`.',
      ],
    },
    {
      title: 'Without a terminal',
      blocks: [
        'Without a terminal, no command asks questions: deleting needs `--yes`, a password comes from `--password-stdin` or `--password-file`, a passphrase from the ssh-agent. Progress is shown only on terminals.',
        { lines: ['cloud keys list -o name | xargs -r cloud keys delete --dry-run'] },
      ],
    },
    {
      title: 'Settings',
      blocks: [
        'Environment variables can replace every setting of the current profile: `CLOUD_URL`, `CLOUD_STOR_URL`, `CLOUD_ACCOUNT`, `CLOUD_KEY_ID`, `CLOUD_KEY_FILE`. With `--profile NAME` they do not: service, user and key are those of the profile or of options, and variables set only limits, retries and output defaults that the profile lacks. `cloud env` prints those of a profile; `cloud profile get --explain` shows the source of each value.',
        { lines: ['eval "$(cloud env)"', 'cloud profile get --explain'] },
        'In scripts, always give the output format (`-o`, `-j`, `--jq`), because a profile, or `CLOUD_OUTPUT` and `CLOUD_COLUMNS`, can change the default format of lists and records. Errors, notes and commands without output are not affected. A relative key file in an option or variable is relative to the current directory, in a profile relative to the profile; `~` is the home directory.',
      ],
    },
    {
      title: 'Several items',
      blocks: [
        'A command with several items tries all of them, reports each failure, and exits with 5 if any failed. Listings stream: `-o jsonl` writes each record as it arrives, in constant memory.',
        { lines: ["cloud stor find logs --type object -o jsonl --jq 'select(.size > 1e6).path'"] },
      ],
    },
    {
      title: 'Names',
      blocks: [
        'Other people choose the names of objects, so pass names as arguments, never as part of a command text. `cloud stor find --exec` does this: `{}` as a separate argument, `"$1"` and `$CLOUD_PATH` are the path. Do not pass names to programs that parse their arguments as a command (`eval`, `sh -c`, `ssh`).',
        { lines: [`cloud stor find logs --type f --exec 'printf "%s\\n" "$1"'`] },
        'Commands that change or delete take a path literally, whatever characters it contains: patterns need `--glob`, and `--yes` does not change that. Commands that read (`get`, `cat`, `ls`, `stat`, `cp`, inputs of jobs) expand `*`, `?` and `**` if no object has exactly that name; `--literal` turns this off. Lines of `--paths-from`, and inputs of jobs from standard input, are literal names. `-o name` prints a name with control characters, or with a quotation mark at its beginning, in quotes with escapes, which `--paths-from` refuses: pass such names with `-0`. In all lists a CR before the line end and a byte order mark at the beginning are ignored, and a list that is not UTF-8 is refused. `stor rm -f` ignores objects that do not exist, so that a script can run twice.',
        { lines: ['cloud stor find logs --older 90d --type f -0 | cloud stor rm -yf --paths-from -'] },
      ],
    },
    {
      title: 'Signals',
      blocks: [
        'SIGINT, SIGTERM and SIGHUP end a command by that signal, after it has removed temporary files. To continue, run `cloud resume`; for a single object, run the command again, and for a tree, run it with `-T`: without, the tree would be stored inside the directory that the first run has created. A second signal ends the command at once. SIGHUP, which a closed terminal sends, is ignored when none of standard input, output and error is a terminal, as under `nohup`. SIGINT is ignored when the parent shell ignores it (`trap \'\' INT`). `CLOUD_IGNORE_SIGNALS` adds others: `CLOUD_IGNORE_SIGNALS="HUP INT"`.',
        { lines: ['nohup cloud stor put -r photos pictures > upload.log 2>&1'] },
        'In the background of a shell with job control (`cloud ... &`, or Ctrl-Z and `bg`) a command shows no progress and starts no pager, so that it stops only to ask a question; `--yes` answers. Under `stty tostop` any output to the terminal stops it.',
      ],
    },
    {
      title: 'Time limits',
      blocks: [
        '`--timeout` limits the time without data from the service, `--max-time` the duration of a request, and `--retries` the number of retries where a retry is safe. Time for which the command was stopped (Ctrl-Z), or the computer slept, does not count towards `--timeout`. After a timeout a request is not retried, and the command fails. Requests that may have been carried out are retried only if repeating them does no harm.',
        { lines: ['cloud ping --timeout 5s --retries 0'] },
      ],
    },
  ],
};
