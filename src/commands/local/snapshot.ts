import type { SnapshotInfo } from '../../api/control.ts';
import { command, group } from '../../cli/command.ts';
import { one } from '../../cli/parameters.ts';
import { wantsRows } from '../../cli/rows.ts';
import { listKeys } from '../../cli/shapes.ts';
import { record, records } from '../../output/kinds.ts';
import { control } from './control.ts';
import { dataDirOf, dataOption } from './service.ts';
import { changeState, checkData, isServed } from './state.ts';

const columns = ['name', { key: 'created', as: 'time' }, 'objects', { key: 'size', as: 'size' }] as const;

/** All fields of a snapshot, so that unknown ones are refused before a change. */
const changing = { fields: listKeys(columns), changes: true } as const;

const create = command({
  ...changing,
  summary: 'Save the state of the services under a name',
  description:
    'Saves accounts, keys, users, images, jobs and objects at one point in time. No request fails meanwhile; writes wait while the database is copied. Object contents are shared by hard links, not copied.',
  arguments: { name: one('Name of the snapshot') },
  options: dataOption,
  run: async (invocation) => {
    const { args, options, world } = invocation;
    const dataDir = dataDirOf(invocation, options.data);
    const made = await changeState(world, dataDir, {
      name: 'snapshot',
      input: { name: args.name },
      atRest: async (store) => {
        const { createSnapshot } = await import('../../server/store/snapshots.ts');
        return await createSnapshot(store, dataDir, args.name, world.now());
      },
    });
    return record(made, { id: 'name', columns });
  },
  examples: [
    { line: 'cloud local snapshot create ready', help: 'Save the common data of tests' },
    { line: 'cloud local snapshot create ready --data ./data', help: 'Services with their own data, running or stopped' },
  ],
});

const list = command({
  summary: 'List the snapshots, the oldest first',
  options: dataOption,
  run: async (invocation) => {
    const { listSnapshots } = await import('../../server/store/snapshots.ts');
    const dataDir = dataDirOf(invocation, invocation.options.data);
    return records(listSnapshots(dataDir), { id: 'name', columns });
  },
  examples: [
    { line: 'cloud local snapshot list', help: 'With the objects and bytes in each' },
    { line: 'cloud local snapshot list -o name', help: 'Names only' },
  ],
});

/** The snapshot of a name, as a list; empty if there is none. */
async function findSaved(dataDir: string, name: string): Promise<SnapshotInfo[]> {
  const { listSnapshots } = await import('../../server/store/snapshots.ts');
  return listSnapshots(dataDir).filter((each) => each.name === name);
}

const restore = command({
  ...changing,
  summary: 'Restore the services from a snapshot',
  description:
    'The current state is lost; save it in a snapshot first if you need it. A damaged snapshot is refused before anything is changed; the current state may be damaged. Works while the services run: new requests wait, and requests in progress have 5 seconds to finish. Connections, addresses, clock and faults stay.',
  arguments: { name: one('Name of the snapshot', { values: 'snapshot' }) },
  options: dataOption,
  run: async (invocation) => {
    const { args, options, world, note } = invocation;
    const dataDir = dataDirOf(invocation, options.data);
    const [saved] = await findSaved(dataDir, args.name);
    // What is restored need not be there.
    if (saved === undefined) checkData(dataDir);
    if (await isServed(world, dataDir)) await control(dataDir, 'restore', { name: args.name });
    else {
      const { restoreAtRest } = await import('../../server/store/snapshots.ts');
      await restoreAtRest(dataDir, args.name);
    }
    note(`Restored snapshot ${args.name}`);
    return wantsRows(invocation) && saved !== undefined ? record(saved, { id: 'name', columns }) : undefined;
  },
  examples: [
    { line: 'cloud local snapshot restore ready', help: 'Before each test, for the same initial state' },
    { line: 'cloud local snapshot restore ready --data ./data', help: 'Services with their own data, running or stopped' },
  ],
});

const remove = command({
  ...changing,
  summary: 'Delete a snapshot',
  description: 'Contents that the services or other snapshots use stay.',
  arguments: { name: one('Name of the snapshot', { values: 'snapshot' }) },
  options: dataOption,
  run: async (invocation) => {
    const { args, options, note } = invocation;
    const { deleteSnapshot } = await import('../../server/store/snapshots.ts');
    const dataDir = dataDirOf(invocation, options.data);
    checkData(dataDir);
    const saved = await findSaved(dataDir, args.name);
    await deleteSnapshot(dataDir, args.name);
    note(`Deleted snapshot ${args.name}`);
    return wantsRows(invocation) ? records(saved, { id: 'name', columns }) : undefined;
  },
  examples: [
    { line: 'cloud local snapshot delete ready', help: 'Free its disk space' },
    { line: 'cloud local snapshot delete ready --data ./data', help: 'Services with their own data' },
  ],
});

export const snapshot = group({
  summary: 'Save and restore the state of the services',
  description:
    'Snapshots are in the data directory of the services and are deleted with it. cloud local fork --snapshot and cloud local run --snapshot start other services from a snapshot.',
  commands: { create, list, restore, delete: remove },
});
