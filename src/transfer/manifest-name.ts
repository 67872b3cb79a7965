/** The file at the root of a local tree that keeps what files cannot hold of objects; it takes no part in the tree itself. */
export const manifestName = '.cloud-headers.jsonl';

/** True for a manifest, and for one that is being written under this name and an id. */
export function isManifest(name: string): boolean {
  return name.startsWith(manifestName) && /^(?:\.[\da-f-]{36})?$/.test(name.slice(manifestName.length));
}
