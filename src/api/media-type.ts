/** A content type: `text/plain; charset=utf-8`. */
export interface MediaType {
  /** In lower case: `text/plain`. */
  readonly type: string;
  /** Names in lower case, values without their quotes. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** A parameter with its semicolon, up to the next one. The quoted string may contain semicolons, and may lack its end. */
const parameter = /;\s*(?:([^\s;=]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)|([^;]*)))?[^;]*/gu;

/** Parses the value of a Content-Type header. Malformed parameters are skipped, and the first of several with the same name counts. */
export function readMediaType(value: string): MediaType {
  const [type = ''] = value.split(';', 1);
  const parameters = new Map<string, string>();
  for (const [, name, quoted, plain = ''] of value.slice(type.length).matchAll(parameter)) {
    const key = name?.toLowerCase();
    if (key !== undefined && !parameters.has(key)) parameters.set(key, quoted?.replaceAll(/\\(.)/gu, '$1') ?? plain.trim());
  }
  return { type: type.trim().toLowerCase(), parameters: Object.fromEntries(parameters) };
}

/** True for a content type `type` with the parameter `type=parameter`, such as `application/json; type=directory`. */
export function isTyped(value: string, type: string, parameter: string): boolean {
  if (!value.includes(';')) return false;
  const { type: found, parameters } = readMediaType(value);
  return found === type && parameters['type']?.toLowerCase() === parameter;
}
