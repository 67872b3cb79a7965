import type { compute } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type { ImageRow } from '../store/schema.ts';
import { createFieldError } from './names.ts';
import { isUuid } from '../../base/uuid.ts';

type Fields = Omit<InputOf<typeof compute.updateImage>, 'account' | 'id'>;

/** Maximum number of characters of each text (compute-decisions, "Datacenters, services, images, packages"). */
const lengths = { name: 512, version: 128, description: 512, homepage: 128, eula: 128 } as const;

function checkLengths(input: Fields): void {
  for (const [field, most] of Object.entries(lengths) as [keyof typeof lengths, number][]) {
    const value = input[field];
    if (value !== undefined && Array.from(value).length > most) throw createFieldError(field, `must have at most ${most} characters`);
  }
  for (const field of ['name', 'version'] as const) if (input[field]?.trim() === '') throw createFieldError(field, 'must not be empty');
}

function checkTags(tags: Readonly<Record<string, unknown>>): void {
  const bad = Object.entries(tags).find(([, value]) => !['string', 'number', 'boolean'].includes(typeof value));
  if (bad !== undefined) throw createFieldError(`tags.${bad[0]}`, 'must be a string, a number or a boolean');
}

function checkAcl(acl: readonly string[]): void {
  const index = acl.findIndex((id) => !isUuid(id));
  if (index !== -1) throw createFieldError(`acl[${index}]`, `must be the UUID of an account, not "${acl[index] ?? ''}"`);
}

/** The columns that an input sets; an empty text clears a column. @throws {ApiError} 409 `InvalidArgument` */
export function readImageFields(input: Fields): Partial<ImageRow> {
  checkLengths(input);
  const { name, version, acl, tags } = input;
  if (tags !== undefined) checkTags(tags);
  if (acl !== undefined) checkAcl(acl);
  const texts = (['description', 'homepage', 'eula'] as const).filter((field) => input[field] !== undefined);
  return {
    ...Object.fromEntries(texts.map((field) => [field, input[field] === '' ? null : input[field]])),
    ...(name !== undefined && { name }),
    ...(version !== undefined && { version }),
    ...(acl !== undefined && { acl: JSON.stringify([...new Set(acl.map((id) => id.toLowerCase()))]) }),
    ...(tags !== undefined && { tags: JSON.stringify(tags) }),
  };
}
