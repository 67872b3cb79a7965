import type { Field, Fields } from '../api/fields.ts';
import { document } from './document.ts';

type Schema = Record<string, unknown>;

function describeObject(fields: Fields): Schema {
  const required = Object.keys(fields).filter((name) => fields[name]?.optional === false);
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, describeField(field)])),
    ...(required.length > 0 && { required }),
  };
}

function describeField({ kind, help, item, fields, choices }: Field): Schema {
  const description = help === '' ? {} : { description: help };
  if (kind === 'list') return { ...description, type: ['array', 'null'], items: item ? describeField(item) : {} };
  if (kind === 'object' && fields) return { ...description, ...describeObject(fields) };
  if (kind === 'object') return { ...description, type: ['object', 'null'] };
  return { ...description, type: 'string', ...(choices && { enum: choices }) };
}

/** The JSON schema of the document, for editors. */
export function describeDocument(): object {
  const { tags, trees, ...fields } = document;
  const described = describeObject(fields);
  const names = { type: ['array', 'null'], items: { type: 'string' } };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Access control of an account, as cloud rbac export writes it',
    ...described,
    properties: {
      ...(described['properties'] as object),
      tags: { description: tags.help, type: ['object', 'null'], additionalProperties: names },
      trees: { description: trees.help, type: ['object', 'null'], additionalProperties: names },
    },
  };
}
