import type { AnyCommand, Command, Context } from '../../cli/command.ts';
import { runCommand } from '../../cli/plain-line.ts';
import { isMissing, LocalError, UsageError } from '../../base/errors.ts';
import type { Entry } from '../../config/journal-entry.ts';
import type { Unfinished } from '../../config/journal.ts';
import { resumable } from './table.ts';

/** Loopback hosts: a service that was restarted there may have another port. */
const loopback = new Set(['127.0.0.1', '[::1]', 'localhost']);

function isSamePlace(there: string, now: string): boolean {
  if (there === now || there === '') return true;
  try {
    const host = new URL(there).hostname;
    return loopback.has(host) && host === new URL(now).hostname;
  } catch {
    return false;
  }
}

/** Opens the context to resume an entry in. @throws {UsageError} if its profile has another service or account now */
export async function openThere(context: Context, unfinished: Unfinished, entry: Entry): Promise<Context> {
  const { connection, id } = unfinished;
  const there = await context.goOn(unfinished, entry);
  const { storUrl, url } = there.settings();
  const service = storUrl?.value ?? url?.value ?? '';
  // A user who names the service explicitly asserts that it is the same one.
  const isNamed = context.settingGiven('storUrl') !== undefined || context.settingGiven('url') !== undefined;
  if (there.account === connection.account && (isNamed || isSamePlace(connection.service, service))) return there;
  throw new UsageError(
    `${id} belongs to ${connection.account} at ${connection.service}, but the profile is now for ${there.account} at ${service}`,
    { hint: `if that is the same service: add --stor-url ${service}; to discard the work: cloud resume --drop ${id}` },
  );
}

async function loadCommand({ command, id }: Unfinished): Promise<AnyCommand> {
  const load = Object.hasOwn(resumable, command) ? resumable[command] : undefined;
  if (load) return await load();
  throw new LocalError(`${id} is work of "${command}", which this release of cloud cannot resume`, { hint: `cloud resume --drop ${id}` });
}

/**
 * Runs the command of an entry again, which skips what is done.
 * @param clean removes what earlier runs left unfinished; called when everything is done, or when the rest cannot be done
 */
export async function goOn(
  context: Context,
  unfinished: Unfinished,
  entry: Entry,
  clean: (there: Context) => Promise<void>,
): Promise<void> {
  let there: Context | undefined;
  try {
    const declared = await loadCommand(unfinished);
    there = await openThere(context, unfinished, entry);
    await runCommand(there, declared as Command, unfinished);
    await clean(there);
    entry.close(true);
  } catch (error) {
    // If the source does not exist any more, nothing can be resumed; the message says what is missing.
    entry.close(isMissing(error));
    if (there && entry.isOver) await clean(there).catch(() => context.warn(`${unfinished.id}: unfinished data could not be deleted`));
    throw error;
  }
}
