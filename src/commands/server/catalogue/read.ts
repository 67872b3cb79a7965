import { catalogueDocument, type Catalogue, type ImageDocument, type LimitDocument, type PackageDocument } from '../../../api/catalogue.ts';
import { UsageError } from '../../../base/errors.ts';
import type { World } from '../../../base/world.ts';
import { readRecord } from '../../../cli/from.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

/** Creates the error for a value of the document. */
type CreateError = (at: string, problem: string, hint?: string) => UsageError;

function checkUrls(createError: CreateError, part: string, urls: Readonly<Record<string, unknown>> = {}): void {
  for (const [name, url] of Object.entries(urls)) {
    if (name === '') throw createError(part, 'a name is empty');
    if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/u.test(new URL(url).protocol))
      throw createError(`${part}.${name}`, 'must be an http or https URL');
    const { username, password } = new URL(url);
    if (username !== '' || password !== '')
      throw createError(`${part}.${name}`, 'contains a user or a password, which everybody could see');
  }
}

function checkUnique(createError: CreateError, part: string, what: string, words: readonly (string | undefined)[]): void {
  const present = words.filter((word) => word !== undefined);
  const twice = present.find((word, at) => present.indexOf(word) !== at);
  if (twice !== undefined) throw createError(part, `two entries have the ${what} "${twice}"`);
}

function checkText(createError: CreateError, at: string, value: unknown): void {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  if (text.includes('\0') || text.includes(String.raw`\u0000`)) throw createError(at, 'contains a NUL character');
}

function checkEntries(createError: CreateError, part: string, entries: readonly (PackageDocument | ImageDocument)[]): void {
  for (const [at, entry] of entries.entries()) {
    for (const [field, value] of Object.entries(entry)) checkText(createError, `${part}[${at}].${field}`, value);
    if (entry.name.trim() === '') throw createError(`${part}[${at}].name`, 'is empty');
    if (entry.version?.trim() === '') throw createError(`${part}[${at}].version`, 'is empty');
    if (entry.id !== undefined && !uuid.test(entry.id)) throw createError(`${part}[${at}].id`, `"${entry.id}" is not a UUID in lower case`);
  }
  checkUnique(
    createError,
    part,
    'id',
    entries.map(({ id }) => id),
  );
  checkUnique(
    createError,
    part,
    'name and version',
    entries.map(({ name, version = defaultVersion }) => `${name} ${version}`),
  );
}

function checkNumber(createError: CreateError, at: string, value: number | undefined, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
  throw createError(at, `${value} is not a whole number of at least ${least}`);
}

function checkPackages(createError: CreateError, packages: readonly PackageDocument[] = []): void {
  checkEntries(createError, 'packages', packages);
  for (const [at, entry] of packages.entries()) {
    for (const field of ['memory', 'disk', 'vcpus'] as const) checkNumber(createError, `packages[${at}].${field}`, entry[field], 1);
    for (const field of ['swap', 'lwps'] as const) checkNumber(createError, `packages[${at}].${field}`, entry[field], 0);
  }
}

function readDate(createError: CreateError, at: string, date: string): string {
  const time = /^\d{4}-\d\d-\d\d/u.test(date) ? Date.parse(date) : NaN;
  if (Number.isNaN(time)) throw createError(at, `"${date}" is not a date`, 'for example 2026-01-15T09:30:00Z');
  return new Date(time).toISOString();
}

function readImages(createError: CreateError, images: readonly ImageDocument[]): ImageDocument[] {
  checkEntries(createError, 'images', images);
  return images.map((image, at) => {
    const { origin, file, published_at: published, tags = {} } = image;
    if (origin !== undefined && !uuid.test(origin)) throw createError(`images[${at}].origin`, `"${origin}" is not a UUID in lower case`);
    if (file && !/^[0-9a-f]{40}$/u.test(file.sha1))
      throw createError(`images[${at}].file.sha1`, 'is not 40 hexadecimal digits in lower case');
    checkNumber(createError, `images[${at}].file.size`, file?.size, 0);
    if (file?.path?.trim() === '') throw createError(`images[${at}].file.path`, 'is empty');
    const odd = Object.entries(tags).find(([, value]) => !['string', 'number', 'boolean'].includes(typeof value));
    if (odd) throw createError(`images[${at}].tags.${odd[0]}`, 'must be a string, a number or a boolean');
    return { ...image, ...(published !== undefined && { published_at: readDate(createError, `images[${at}].published_at`, published) }) };
  });
}

function checkLimits(createError: CreateError, limits: readonly LimitDocument[] = []): void {
  for (const [at, limit] of limits.entries()) {
    const { value, check } = limit;
    checkNumber(createError, `limits[${at}].value`, value, -1);
    for (const field of ['os', 'image'] as const) {
      checkText(createError, `limits[${at}].${field}`, limit[field]);
      if ((check === field) !== (limit[field] !== undefined))
        throw createError(`limits[${at}].${field}`, check === field ? `is missing, for check is ${field}` : `needs check: ${field}`);
    }
  }
  const twice = limits.map(nameLimit).find((name, at, all) => all.indexOf(name) !== at);
  if (twice !== undefined) throw createError('limits', `two entries set the limit "${twice}"`);
}

/** Version of a package without a version. */
export const defaultVersion = '1.0.0';

/** `alice ram`, `alice machines os linux`: identifies a limit. */
export function nameLimit({ account, by, check, os, image }: LimitDocument): string {
  return [account, by, ...(check === undefined ? [] : [check, os ?? image])].join(' ');
}

/** Reads a document of `cloud server apply`. @throws {UsageError} that names the file, the place and what to write instead */
export async function readCatalogue(world: World, file: string): Promise<Catalogue> {
  const name = file === '-' ? 'stdin' : file;
  const createError: CreateError = (at, problem, hint) => new UsageError(`${name}: ${at}: ${problem}`, { hint });
  const read = await readRecord(world, file, catalogueDocument, { sample: 'the format: cloud server apply --help' });
  if (read['version'] === undefined) throw createError('version', 'is missing', 'write version: "1"');
  const document = read as Catalogue;
  checkUrls(createError, 'datacenters', document.datacenters);
  checkUrls(createError, 'services', document.services);
  checkPackages(createError, document.packages);
  checkLimits(createError, document.limits);
  return { ...document, ...(document.images && { images: readImages(createError, document.images) }) };
}
