import type { Guide } from './guide.ts';

/** The programs that tasks of jobs find on their PATH. */
export const jobTools: Guide = {
  page: 'cloud-job-tools',
  topic: 'job-tools',
  summary: 'programs on the PATH of tasks: several outputs, named outputs, reducers, sums',
  sections: [
    {
      title: 'Description',
      blocks: [
        'The standard output of a task is its output. With these tools a task has several outputs, names them, sends them to a reducer of the next phase, or emits objects that exist already. When a task uses `mpipe`, `mcat` or `msplit`, what they emit takes the place of its standard output. `~~` at the beginning of a path stands for `/LOGIN` of the account. Outputs take effect when the task ends with 0: a task that fails leaves none.',
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
              'Store the output there, over what is there, with the rights of the creator of the job; a unique name in the directory of the job when absent.',
            ],
            ['-p', 'Create missing parent directories.'],
            ['-r REDUCER', 'Send the output to this reducer of the next phase, counted from 0; reducers take turns when absent.'],
            ['-f FILE', 'Read a file instead of standard input.'],
            ['-c COPIES', 'Number of copies of a named object.'],
            ['-H "NAME: VALUE"', 'Set a header of a named object: its content type, `m-` headers.'],
          ],
        },
      ],
    },
    {
      title: 'mtee: store what passes',
      blocks: [
        '`mtee [-p] [-f FILE] [-c COPIES] [-H "NAME: VALUE"]... PATH` stores standard input as an object, then writes it to standard output. The object is not an output of the task, and standard output is captured as ever.',
      ],
    },
    {
      title: 'mcat: emit objects that exist',
      blocks: [
        '`mcat [-r REDUCER] PATH...` emits objects by their names, without reading them: as inputs of the next phase, or as outputs of the job. Whether they exist and may be read is looked at when the next phase reads them, with the rights of the creator of the job and of whoever added the input.',
        { lines: ["cloud jobs run --map 'xargs mcat' --map wc list-of-logs.txt"] },
      ],
    },
    {
      title: 'msplit: distribute lines to reducers',
      blocks: [
        '`msplit [-n REDUCERS] [-d DELIMITER] [-f FIELDS] [-i] [-j] [-e JAVASCRIPT]` sends each line of standard input to a reducer of the next phase. Lines of the same key go to the same reducer, whichever task reads them.',
        {
          terms: [
            ['-n REDUCERS', 'Number of reducers; all of the next phase when absent.'],
            [
              '-f FIELDS',
              'Fields that are the key, separated by commas: numbers from 1 (1 when absent), or with `-j` names of members. A field that a line lacks is left out.',
            ],
            ['-d DELIMITER', 'Text between fields; a tab when absent.'],
            ['-j', 'Lines are JSON objects; `a.b` names a member of a member.'],
            ['-i', 'The key is the number of the reducer, from 0.'],
            [
              '-e JAVASCRIPT',
              'Body of a function of `line`, or with `-j` of `this`, that returns the key; an expression needs no `return`. Needs Node.js on the PATH of the task.',
            ],
          ],
        },
      ],
    },
    {
      title: 'maggr: aggregate columns',
      blocks: [
        '`maggr [-c COLUMN=OPERATIONS]... [-d DELIMITER] [-o DELIMITER] [-i DELIMITER] [-f FILE] [OPERATIONS]` prints a line for each key. OPERATIONS are separated by commas; those after the options are for the columns that `-c` does not name, which are left out when there are none. Without `-c` a first column that is not a number is the key.',
        {
          terms: [
            ['key, nop', 'Aggregate by this column; leave it out.'],
            [
              'sum, count, min, max, mean, range, variance, stddev',
              'Of the numbers of the column. A line whose value is not a number is left out, and told on standard error; the exit code is 1 then.',
            ],
            [
              '-d, -o, -i',
              'Text between columns of the input (a space), of the output (as of the input), and between results of one column (a comma).',
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
            ['CLOUD_OUTPUTS', 'Directory in which the tools leave outputs.'],
            ['CLOUD_REDUCERS', 'Number of reducers of the next phase; 0 when it is not a reduce.'],
          ],
        },
      ],
    },
    {
      title: 'Inputs, cancelling and counters',
      blocks: [
        'Inputs are lines: the path of an object whose name has a line end cannot be one; link such an object under another name with `cloud stor ln`. Cancelling a job kills its running tasks, each of which is an error (`JobCancelledError`) and counts as done; tasks that had not begun count neither as done nor as errors, and what a phase made before stays counted. So `tasksDone` of a cancelled job is less than `tasks` by what never ran.',
      ],
    },
  ],
};
