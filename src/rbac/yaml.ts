/** A value as YAML for people: long lines stay whole, texts of several lines are blocks. */
export async function printText(value: object): Promise<string> {
  const { Document } = await import('yaml');
  return new Document(value, { aliasDuplicateObjects: false }).toString({ lineWidth: 0 });
}
