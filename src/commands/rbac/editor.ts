import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from '../../cli/command.ts';
import { canAsk } from '../../cli/prompt.ts';
import { withHint } from '../../base/error-copies.ts';
import { ApiError, CloudError, LocalError, UsageError } from '../../base/errors.ts';
import { readUserFile, writePrivate } from '../../base/private-files.ts';
import { printText } from '../../rbac/yaml.ts';

/** The value to edit, and how to save it. */
export interface EditSpec<R> {
  /** Part of the name of the file: `role-dev`. */
  name: string;
  /** Comment above the text. */
  help: string;
  value: object;
  /** Reads the file and sends its content. After a {@link UsageError} or an error that another text may avoid, the editor opens again. */
  save: (file: string) => Promise<R>;
}

/** Maximum size of the edited text, bytes. */
const largestText = 16 * 1024 * 1024;

/** Prefix of the lines with the error message, which are removed when the editor opens again. */
const mark = '# ! ';

function comment(prefix: string, text: string): string {
  return text
    .split('\n')
    .map((line) => `${prefix}${line}\n`)
    .join('');
}

function removeMarked(text: string): string {
  return text
    .split('\n')
    .filter((line) => !line.startsWith(mark.trimEnd()))
    .join('\n');
}

/** The user's editor. @throws {UsageError} if none is set, and there is no terminal for vi */
function chooseEditor({ world }: Context): string {
  const chosen = world.env['VISUAL'] || world.env['EDITOR'];
  if (chosen) return chosen;
  if (canAsk(world)) return 'vi';
  throw new UsageError('there is no terminal for the editor', { hint: 'set EDITOR to a command that changes the file it is given' });
}

/** Runs the user's editor on a file and waits for it to end. */
function openEditor({ world }: Context, editor: string, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // The variable may contain options, as in `code --wait`, so that a shell has to split it.
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit', env: { ...world.env } });
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new LocalError(`the editor (${editor}) ended with ${code ?? 'a signal'}: nothing was done`, { hint: 'set EDITOR' }));
    });
  });
}

/** True if another text may avoid the error. */
function isMendable(error: unknown): error is CloudError {
  if (error instanceof ApiError) return error.status < 500 && ![401, 403, 404, 420, 429].includes(error.status);
  return error instanceof UsageError;
}

/**
 * Lets the user edit a value as YAML until it is accepted; undefined if the text was not changed. A rejected text is opened again with the
 * error message as comments above it. If it is then not changed, or the editor fails, the text is kept in a file that the error names.
 */
export async function editYaml<R>(context: Context, { name, help, value, save }: EditSpec<R>): Promise<R | undefined> {
  // The name is unique, so that texts that were kept or are being edited elsewhere are not overwritten.
  const own = `${name.replaceAll(/[^\w.@-]/g, '_')}.${context.world.pid}.yaml`;
  const file = context.state.locate(`edits/${own}`) ?? join(mkdtempSync(join(tmpdir(), 'cloud-')), own);
  const editor = chooseEditor(context);
  const original = comment('# ', help) + (await printText(value));
  let before = original;
  let refusal: CloudError | undefined;
  writePrivate(file, before, { flush: false });
  for (;;) {
    await openEditor(context, editor, file);
    const text = readUserFile(file, { limit: largestText });
    if (text === before && refusal === undefined) {
      rmSync(file);
      return undefined;
    }
    if (text === before && refusal) throw keep(refusal, file);
    try {
      const result = await save(file);
      rmSync(file);
      return result;
    } catch (error) {
      if (!isMendable(error)) throw error instanceof CloudError ? keep(error, file) : error;
      // Without a terminal the editor runs only once more.
      if (!canAsk(context.world) && refusal !== undefined) throw keep(error, file);
      refusal = error;
      before = comment(mark, strip(error, file)) + removeMarked(text);
      writePrivate(file, before, { flush: false });
    }
  }
}

function strip(error: CloudError, file: string): string {
  const text = error.message.replace(`${file}: `, '');
  return [text, ...error.hints.map((hint) => `hint: ${hint}`)].join('\n');
}

/** Returns the error with the name of the file that has the text. */
function keep(error: CloudError, file: string): CloudError {
  const message = `${error.message.replace(`${file}: `, '')}; your text is saved in ${file}`;
  if (error instanceof LocalError) return new LocalError(message, { cause: error, hint: error.hints });
  if (!(error instanceof ApiError)) return new UsageError(message, { cause: error, hint: error.hints });
  return withHint(error, error.hints, message);
}
