import type { Catalogue, ImageUpload } from '../../../api/catalogue.ts';
import { LocalError } from '../../../base/errors.ts';
import { command, type Context } from '../../../cli/command.ts';
import { flag, one, type Values } from '../../../cli/parameters.ts';
import { confirm } from '../../../cli/prompt.ts';
import { showChanges, showDiff } from '../../rbac/show.ts';
import { pruneHelp } from '../../rbac/words.ts';
import { bytesOptions, readBytes } from '../bytes-place.ts';
import { databaseOptions, readDatabase } from '../engines.ts';
import { checkUploads, listUploads, readUpload } from './files.ts';
import { planCatalogue, type CatalogueChange } from './plan.ts';
import { readCatalogue } from './read.ts';
import { countOf } from '../../../base/count.ts';

const fileHelp = 'Document, YAML or JSON; - for stdin';

const documentHelp =
  'The document has a version ("1") and any of these parts: datacenters and services, each a record of URLs by name; packages (name, version, memory, disk, vcpus ...); images, the public ones (name, version, os, type, state, description, origin, requirements, tags, file ...); limits of accounts (account, by, value ...). Packages and images are found by their id, or by name and version. A part or a field that is absent is left alone. file says of the file of an image its compression, sha1 and size; where it has a path too, from the document on, apply stores the file beside the contents of the gateways (--bytes), unless the cloud has it. Of the services compute and storage and of its own datacenter a gateway tells its own addresses: --prune leaves these.';

/** Plans the changes for a document and checks the files that they need. */
async function planFor(
  context: Context & { readonly options: Values<typeof databaseOptions> & { prune: boolean } },
  file: string,
): Promise<{ document: Catalogue; database: string; changes: CatalogueChange[] }> {
  const { options, world } = context;
  const document = await readCatalogue(world, file);
  const database = await readDatabase(context, options);
  const { readCatalogueState } = await import('../../../server/cluster/catalogue.ts');
  const changes = planCatalogue(document, await readCatalogueState(database), options.prune);
  await checkUploads(world, file, listUploads(changes));
  return { document, database, changes };
}

export const diff = command({
  summary: 'Show what would change if a document of the cloud were applied',
  description: documentHelp,
  arguments: { file: one(fileHelp, { values: 'file' }) },
  options: { ...databaseOptions, prune: flag(pruneHelp), exitCode: flag('Exit with 1 when something would change') },
  run: async (invocation) => {
    const { args, options } = invocation;
    const { changes } = await planFor(invocation, args.file);
    return await showDiff(invocation, changes, options.exitCode, 'the cloud');
  },
  examples: [
    { line: 'cloud server diff cloud.yaml --database-file /etc/cloud/database', help: 'What apply would do' },
    {
      line: 'cloud server diff cloud.yaml --database-file /etc/cloud/database --prune --exit-code -q',
      help: 'For scripts: 1 when something differs',
    },
  ],
});

export const apply = command({
  summary: 'Change the cloud so that it has what a document says',
  description: `Does what cloud server diff shows, all of it in one transaction, while gateways run. What a part does not mention is deleted with --prune only, after a question. Applied again, nothing is left to change.\n${documentHelp}`,
  arguments: { file: one(fileHelp, { values: 'file' }) },
  options: {
    ...databaseOptions,
    ...bytesOptions,
    prune: flag(pruneHelp),
    dryRun: flag('Only show what would be done'),
    yes: flag('Do not ask before deleting', { short: 'y' }),
  },
  run: async (invocation) => {
    const { args, options, world, note } = invocation;
    const { document, database, changes } = await planFor(invocation, args.file);
    if (changes.length === 0) note('Nothing to change');
    if (options.dryRun || changes.length === 0) return await showChanges(invocation, changes);
    const uploads = listUploads(changes);
    const bytes = uploads.length === 0 ? undefined : await readBytes(invocation, options);
    const deletions = changes.filter(({ action }) => action === 'delete').map(({ kind, name }) => `${kind} ${name}`);
    if (deletions.length > 0 && !options.yes) await confirm(world, `Delete ${deletions.join(', ')}?`);
    const { changeCatalogue } = await import('../../../server/cluster/catalogue.ts');
    const read = (upload: ImageUpload): AsyncGenerator<Uint8Array> => readUpload(world, args.file, upload);
    const files = bytes !== undefined && { files: { bytes, uploads, read, pid: world.pid } };
    await changeCatalogue({ database, now: world.now(), ...files }, (state) => {
      const now = planCatalogue(document, state, options.prune);
      if (JSON.stringify(now) === JSON.stringify(changes)) return now.map(({ step }) => step);
      throw new LocalError('the cloud was changed by somebody else in the meantime: nothing was done', { hint: 'run the command again' });
    });
    note(`${countOf(changes.length, 'change')} done`);
    return await showChanges(invocation, changes);
  },
  examples: [
    { line: 'cloud server apply cloud.yaml --database-file /etc/cloud/database --dry-run', help: 'What would be done' },
    {
      line: 'cloud server apply cloud.yaml --database-file /etc/cloud/database --prune --yes',
      help: 'Make the cloud exactly as the document, without a question',
    },
  ],
});
