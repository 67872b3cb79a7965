/** The file at the root of a local tree that holds those properties of objects that files cannot hold; never transferred itself. */
export const manifestName = '.cloud-headers.jsonl';

/** True for the manifest and for the temporary file in which one is written, which has an id appended. */
export function isManifest(name: string): boolean {
  return name.startsWith(manifestName) && /^(?:\.[\da-f-]{36})?$/.test(name.slice(manifestName.length));
}
