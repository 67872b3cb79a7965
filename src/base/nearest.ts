/** Edit distance of two words: insertions, deletions, replacements and swaps of neighbours count one each. */
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

/** Highest number of edits to accept for a word of this length; with more, the suggestion would be a guess. */
function allowEdits(length: number): number {
  if (length <= 3) return 1;
  return length <= 7 ? 2 : 3;
}

/**
 * The candidate most likely meant by a mistyped word: the one with the fewest edits, the first of equals, else the only one that starts
 * with the word. Undefined when none is close. Ignores case.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  if (wanted === '') return undefined;
  const all = [...candidates];
  let best: string | undefined;
  let least = Math.min(allowEdits(wanted.length), wanted.length - 1) + 1;
  for (const candidate of all) {
    // The number of edits is at least the difference in length.
    if (Math.abs(candidate.length - wanted.length) >= least) continue;
    const edits = countEdits(wanted, candidate.toLowerCase());
    if (edits < least) [best, least] = [candidate, edits];
  }
  const longer = all.filter((candidate) => candidate.toLowerCase().startsWith(wanted));
  return best ?? (wanted.length < 3 || longer.length > 1 ? undefined : longer[0]);
}
