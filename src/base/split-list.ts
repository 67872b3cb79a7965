/** The words of a list with commas between them, such as the names of roles in a `role-tag` header. */
export function splitList(list = ''): string[] {
  return list
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}
