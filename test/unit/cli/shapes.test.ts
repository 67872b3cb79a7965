import { expect, test } from 'vitest';
import { findNamed } from '../../../src/cli/named.ts';
import { deleteCommand } from '../../../src/cli/shapes.ts';
import { NotFoundError, PartialError } from '../../../src/base/errors.ts';

type Delete = ReturnType<typeof deleteCommand>;

/** A command over a list of three, and what it does. */
function createDelete(shownFor = 0): { remove: Delete; log: string[] } {
  const log: string[] = [];
  let asked = 0;
  const remove = deleteCommand({
    summary: 'Delete letters',
    argument: 'letter',
    help: 'A letter',
    noun: 'letter',
    read: () => {
      log.push('read');
      return ['a', 'b', 'c'];
    },
    resolve: (listed, name) => {
      if (!listed.includes(name)) throw new NotFoundError(`letter "${name}" does not exist`);
      return { id: name, label: name };
    },
    remove: async (_context, id) => log.push(`remove ${id}`),
    isShown: async (_context, ids) => {
      log.push(`shown ${ids.join()}`);
      asked += 1;
      return asked <= shownFor;
    },
  });
  return { remove, log };
}

async function run({ run: start }: Delete, letter: string[], given: object, log: string[]): Promise<unknown> {
  const context = {
    args: { letter },
    options: { yes: true, dryRun: false, wait: false, waitTimeout: undefined, ...given },
    global: { quiet: true },
    world: { now: Date.now, interrupted: new AbortController().signal, stderr: { isTerminal: false }, env: {} },
    note: (message: string) => log.push(message),
    fail: async (error: Error) => log.push(error.message),
  };
  return await start(context as never).catch((error: unknown) => error);
}

test('what several names mean is looked up in one list', async () => {
  const { remove, log } = createDelete();
  expect(await run(remove, ['a', 'b', 'a', 'd'], {}, log)).toBeInstanceOf(PartialError);
  expect(log).toEqual(['read', 'letter "d" does not exist', 'remove a', 'Deleted letter a', 'remove b', 'Deleted letter b']);
});

test('with --dry-run nothing is asked or deleted, and what does not exist is told', async () => {
  const { remove, log } = createDelete();
  expect(await run(remove, ['a', 'd'], { dryRun: true, yes: false }, log)).toBeInstanceOf(PartialError);
  expect(log).toEqual(['read', 'letter "d" does not exist', 'Would delete letter a']);
});

test('with --wait it waits until reads are without what was deleted', async () => {
  const { remove, log } = createDelete(2);
  expect(await run(remove, ['a', 'c'], { wait: true }, log)).toBeUndefined();
  expect(log.slice(-3)).toEqual(['shown a,c', 'shown a,c', 'shown a,c']);
});

test('the beginning of an id that begins two is ambiguous, and both are named', () => {
  const things = ['11111111-0000', '11111111-2222', '33333333-0000'].map((id, at) => ({ id, name: `thing${at}` }));
  expect(findNamed(things, '33333333', 'thing')).toBe(things[2]);
  expect(findNamed(things, '3333333', 'thing')).toBeUndefined();
  expect(() => findNamed(things, '11111111', 'thing')).toThrow(
    expect.objectContaining({
      message: 'thing "11111111" is ambiguous: 11111111-0000 (thing0), 11111111-2222 (thing1)',
      hint: 'give the full id',
    }) as Error,
  );
});
