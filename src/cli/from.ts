import type { Field, Fields } from '../api/fields.ts';
import { CloudError, UsageError } from '../base/errors.ts';
import { isRecord } from '../base/is-record.ts';
import { nearest } from '../base/nearest.ts';
import type { World } from '../base/world.ts';
import { readInput } from './input.ts';

interface FromOptions {
  /** A command line that writes such a record, for hints. */
  readonly sample?: string;
  /** Fields that the service adds. They are ignored, so that the output of `get` can be used as input. */
  ignore?: readonly string[];
}

/** The position of a value, and the strictness of the checks. */
interface Place {
  /** `phases[0].exec`; empty for the record itself. */
  at: string;
  /** True for a record that a service returned: it may have undocumented fields. */
  isGivenBack: boolean;
}

type RecordValue = Readonly<Record<string, unknown>>;

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isRecord(value)) return 'a record';
  return JSON.stringify(value) ?? 'nothing';
}

/** Parses YAML, of which JSON is a subset. @throws {UsageError} with line and column of the first error */
async function parseYaml(text: string): Promise<unknown> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'error' });
  const [error] = document.errors;
  if (error) {
    const before = text.slice(0, error.pos[0]).split('\n');
    const message = error.message.replace(/[.:]?\s*$/, '').replaceAll('\n', ' ');
    throw new UsageError(`line ${before.length}, column ${(before.at(-1) ?? '').length + 1}: ${message}`, { hint: 'write JSON or YAML' });
  }
  try {
    return document.toJS();
  } catch (error) {
    // Nested aliases in a few lines can expand to more than any memory holds.
    throw new UsageError(error instanceof Error ? error.message : String(error), {
      hint: 'write the values instead of nested aliases',
      cause: error,
    });
  }
}

async function parseText(text: string): Promise<unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return await parseYaml(text);
  }
}

function join(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}

function readText(value: unknown, { choices }: Field, at: string): string {
  if (typeof value === 'number' || typeof value === 'boolean') {
    throw new UsageError(`${at}: ${String(value)} is not text`, {
      hint: `write it in quotes: ${at.replace(/^.*\./, '')}: "${String(value)}"`,
    });
  }
  if (typeof value !== 'string') throw new UsageError(`${at}: must be text, not ${describe(value)}`);
  if (choices && !choices.includes(value)) {
    const close = nearest(value, choices);
    throw new UsageError(`${at}: "${value}" is not one of ${choices.join(', ')}`, { hint: close && `did you mean ${close}?` });
  }
  return value;
}

function readValue(value: unknown, field: Field, place: Place): unknown {
  const { at } = place;
  switch (field.kind) {
    case 'text':
      return readText(value, field, at);
    case 'number':
      if (typeof value !== 'number' || !Number.isFinite(value)) throw new UsageError(`${at}: must be a number, not ${describe(value)}`);
      return value;
    case 'boolean':
      if (typeof value !== 'boolean') throw new UsageError(`${at}: must be true or false, not ${describe(value)}`);
      return value;
    case 'list':
      if (!Array.isArray(value)) throw new UsageError(`${at}: must be a list, not ${describe(value)}`);
      return value.map((each: unknown, index) =>
        field.item === undefined ? each : readValue(each, field.item, { ...place, at: `${at}[${index}]` }),
      );
    case 'object':
      if (!isRecord(value)) throw new UsageError(`${at}: must be a record, not ${describe(value)}`);
      return field.fields === undefined ? value : readObject(value, field.fields, place);
    default:
      return value;
  }
}

function readObject(value: RecordValue, fields: Fields, place: Place): Record<string, unknown> {
  const missing = Object.keys(fields).find((name) => fields[name]?.optional === false && (value[name] ?? undefined) === undefined);
  const read = readFields(value, fields, place);
  if (missing !== undefined) throw new UsageError(`${join(place.at, missing)}: is missing`);
  return read;
}

function readFields(value: RecordValue, fields: Fields, place: Place): Record<string, unknown> {
  const names = Object.keys(fields);
  const read: [string, unknown][] = [];
  for (const [name, each] of Object.entries(value)) {
    const at = join(place.at, name);
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) {
      const close = nearest(name, names);
      if (place.isGivenBack && (close === undefined || Object.hasOwn(value, close))) continue;
      throw new UsageError(`${at}: is not a known field`, {
        hint: close === undefined ? `fields: ${names.join(', ')}` : `did you mean ${close}?`,
      });
    }
    if (each !== null && each !== undefined) read.push([name, readValue(each, field, { ...place, at })]);
  }
  return Object.fromEntries(read);
}

/**
 * Reads a record from a JSON or YAML file, `-` for stdin: the value of `--from`. Checks each value against its field; fields may be
 * missing, because options can set them. Fields that are sent as headers are not accepted.
 * @throws {UsageError} that names the file, the place and the correct form
 */
export async function readRecord(world: World, file: string, fields: Fields, options: FromOptions = {}): Promise<Record<string, unknown>> {
  const ignore = options.ignore ?? [];
  const content = await readInput(world, file);
  try {
    const value = await parseText(content.toString());
    if (!isRecord(value))
      throw new UsageError(`holds ${value === null ? 'nothing' : describe(value)}, not one record`, { hint: options.sample });
    const kept = Object.entries(value).filter(([name]) => !ignore.includes(name));
    const known = Object.entries(fields).filter(([, { place }]) => place === undefined);
    const isGivenBack = kept.length < Object.keys(value).length;
    return readFields(Object.fromEntries(kept), Object.fromEntries(known), { at: '', isGivenBack });
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    throw new UsageError(`${file === '-' ? 'stdin' : file}: ${error.message}`, { hint: error.hints, cause: error });
  }
}
