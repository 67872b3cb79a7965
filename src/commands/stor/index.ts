import { group } from '../../cli/command.ts';
import { run } from './run/index.ts';
import { verbs } from './verbs.ts';

export const stor = group({
  summary: 'Directories and objects of the object storage',
  description:
    'A relative path such as logs/a.gz is below /LOGIN/stor; /login/stor/logs/a.gz is absolute, and ~~ is the account: ~~/public/a. Commands that only read expand the patterns *, ? and **; quote them to protect them from the shell. Commands that change or delete take paths literally. --glob expands patterns, including [a-z] and {a,b}; --literal expands none.',
  commands: { ...verbs, run },
});
