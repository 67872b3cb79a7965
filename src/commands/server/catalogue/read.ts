import { catalogueDocument, type Catalogue, type ImageDocument, type LimitDocument, type PackageDocument } from '../../../api/catalogue.ts';
import { UsageError } from '../../../base/errors.ts';
import type { World } from '../../../base/world.ts';
import { readRecord } from '../../../cli/from.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

/** Creates the error for a value of the document. */
type Refuse = (at: string, problem: string, hint?: string) => UsageError;

function checkUrls(refuse: Refuse, part: string, urls: Readonly<Record<string, unknown>> = {}): void {
  for (const [name, url] of Object.entries(urls)) {
    if (name === '') throw refuse(part, 'a name is empty');
    if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/u.test(new URL(url).protocol))
      throw refuse(`${part}.${name}`, 'must be an http or https URL');
    const { username, password } = new URL(url);
    if (username !== '' || password !== '') throw refuse(`${part}.${name}`, 'contains a user or a password, which everybody could see');
  }
}

function checkUnique(refuse: Refuse, part: string, what: string, words: readonly (string | undefined)[]): void {
  const present = words.filter((word) => word !== undefined);
  const twice = present.find((word, at) => present.indexOf(word) !== at);
  if (twice !== undefined) throw refuse(part, `two entries have the ${what} "${twice}"`);
}

function checkText(refuse: Refuse, at: string, value: unknown): void {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  if (text.includes('\0') || text.includes(String.raw`\u0000`)) throw refuse(at, 'contains a NUL character');
}

function checkEntries(refuse: Refuse, part: string, entries: readonly (PackageDocument | ImageDocument)[]): void {
  for (const [at, entry] of entries.entries()) {
    for (const [field, value] of Object.entries(entry)) checkText(refuse, `${part}[${at}].${field}`, value);
    if (entry.name.trim() === '') throw refuse(`${part}[${at}].name`, 'is empty');
    if (entry.version?.trim() === '') throw refuse(`${part}[${at}].version`, 'is empty');
    if (entry.id !== undefined && !uuid.test(entry.id)) throw refuse(`${part}[${at}].id`, `"${entry.id}" is not a UUID in lower case`);
  }
  checkUnique(
    refuse,
    part,
    'id',
    entries.map(({ id }) => id),
  );
  checkUnique(
    refuse,
    part,
    'name and version',
    entries.map(({ name, version = defaultVersion }) => `${name} ${version}`),
  );
}

function checkNumber(refuse: Refuse, at: string, value: number | undefined, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
  throw refuse(at, `${value} is not a whole number of at least ${least}`);
}

function checkPackages(refuse: Refuse, packages: readonly PackageDocument[] = []): void {
  checkEntries(refuse, 'packages', packages);
  for (const [at, entry] of packages.entries()) {
    for (const field of ['memory', 'disk', 'vcpus'] as const) checkNumber(refuse, `packages[${at}].${field}`, entry[field], 1);
    for (const field of ['swap', 'lwps'] as const) checkNumber(refuse, `packages[${at}].${field}`, entry[field], 0);
  }
}

function readDate(refuse: Refuse, at: string, date: string): string {
  const time = /^\d{4}-\d\d-\d\d/u.test(date) ? Date.parse(date) : NaN;
  if (Number.isNaN(time)) throw refuse(at, `"${date}" is not a date`, 'for example 2026-01-15T09:30:00Z');
  return new Date(time).toISOString();
}

function readImages(refuse: Refuse, images: readonly ImageDocument[]): ImageDocument[] {
  checkEntries(refuse, 'images', images);
  return images.map((image, at) => {
    const { origin, file, published_at: published, tags = {} } = image;
    if (origin !== undefined && !uuid.test(origin)) throw refuse(`images[${at}].origin`, `"${origin}" is not a UUID in lower case`);
    if (file && !/^[0-9a-f]{40}$/u.test(file.sha1)) throw refuse(`images[${at}].file.sha1`, 'is not 40 hexadecimal digits in lower case');
    checkNumber(refuse, `images[${at}].file.size`, file?.size, 0);
    if (file?.path?.trim() === '') throw refuse(`images[${at}].file.path`, 'is empty');
    const odd = Object.entries(tags).find(([, value]) => !['string', 'number', 'boolean'].includes(typeof value));
    if (odd) throw refuse(`images[${at}].tags.${odd[0]}`, 'must be a string, a number or a boolean');
    return { ...image, ...(published !== undefined && { published_at: readDate(refuse, `images[${at}].published_at`, published) }) };
  });
}

function checkLimits(refuse: Refuse, limits: readonly LimitDocument[] = []): void {
  for (const [at, limit] of limits.entries()) {
    const { value, check } = limit;
    checkNumber(refuse, `limits[${at}].value`, value, -1);
    for (const field of ['os', 'image'] as const) {
      checkText(refuse, `limits[${at}].${field}`, limit[field]);
      if ((check === field) !== (limit[field] !== undefined))
        throw refuse(`limits[${at}].${field}`, check === field ? `is missing, for check is ${field}` : `needs check: ${field}`);
    }
  }
  const twice = limits.map(nameLimit).find((name, at, all) => all.indexOf(name) !== at);
  if (twice !== undefined) throw refuse('limits', `two entries set the limit "${twice}"`);
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
  const refuse: Refuse = (at, problem, hint) => new UsageError(`${name}: ${at}: ${problem}`, { hint });
  const read = await readRecord(world, file, catalogueDocument, { sample: 'the format: cloud server apply --help' });
  if (read['version'] === undefined) throw refuse('version', 'is missing', 'write version: "1"');
  const document = read as Catalogue;
  checkUrls(refuse, 'datacenters', document.datacenters);
  checkUrls(refuse, 'services', document.services);
  checkPackages(refuse, document.packages);
  checkLimits(refuse, document.limits);
  return { ...document, ...(document.images && { images: readImages(refuse, document.images) }) };
}
