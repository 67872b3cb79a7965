import { group, type Group } from '../../cli/command.ts';
import { loadVerbs, verbs } from './verbs.ts';

/** @param verb the command to load alone: `stor ls` needs half of the code of all commands */
export async function loadStor(verb?: string): Promise<Group> {
  return group({
    summary: 'Directories and objects of the object storage',
    description:
      'A relative path such as logs/a.gz is below /LOGIN/stor; /login/stor/logs/a.gz is absolute, and ~~ is the account: ~~/public/a. cp, sync and diff also take local paths: there, stor:logs/a.gz is in the object storage. Commands that only read expand the patterns *, ? and ** (quoted, to protect them from the shell); others take paths literally. --glob also expands [a-z] and {a,b}; --literal expands none.',
    commands: await loadVerbs(verbs, verb),
  });
}
