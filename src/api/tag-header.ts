/** Names of the roles in a `role-tag` header. */
export function readTagHeader(header: string | undefined): string[] {
  return (header ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
