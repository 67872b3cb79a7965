/** Edits between two words: one insertion, removal, replacement or swap of neighbours each. */
function countEdits(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, (before[j - 2] ?? 0) + 1);
      row.push(least);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** Edits that a word of a length may need: more would be guessing. */
function allowEdits(length: number): number {
  if (length <= 3) return 1;
  return length <= 7 ? 2 : 3;
}

/**
 * The candidate that a mistyped word most likely meant: the one with the fewest edits, the first of equals,
 * else the only one that begins with the word. Undefined when none is near. Case does not matter.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  if (wanted === '') return undefined;
  const all = [...candidates];
  let best: string | undefined;
  let least = Math.min(allowEdits(wanted.length), wanted.length - 1) + 1;
  for (const candidate of all) {
    // A difference in length is that many edits at least.
    if (Math.abs(candidate.length - wanted.length) >= least) continue;
    const edits = countEdits(wanted, candidate.toLowerCase());
    if (edits < least) [best, least] = [candidate, edits];
  }
  const longer = all.filter((candidate) => candidate.toLowerCase().startsWith(wanted));
  return best ?? (wanted.length < 3 || longer.length > 1 ? undefined : longer[0]);
}
