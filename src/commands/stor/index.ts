import { group } from '../../cli/command.ts';
import { run } from './run/index.ts';
import { verbs } from './verbs.ts';

export const stor = group({
  summary: 'Directories and objects of the object storage',
  description:
    'A path such as logs/a.gz is below /LOGIN/stor; /login/stor/logs/a.gz is a whole path, and ~~ stands for the account: ~~/public/a. What reads expands patterns with *, ? and ** when they reach the program: quote them. What changes or removes takes names as they are; with --glob patterns, with [a-z] and {a,b} too. --literal takes names as they are everywhere.',
  commands: { ...verbs, run },
});
