const slash = '/'.charCodeAt(0);

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** Compares two different UTF-16 units by the UTF-8 bytes of their characters. */
function compareUnits(left: number, right: number): number {
  return isSurrogate(left) === isSurrogate(right) ? left - right : Number(isSurrogate(left)) - Number(isSurrogate(right));
}

/** Compares names by their UTF-8 bytes, as listings do: by code point. JavaScript's own order differs above U+FFFF. */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return compareUnits(left, right);
  }
  return a.length - b.length;
}

/** Compares paths in the order in which trees are walked: component by component, a directory before its contents. */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    // At the end of a component, the shorter name comes first.
    if (left === slash || right === slash) return left === slash ? -1 : 1;
    return compareUnits(left, right);
  }
  return a.length - b.length;
}
