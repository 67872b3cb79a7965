import { quietly } from '../../base/errors.ts';
import { isRecord } from '../../base/is-record.ts';
import type { ImageRow } from '../store/schema.ts';
import type { PeerImage } from './peers.ts';

const isText = (value: unknown): boolean => typeof value === 'string';
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
const parse = (value: unknown): unknown => quietly<unknown>(() => JSON.parse(String(value)), undefined);
const isObject = (value: unknown): boolean => isText(value) && isRecord(parse(value));
/** True for a JSON array whose items are all of one kind. */
const isListOf =
  (isItem: (item: unknown) => boolean) =>
  (value: unknown): boolean => {
    const list = isText(value) ? parse(value) : undefined;
    return Array.isArray(list) && list.every(isItem);
  };
const isFile = (value: unknown): boolean => isRecord(value) && ['number', 'undefined'].includes(typeof value['size']);
const isTime = (value: unknown): boolean => Number.isSafeInteger(value) && !Number.isNaN(new Date(value as number).getTime());

/** What the columns of an image that another service sends have to be. */
const columns: { readonly [C in keyof ImageRow]: (value: unknown) => boolean } = {
  id: isText,
  name: isText,
  version: isText,
  os: isText,
  type: isText,
  owner: isText,
  state: isText,
  description: isTextOrNull,
  homepage: isTextOrNull,
  eula: isTextOrNull,
  origin: isTextOrNull,
  content: isTextOrNull,
  public: (value) => value === 0 || value === 1,
  published_at: (value) => value === null || isTime(value),
  requirements: isObject,
  files: isListOf(isFile),
  tags: isObject,
  acl: isListOf(isText),
  error: (value) => value === null || isObject(value),
};

/**
 * Reads the image that another service sent, which may be of another release: fields that are not known here are left out.
 * @returns undefined if the text is not the image with that id
 */
export function readPeerImage(text: string, id: string): PeerImage | undefined {
  const told = parse(text);
  if (!isRecord(told) || !isRecord(told['image']) || !isTextOrNull(told['login'])) return undefined;
  const { image } = told;
  const names = Object.keys(columns) as (keyof ImageRow)[];
  if (image['id'] !== id || !names.every((name) => columns[name](image[name]))) return undefined;
  return {
    image: Object.fromEntries(names.map((name) => [name, image[name]])) as unknown as ImageRow,
    login: told['login'] as string | null,
  };
}
