import type { Field } from '../../src/api/fields.ts';

/** A JSON schema, as far as fields need one. */
interface Schema {
  type?: string;
  enum?: readonly string[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean;
}

/** The schema of a field of an operation table. Objects with known fields have no others. */
export function createSchema({ kind, choices, item, fields }: Field): Schema {
  if (kind === 'any') return {};
  if (kind === 'list') return { type: 'array', ...(item && { items: createSchema(item) }) };
  if (kind !== 'object') return { type: kind === 'text' ? 'string' : kind, ...(choices && { enum: choices }) };
  if (fields === undefined) return { type: 'object' };
  const entries = Object.entries(fields);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, field]) => [name, createSchema(field)])),
    required: entries.filter(([, field]) => !field.optional).map(([name]) => name),
    additionalProperties: false,
  };
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return value === null ? 'null' : typeof value;
}

/** What of a value does not fit a schema, with its place. */
export function validate(value: unknown, schema: Schema, at = '$'): string[] {
  if (schema.type !== undefined && typeOf(value) !== schema.type) return [`${at} is ${typeOf(value)}, not ${schema.type}`];
  if (schema.enum && !schema.enum.includes(String(value))) return [`${at} is "${String(value)}"`];
  if (Array.isArray(value)) return value.flatMap((each: unknown, index) => validate(each, schema.items ?? {}, `${at}[${index}]`));
  const { properties, required = [] } = schema;
  if (properties === undefined || typeof value !== 'object' || value === null) return [];
  const missing = required.filter((name) => !Object.hasOwn(value, name)).map((name) => `${at}.${name} is missing`);
  const wrong = Object.entries(value).flatMap(([name, each]) => {
    const known = properties[name];
    return known === undefined ? [`${at}.${name} is unknown`] : validate(each, known, `${at}.${name}`);
  });
  return [...missing, ...wrong];
}
