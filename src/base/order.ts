const slash = '/'.charCodeAt(0);

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** Order of two UTF-16 units that differ, by the UTF-8 bytes of their characters. */
function compareUnits(left: number, right: number): number {
  return isSurrogate(left) === isSurrogate(right) ? left - right : Number(isSurrogate(left)) - Number(isSurrogate(right));
}

/** Order of the UTF-8 bytes of two names, as listings have it. JavaScript's own order differs above U+FFFF. */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return compareUnits(left, right);
  }
  return a.length - b.length;
}

/** Order in which trees are walked: component by component, a directory before what is in it. */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    // Where a component ends, the shorter name comes first.
    if (left === slash || right === slash) return left === slash ? -1 : 1;
    return compareUnits(left, right);
  }
  return a.length - b.length;
}
