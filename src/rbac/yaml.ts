/** A value as readable YAML: long lines are not wrapped, and multi-line strings are blocks. */
export async function printText(value: object): Promise<string> {
  const { Document } = await import('yaml');
  return new Document(value, { aliasDuplicateObjects: false }).toString({ lineWidth: 0 });
}
