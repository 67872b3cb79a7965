import type { Catalogue, ImageUpload } from '../../../api/catalogue.ts';
import { countOf } from '../../../base/count.ts';
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

const fileHelp = 'Document, YAML or JSON; - for stdin';

const documentHelp =
  'The document has a version ("1") and any of these parts: datacenters and services, each with URLs by name; packages (name, version, memory, disk, vcpus ...); public images (name, version, os, type, state, description, origin, requirements, tags, file ...); limits of accounts (account, by, value ...). Packages and images are matched by id, or by name and version. Missing parts and fields are left unchanged. The file of an image has compression, sha1 and size. If it also has a path, relative to the document, apply stores the file with the contents of the gateways (--bytes) unless it is already stored. Each gateway reports its own addresses for the services compute and storage and for its datacenter; --prune keeps these.';

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
  summary: 'Show the changes that applying a document would make',
  description: documentHelp,
  arguments: { file: one(fileHelp, { values: 'file' }) },
  options: { ...databaseOptions, prune: flag(pruneHelp), exitCode: flag('Exit with 1 if there are changes') },
  run: async (invocation) => {
    const { args, options } = invocation;
    const { changes } = await planFor(invocation, args.file);
    return await showDiff(invocation, changes, options.exitCode, 'the cloud');
  },
  examples: [
    { line: 'cloud server diff cloud.yaml --database-file /etc/cloud/database', help: 'Show what apply would do' },
    {
      line: 'cloud server diff cloud.yaml --database-file /etc/cloud/database --prune --exit-code -q',
      help: 'For scripts: exit with 1 if there are changes',
    },
  ],
});

export const apply = command({
  summary: 'Apply a document to the cloud',
  description: `Makes the changes that cloud server diff shows in one transaction, while gateways run. Deletes entries that the document does not contain only with --prune, after confirmation. Applying a document again changes nothing.\n${documentHelp}`,
  arguments: { file: one(fileHelp, { values: 'file' }) },
  options: {
    ...databaseOptions,
    ...bytesOptions,
    prune: flag(pruneHelp),
    dryRun: flag('Only show the changes, and check where files would be stored', { short: 'n' }),
    yes: flag('Do not ask before deleting', { short: 'y' }),
  },
  run: async (invocation) => {
    const { args, options, world, note } = invocation;
    const { document, database, changes } = await planFor(invocation, args.file);
    if (changes.length === 0) {
      note('Nothing to change');
      return await showChanges(invocation, changes);
    }
    const uploads = listUploads(changes);
    const bytes = uploads.length === 0 ? undefined : await readBytes(invocation, options);
    if (options.dryRun) {
      if (bytes !== undefined) {
        const { checkContents } = await import('../../../server/cluster-contents.ts');
        await checkContents({ database, bytes });
      }
      return await showChanges(invocation, changes);
    }
    const deletions = changes.filter(({ action }) => action === 'delete').map(({ kind, name }) => `${kind} ${name}`);
    if (deletions.length > 0 && !options.yes) await confirm(world, `Delete ${deletions.join(', ')}?`);
    const { changeCatalogue } = await import('../../../server/cluster/catalogue.ts');
    const read = (upload: ImageUpload): AsyncGenerator<Uint8Array> => readUpload(world, args.file, upload);
    const files = bytes !== undefined && { files: { bytes, uploads, read, pid: world.pid } };
    const known = new Set(changes.map((change) => JSON.stringify(change)));
    let done: readonly CatalogueChange[] = [];
    await changeCatalogue({ database, now: world.now(), ...files }, (state) => {
      done = planCatalogue(document, state, options.prune);
      // Others may have made some or all of the changes, for example by applying the same document.
      if (done.every((change) => known.has(JSON.stringify(change)))) return done.map(({ step }) => step);
      throw new LocalError('the cloud was changed meanwhile; nothing was applied', { hint: 'run the command again' });
    });
    note(done.length === 0 ? 'Nothing to change: others have made the changes meanwhile' : `${countOf(done.length, 'change')} done`);
    return await showChanges(invocation, done);
  },
  examples: [
    { line: 'cloud server apply cloud.yaml --database-file /etc/cloud/database --dry-run', help: 'Show the changes' },
    {
      line: 'cloud server apply cloud.yaml --database-file /etc/cloud/database --prune --yes',
      help: 'Make the cloud match the document exactly, without asking',
    },
  ],
});
