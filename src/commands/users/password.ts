import type { Context } from '../../cli/command.ts';
import { readInput } from '../../cli/input.ts';
import { filePath, flag, type Values } from '../../cli/parameters.ts';
import { askSecret } from '../../cli/prompt.ts';
import { createContradiction, UsageError } from '../../base/errors.ts';

/** Sources of a password, but never the command line, which other users of the machine can see. */
export const passwordOptions = {
  passwordStdin: flag('Read the password from stdin'),
  passwordFile: filePath('Read the password from a file'),
};

const hint = 'give it with --password-stdin or --password-file';

/** Prompts for a new password twice without echo. @throws {UsageError} when the two differ */
export async function askNewPassword({ world }: Pick<Context, 'world'>, login: string, instead: string): Promise<string> {
  const password = await askSecret(world, `new password of ${login}`, instead);
  const again = await askSecret(world, 'repeat the password', instead);
  if (password !== again) throw new UsageError('the passwords differ: nothing was done');
  return password;
}

/** Reads a new password from the source in the options, or prompts for it. @throws {UsageError} if there is no terminal */
export async function readPassword(
  context: Pick<Context, 'world'>,
  options: Values<typeof passwordOptions>,
  login: string,
): Promise<string> {
  const { passwordStdin, passwordFile } = options;
  if (passwordStdin && passwordFile !== undefined) throw createContradiction('--password-stdin', '--password-file');
  if (!passwordStdin && passwordFile === undefined) return await askNewPassword(context, login, hint);
  const content = await readInput(context.world, passwordFile ?? '-');
  const password = content.toString().replace(/\r?\n$/, '');
  if (password === '') throw new UsageError(`${passwordFile ?? 'stdin'} contains no password`);
  if (/[\r\n]/.test(password)) throw new UsageError(`${passwordFile ?? 'stdin'}: a password must be one line`);
  return password;
}
