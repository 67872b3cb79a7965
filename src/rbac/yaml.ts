/** A value as readable YAML: long lines are not wrapped, multi-line strings are blocks, and text is quoted if YAML 1.1 has another type for it. */
export async function printText(value: object): Promise<string> {
  const { Document } = await import('yaml');
  return new Document(value, { aliasDuplicateObjects: false, compat: 'yaml-1.1' }).toString({ lineWidth: 0 });
}
