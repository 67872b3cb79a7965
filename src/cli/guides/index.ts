import { optionTopics } from '../parameters.ts';
import { cluster } from './cluster.ts';
import type { Guide } from './guide.ts';
import { jobTools } from './job-tools.ts';
import { local } from './local.ts';
import { policies } from './policies.ts';
import { exitCodeHelp, fileHelp } from './program.ts';
import { scripting } from './scripting.ts';
import { signing } from './signing.ts';
import { testing } from './testing.ts';

/** The guides that are pages of the manual. */
export const guides: readonly Guide[] = [signing, policies, scripting, jobTools, local, testing, cluster];

/** The topics of `cloud help` besides commands: the guides, and parts of the program's own page. */
export const topics: readonly Guide[] = [
  ...guides,
  {
    page: 'cloud',
    topic: 'exit-codes',
    summary: 'The meaning of exit codes',
    sections: [{ title: 'Exit status', blocks: [{ terms: exitCodeHelp }] }],
  },
  {
    page: 'cloud',
    topic: 'files',
    summary: 'Where configuration, state and data are stored',
    sections: [{ title: 'Files', blocks: [{ terms: fileHelp }] }],
  },
];

/** Topics that are tables of options: the options of every command, and those that several commands share. */
export const tableTopics: Readonly<Record<string, string>> = { options: 'The options of every command', ...optionTopics };

/** All topics of `cloud help`, with their summaries. */
export const helpTopics: ReadonlyMap<string, string> = new Map([
  ...topics.map(({ topic, summary }): [string, string] => [topic, summary]),
  ...Object.entries(tableTopics),
]);
