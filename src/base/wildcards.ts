/** True if the text matches a pattern in which `*` matches any number of characters. */
export function matchesPattern(text: string, pattern: string): boolean {
  return matchesParts(text, pattern.split('*'));
}

/** True if the text consists of the parts in order, with any text between them. */
export function matchesParts(text: string, [first = '', ...others]: readonly string[]): boolean {
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let offset = first.length;
  for (const chunk of others) {
    const found = text.indexOf(chunk, offset);
    if (found === -1) return false;
    offset = found + chunk.length;
  }
  return text.length - last.length >= offset && text.endsWith(last);
}
