/** True if the text matches a pattern in which `*` matches any number of characters. */
export function matchesPattern(text: string, pattern: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let offset = first.length;
  for (const chunk of others) {
    const found = text.indexOf(chunk, offset);
    if (found === -1) return false;
    offset = found + chunk.length;
  }
  return text.length - last.length >= offset && text.endsWith(last);
}
