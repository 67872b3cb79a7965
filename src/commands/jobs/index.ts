import { group } from '../../cli/command.ts';
import { add, cancel, create, end, wait } from './control.ts';
import { run } from './run.ts';
import { errors, failures, get, inputs, list, outputs } from './show.ts';
import { watch } from './watch.ts';

export const jobs = group({
  summary: 'Compute jobs: shell commands that run on stored objects',
  description:
    'A job has phases. A map phase runs its command once for each input, with the object on stdin; a reduce phase runs its command on all inputs together. The stdout of a command becomes an object: the input of the next phase, or an output of the job.\nA job is given by its id, the first 8 or more characters of its id, or its name.',
  commands: { run, list, get, create, add, end, cancel, wait, watch, inputs, outputs, failures, errors },
});
