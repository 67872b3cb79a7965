import type { Guide } from './guide.ts';

/** The programs that tasks of jobs find on their PATH. */
export const jobTools: Guide = {
  page: 'cloud-job-tools',
  topic: 'job-tools',
  summary: 'programs for tasks: several outputs, named outputs, reducers, sums',
  sections: [
    {
      title: 'Description',
      blocks: [
        'The standard output of a task is its output. With these tools a task can write several outputs, name them, send them to a reducer of the next phase, or emit existing objects. When a task uses `mpipe`, `mcat` or `msplit`, their outputs replace its standard output. `~~` at the start of a path means `/LOGIN` of the account. Outputs are stored when the task exits with 0; a failed task leaves none.',
        {
          lines: [
            "cloud jobs run --map 'wc -l | mpipe; wc -c <$MANTA_INPUT_FILE | mpipe' logs/a.txt",
            `cloud jobs run --map 'msplit -d " " -f 1 -n 2' --reduce 'maggr -c1=key -c2=sum' --count 2 counts.txt`,
          ],
        },
      ],
    },
    {
      title: 'mpipe: emit standard input as an output',
      blocks: [
        '`mpipe [-p] [-r REDUCER] [-f FILE] [-c COPIES] [-H "NAME: VALUE"]... [PATH]`',
        {
          terms: [
            [
              'PATH',
              'Store the output at this path with the permissions of the creator of the job, replacing an existing object. Default: a unique name in the directory of the job.',
            ],
            ['-p', 'Create missing parent directories.'],
            ['-r REDUCER', 'Send the output to this reducer of the next phase, counted from 0. Default: reducers take turns.'],
            ['-f FILE', 'Read a file instead of standard input.'],
            ['-c COPIES', 'Number of copies of a named object.'],
            ['-H "NAME: VALUE"', 'Set a header of a named object: its content type, `m-` headers.'],
          ],
        },
      ],
    },
    {
      title: 'mtee: store standard input and pass it on',
      blocks: [
        '`mtee [-p] [-f FILE] [-c COPIES] [-H "NAME: VALUE"]... PATH` stores standard input as an object, then writes it to standard output. The object is not an output of the task; standard output is captured as usual.',
      ],
    },
    {
      title: 'mcat: emit existing objects',
      blocks: [
        '`mcat [-r REDUCER] PATH...` emits objects by name, without reading them: as inputs of the next phase, or as outputs of the job. When the next phase reads an object, it checks that the object exists and may be read, with the permissions of the creator of the job and of the user who added the input.',
        { lines: ["cloud jobs run --map 'xargs mcat' --map wc list-of-logs.txt"] },
      ],
    },
    {
      title: 'msplit: distribute lines to reducers',
      blocks: [
        '`msplit [-n REDUCERS] [-d DELIMITER] [-f FIELDS] [-i] [-j] [-e JAVASCRIPT]` sends each line of standard input to a reducer of the next phase. All tasks send lines with the same key to the same reducer.',
        {
          terms: [
            ['-n REDUCERS', 'Number of reducers. Default: all of the next phase.'],
            [
              '-f FIELDS',
              'Key fields, separated by commas: numbers from 1 (default 1), or member names with `-j`. Fields missing from a line are skipped.',
            ],
            ['-d DELIMITER', 'Field separator. Default: a tab.'],
            ['-j', 'Lines are JSON objects; `a.b` names a member of a member.'],
            ['-i', 'Use the key as the number of the reducer, from 0.'],
            [
              '-e JAVASCRIPT',
              'Body of a function of `line`, or of `this` with `-j`, that returns the key. An expression needs no `return`. Requires Node.js on the PATH of the task.',
            ],
          ],
        },
      ],
    },
    {
      title: 'maggr: aggregate columns',
      blocks: [
        '`maggr [-c COLUMN=OPERATIONS]... [-d DELIMITER] [-o DELIMITER] [-i DELIMITER] [-f FILE] [OPERATIONS]` prints a line for each key. OPERATIONS are separated by commas. OPERATIONS after the options apply to the columns without `-c`; if there are none, these columns are omitted. Without `-c`, a first column that is not a number is the key.',
        {
          terms: [
            ['key, nop', '`key` groups by this column; `nop` omits it.'],
            [
              'sum, count, min, max, mean, range, variance, stddev',
              'Aggregate the numbers of the column. A line with another value is skipped and reported on standard error, and the exit code is 1.',
            ],
            [
              '-d, -o, -i',
              'Separator of input columns (default: a space), of output columns (default: as in the input), and of several results of one column (default: a comma).',
            ],
            ['-l', 'List the operations.'],
          ],
        },
      ],
    },
    {
      title: 'Environment',
      blocks: [
        {
          terms: [
            ['CLOUD_OUTPUTS', 'Directory where the tools store outputs.'],
            ['CLOUD_REDUCERS', 'Number of reducers of the next phase; 0 when it is not a reduce phase.'],
          ],
        },
      ],
    },
    {
      title: 'Inputs, cancelling and counters',
      blocks: [
        'Inputs are lines, so an object whose name contains a newline cannot be an input; link it under another name with `cloud stor ln`. Cancelling a job kills its running tasks. Each of them becomes an error (`JobCancelledError`) and counts as done. Tasks that had not started count neither as done nor as errors; earlier results of a phase stay counted. So `tasksDone` of a cancelled job is less than `tasks` by the number of tasks that never ran.',
      ],
    },
  ],
};
