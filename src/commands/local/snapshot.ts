import { command, group } from '../../cli/command.ts';
import { one } from '../../cli/parameters.ts';
import { record, records } from '../../output/kinds.ts';
import { control, controlledDataOf, controlOption } from './control.ts';
import { changeState, checkData, isServed } from './state.ts';

const columns = ['name', { key: 'created', as: 'time' }, 'objects', { key: 'size', as: 'size' }] as const;

const create = command({
  summary: 'Keep what the services hold under a name',
  description:
    'Everything at one moment: accounts, keys, users, images, jobs, objects. It works while requests run: none fails, and writes wait while the database is copied. Contents of objects are shared by hard links, not copied.',
  arguments: { name: one('Name of the snapshot') },
  options: controlOption,
  run: async (invocation) => {
    const { args, options, world } = invocation;
    const dataDir = controlledDataOf(invocation, options.data);
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
    { line: 'cloud local snapshot create ready', help: 'After a test has put in what all of them need' },
    { line: 'cloud local snapshot create ready --data ./data', help: 'Of a service with its own data, whether it runs or not' },
  ],
});

const list = command({
  summary: 'List the snapshots of the services, the oldest first',
  options: controlOption,
  run: async (invocation) => {
    const { listSnapshots } = await import('../../server/store/snapshots.ts');
    const dataDir = controlledDataOf(invocation, invocation.options.data);
    return records(listSnapshots(dataDir), { id: 'name', columns });
  },
  examples: [
    { line: 'cloud local snapshot list', help: 'With the objects and bytes in each' },
    { line: 'cloud local snapshot list -o name', help: 'Names alone' },
  ],
});

const restore = command({
  summary: 'Give the services back what a snapshot holds',
  description:
    'What they hold now is lost: make a snapshot of it first where it is needed. It works while the services run: requests wait for it, those under way have 5 seconds to finish. Connections, addresses, clock and faults stay.',
  arguments: { name: one('Name of the snapshot') },
  options: controlOption,
  run: async (invocation) => {
    const { args, options, world, note } = invocation;
    const dataDir = controlledDataOf(invocation, options.data);
    checkData(dataDir);
    if (await isServed(world, dataDir)) await control(dataDir, 'restore', { name: args.name });
    else {
      const { restoreAtRest } = await import('../../server/store/snapshots.ts');
      await restoreAtRest(dataDir, args.name);
    }
    note(`Restored snapshot ${args.name}`);
    return undefined;
  },
  examples: [
    { line: 'cloud local snapshot restore ready', help: 'Before each test, so that it finds what it needs and nothing else' },
    { line: 'cloud local snapshot restore ready --data ./data', help: 'Of a service with its own data, whether it runs or not' },
  ],
});

const remove = command({
  summary: 'Delete a snapshot',
  description: 'Contents that the services or other snapshots hold as well stay.',
  arguments: { name: one('Name of the snapshot') },
  options: controlOption,
  run: async (invocation) => {
    const { args, options, note } = invocation;
    const { deleteSnapshot } = await import('../../server/store/snapshots.ts');
    const dataDir = controlledDataOf(invocation, options.data);
    checkData(dataDir);
    deleteSnapshot(dataDir, args.name);
    note(`Deleted snapshot ${args.name}`);
    return undefined;
  },
  examples: [
    { line: 'cloud local snapshot delete ready', help: 'Its room on the disk is free then' },
    { line: 'cloud local snapshot delete ready --data ./data', help: 'Of a service with its own data' },
  ],
});

export const snapshot = group({
  summary: 'Keep and give back all that the services hold',
  description:
    'Snapshots are in the data directory of the services, and go with it. cloud local fork --snapshot and cloud local run --snapshot start others from one.',
  commands: { create, list, restore, delete: remove },
});
