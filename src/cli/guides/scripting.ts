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
        'With `--jq` an expression of jq, which need not be installed, makes something else of the JSON: text is written without quotes, anything else as JSON on one line, as by `jq -rc`. Variables of the environment are there as `env.NAME`. It is applied to all of the output, and with `-o jsonl` to each record as it arrives. A wrong expression is an error of usage, and found before anything is done.',
        'Lists are JSON arrays, single things JSON objects; fields have the names of the service. An empty list is `[]`. In CSV and TSV, lists and objects inside a cell are JSON; in TSV, `\\t`, `\\n`, `\\r` and `\\\\` stand for tabs, line ends and backslashes.',
      ],
    },
    { title: 'Exit status', blocks: [{ terms: exitCodeHelp }] },
    {
      title: 'Errors',
      blocks: [
        'An error is one line on standard error, perhaps followed by a hint. With JSON output it is one JSON object with `code`, `message`, and where there are any `status`, `requestId` and `hint`.',
        { lines: ['cloud keys get nobody -j 2>&1 >/dev/null | jq -r .code'] },
        'Everything else on standard error is a JSON object on a line of its own then, too: `{"note":...}` for what `--quiet` silences, `{"warning":...}` for what it does not, `{"trace":...}` for a line of `--verbose`.',
      ],
    },
    {
      title: 'Without a terminal',
      blocks: [
        'Nothing is asked where there is no terminal: deleting needs `--yes`, a password comes from `--password-stdin` or `--password-file`, a passphrase from the ssh-agent. Progress is shown on terminals only.',
        { lines: ['cloud keys list -o name | xargs -r cloud keys delete --dry-run'] },
      ],
    },
    {
      title: 'Settings',
      blocks: [
        'Everything that a profile says can be said by environment variables: `CLOUD_URL`, `CLOUD_STOR_URL`, `CLOUD_ACCOUNT`, `CLOUD_KEY_ID`, `CLOUD_KEY_FILE`. `cloud env` prints those of a profile; `cloud profile get --explain` says where each value comes from.',
        { lines: ['eval "$(cloud env)"', 'cloud profile get --explain'] },
        'A script asks for the form that it reads (`-o`, `-j`, `--jq`): a profile, or `CLOUD_OUTPUT` and `CLOUD_COLUMNS`, can give lists and records another form where the line gives none. Errors, notes and commands that print nothing are not concerned. A relative file of a key is below the current directory in an option or variable, and beside the profile in a profile; `~` is the home directory.',
      ],
    },
    {
      title: 'Many at once',
      blocks: [
        'Where several things are named, all are tried; each failure is reported, and the exit status is 5. Listings stream: `-o jsonl` writes each record when it arrives, in constant memory.',
        { lines: ["cloud stor find logs --type object -o jsonl --jq 'select(.size > 1e6).path'"] },
      ],
    },
    {
      title: 'Names',
      blocks: [
        'Names of objects are chosen by others: a script hands them on as arguments, never as text of a command. `cloud stor find --exec` does: `{}` as an argument of its own, `"$1"` and `$CLOUD_PATH` are the path. What reads its arguments as a command again (`eval`, `sh -c`, `ssh`) must not get it.',
        { lines: [`cloud stor find logs --type f --exec 'printf "%s\\n" "$1"'`] },
        'What changes or removes takes a path as the name that it is, whatever characters it has: patterns need `--glob`, and `--yes` does not make a name one. What reads (`get`, `cat`, `ls`, `stat`, `cp`, inputs of jobs) expands `*`, `?` and `**` where nothing has that name; `--literal` turns that off. Lists of `--paths-from`, and inputs of jobs from standard input, are names. `stor rm -f` takes what is gone for deleted, so that a script can run twice.',
        { lines: ['cloud stor find logs --older 90d --type f -0 | cloud stor rm -yf --paths-from -'] },
      ],
    },
    {
      title: 'Signals',
      blocks: [
        'SIGINT, SIGTERM and SIGHUP end a command by that signal, after temporary files are removed; large uploads and downloads go on when the command is run again. SIGHUP, which a closed terminal sends, is ignored where none of standard input, output and error is a terminal, as under `nohup`. SIGINT is ignored where the shell that starts the command ignores it (`trap \'\' INT`). `CLOUD_IGNORE_SIGNALS` names others: `CLOUD_IGNORE_SIGNALS="HUP INT"`.',
        { lines: ['nohup cloud stor put -r photos pictures > upload.log 2>&1'] },
        'In the background of a shell with job control (`cloud ... &`, or Ctrl-Z and `bg`) no progress is drawn and no pager is started, so that a command is stopped only when it has to ask something: `--yes` answers. Under `stty tostop` whatever is written to the terminal stops it.',
      ],
    },
    {
      title: 'Time limits',
      blocks: [
        '`--timeout` is the longest silence of the service, `--max-time` the longest request, `--retries` how often a failed request is tried again where that is safe. A service from which nothing comes for that long is not asked again, and the command ends. Requests that might have been carried out already are tried again only when carrying them out twice does no harm.',
        { lines: ['cloud ping --timeout 5s --retries 0'] },
      ],
    },
  ],
};
