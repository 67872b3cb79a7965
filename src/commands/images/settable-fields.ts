import { compute as operations } from '../../api/compute.ts';
import type { Image } from '../../api/resources.ts';
import type { Context } from '../../cli/command.ts';
import { readRecord } from '../../cli/from.ts';
import { filePath, text, texts, type Values } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { isUuid } from '../../base/uuid.ts';

/** Fields of an image that can be set at its creation or changed later, by their names in the API. */
export type ImageFields = Partial<Pick<Image, 'name' | 'version' | 'description' | 'homepage' | 'eula' | 'acl' | 'tags'>>;

/** Options that describe an image. */
export const imageOptions = {
  description: text('Description', { mayBeEmpty: true }),
  homepage: text('URL of the home page', { placeholder: 'URL', mayBeEmpty: true }),
  eula: text('URL of the licence', { placeholder: 'URL', mayBeEmpty: true }),
  tag: texts('Tag: KEY=VALUE, or KEY:=JSON for a number, true or false', { placeholder: 'KEY=VALUE' }),
  from: filePath('Read fields from a JSON or YAML file; - for stdin; options take precedence'),
};

type ImageValues = Values<typeof imageOptions> & { readonly name?: string | undefined; readonly version?: string | undefined };

/** Fields that `images get` shows and that no request accepts. */
const readOnly = ['id', 'os', 'type', 'requirements', 'files', 'published_at', 'owner', 'public', 'state', 'origin', 'error'];

/** Reads `KEY=VALUE` and `KEY:=JSON`. @throws {UsageError} for anything else */
export function parseTag(word: string): [string, unknown] {
  const [, name = '', colon, value = ''] = /^([^=]+?)(:?)=(.*)$/s.exec(word) ?? [];
  if (name === '') throw new UsageError(`tag "${word}": write KEY=VALUE`);
  if (colon === '') return [name, value];
  let json: unknown;
  try {
    json = JSON.parse(value);
  } catch {
    throw new UsageError(`tag "${word}": "${value}" is not JSON`, { hint: `for a string: ${name}=${value}` });
  }
  if (typeof json === 'object') throw new UsageError(`tag "${word}": a tag is a string, a number, true or false`);
  return [name, json];
}

/** @throws {UsageError} unless a word is the UUID of an instance */
export function checkInstance(word: string): void {
  if (isUuid(word)) return;
  throw new UsageError(`"${word}" is not the UUID of an instance`, { hint: 'for the instances of cloud local: cloud help local-service' });
}

/** Reads UUIDs of accounts. @throws {UsageError} for anything else */
export function readAccounts(words: readonly string[]): string[] {
  const wrong = words.find((word) => !isUuid(word));
  if (wrong === undefined) return [...new Set(words.map((word) => word.toLowerCase()))];
  throw new UsageError(`"${wrong}" is not the UUID of an account`, {
    hint: 'the owner of the account finds its UUID with: cloud account get -o json --columns id',
  });
}

/** The fields from the file of `--from` and from options; options win. */
export async function readFields({ world }: Pick<Context, 'world'>, values: ImageValues): Promise<ImageFields> {
  const { from, tag } = values;
  const held: ImageFields = from === undefined ? {} : await readRecord(world, from, operations.updateImage.fields, { ignore: readOnly });
  if (held.acl) readAccounts(held.acl);
  const { name, version, description, homepage, eula } = values;
  const given = Object.entries({ name, version, description, homepage, eula }).filter(([, value]) => value !== undefined);
  const tags = tag.length === 0 ? undefined : Object.fromEntries(tag.map(parseTag));
  return { ...held, ...Object.fromEntries(given), ...(tags && { tags }) };
}
