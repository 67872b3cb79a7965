import type { Guide } from './guide.ts';
import { exitCodeHelp, outputHelp } from './program.ts';

/** What scripts can rely on. */
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
      title: 'Time limits',
      blocks: [
        '`--timeout` is the longest silence of the service, `--max-time` the longest request, `--retries` how often a failed request is tried again where that is safe. Requests that might have been carried out already are tried again only when carrying them out twice does no harm.',
        { lines: ['cloud ping --timeout 5s --retries 0'] },
      ],
    },
  ],
};
