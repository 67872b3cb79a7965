import { ApiError } from '../../base/errors.ts';

const token = String.raw`[!#$%&'*+\-.^_\x60|~0-9A-Za-z]+`;
const parameter = new RegExp(String.raw`^\s*;\s*(${token})\s*=\s*(${token}|"(?:[^"\\]|\\.)*")`);

/**
 * Cleans a Content-Disposition for storing: file names lose their folders, so that no browser writes outside the folder that its user
 * chose.
 * @throws 400 `BadRequest` when it is malformed.
 */
export function cleanDisposition(value: string): string {
  const kind = new RegExp(`^\\s*(${token})`).exec(value);
  if (!kind) throw createDispositionError(value);
  let result = kind[1] ?? '';
  let rest = value.slice(kind[0].length);
  while (rest.trim() !== '') {
    const found = parameter.exec(rest);
    const [all = '', name = '', text = ''] = found ?? [];
    if (!found) throw createDispositionError(value);
    result += `; ${name}=${cleanParameter(name.toLowerCase(), text, value)}`;
    rest = rest.slice(all.length);
  }
  return result;
}

/** Values keep their form: a quoted string stays one. */
function cleanParameter(name: string, text: string, whole: string): string {
  if (name !== 'filename*' && name !== 'filename') return text;
  const isQuoted = text.startsWith('"');
  const plain = isQuoted ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text;
  const cleaned = name === 'filename' ? dropFolders(plain) : cleanEncoded(plain, whole);
  if (cleaned === plain) return text;
  return isQuoted ? `"${cleaned.replace(/["\\]/g, '\\$&')}"` : cleaned;
}

/** `UTF-8''a%20b`: folders may be hidden in the percent-encoding. */
function cleanEncoded(text: string, whole: string): string {
  const [, prefix, encoded] = /^([^']+'[^']*')(.*)$/.exec(text) ?? [];
  if (prefix === undefined || encoded === undefined) throw createDispositionError(whole);
  try {
    const plain = decodeURIComponent(encoded);
    const base = dropFolders(plain);
    return base === plain ? text : prefix + encodeURIComponent(base).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  } catch {
    throw createDispositionError(whole);
  }
}

function dropFolders(file: string): string {
  return file.split(/[/\\]/).at(-1) ?? '';
}

function createDispositionError(value: string): ApiError {
  return new ApiError(
    400,
    'BadRequest',
    `content-disposition is malformed: ${JSON.stringify(value.slice(0, 100))}; write it like: attachment; filename="name"`,
  );
}
