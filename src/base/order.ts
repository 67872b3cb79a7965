function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** Order of the UTF-8 bytes of two names, as listings have it. JavaScript's own order differs above U+FFFF. */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    return isSurrogate(left) === isSurrogate(right) ? left - right : Number(isSurrogate(left)) - Number(isSurrogate(right));
  }
  return a.length - b.length;
}

/** Order in which trees are walked: component by component, a directory before what is in it. */
export function comparePaths(a: string, b: string): number {
  const left = a.split('/');
  const right = b.split('/');
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const order = compareNames(left[index] ?? '', right[index] ?? '');
    if (order !== 0) return order;
  }
  return left.length - right.length;
}
