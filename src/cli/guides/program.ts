/** Texts about all commands, for the manual and `cloud help`. */

/** Standard output, standard error and the output formats. */
export const outputHelp =
  'Standard output is data, standard error is talk: a pipe gets nothing but the result, never shortened or coloured. A table has a header; `-j` is JSON, `-o jsonl` one record a line as it arrives, `-o name` one identifier a line. The data formats have exact values under the names of the services.';

/** Exit codes with their meanings. */
export const exitCodeHelp: readonly (readonly [string, string])[] = [
  ['0', 'Done. Also when a pipe was closed early, and for an empty list.'],
  ['1', 'Failed.'],
  ['2', 'The command line, a profile or an input file is wrong; nothing was sent. Also when a question was answered with no.'],
  ['3', 'Not found.'],
  ['4', 'Not authenticated or not allowed.'],
  ['5', 'Some of several items failed; each was reported.'],
  ['6', 'Waited too long.'],
  [
    '130',
    'Interrupted by SIGINT. The program ends by the signal itself, as by SIGTERM (143 in a shell) and SIGHUP (129), after it has tidied up.',
  ],
];

/** Files with their contents. */
export const fileHelp: readonly (readonly [string, string])[] = [
  ['~/.config/cloud', 'Profiles, and which one is current; `XDG_CONFIG_HOME` moves it.'],
  ['~/.local/state/cloud', 'What was learnt or left unfinished, such as interrupted uploads; `XDG_STATE_HOME` moves it.'],
  ['~/.cache/cloud', 'What can be fetched again; `XDG_CACHE_HOME` moves it.'],
  ['~/.local/share/cloud/local', 'Data of the local service; `XDG_DATA_HOME` moves it.'],
  ['~/.ssh', 'Keys that sign requests, beside those of the ssh-agent.'],
];
