/** Texts about all commands, for the manual and `cloud help`. */

/** Standard output, standard error and the output formats. */
export const outputHelp =
  'Standard output contains only data; messages go to standard error. In a pipe, output is never shortened or coloured. A table has a header; `-j` prints JSON, `-o jsonl` one record a line as it arrives, `-o name` one identifier a line. The data formats have exact values under the field names of the services.';

/** Exit codes with their meanings. */
export const exitCodeHelp: readonly (readonly [string, string])[] = [
  ['0', 'Success. Also when a pipe was closed early, and for an empty list.'],
  ['1', 'Failed.'],
  ['2', 'The command line, a profile or an input file is invalid; nothing was sent. Also when a confirmation was answered with no.'],
  ['3', 'Not found.'],
  ['4', 'Not authenticated or not allowed.'],
  ['5', 'Some of several items failed; each failure was reported.'],
  ['6', 'Timeout.'],
  [
    '130',
    'Interrupted by SIGINT. After cleaning up, the program ends by the signal itself, also for SIGTERM (143 in a shell) and SIGHUP (129).',
  ],
];

/** Files with their contents. */
export const fileHelp: readonly (readonly [string, string])[] = [
  ['~/.config/cloud', 'Profiles and the current profile; `XDG_CONFIG_HOME` changes the location.'],
  ['~/.local/state/cloud', 'State between runs, such as interrupted uploads; `XDG_STATE_HOME` changes the location.'],
  ['~/.cache/cloud', 'Cache; `XDG_CACHE_HOME` changes the location.'],
  ['~/.local/share/cloud/local', 'Data of the local service; `XDG_DATA_HOME` changes the location.'],
  ['~/.ssh', 'Keys that sign requests, in addition to those of the ssh-agent.'],
];
