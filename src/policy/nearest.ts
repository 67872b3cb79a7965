const longestCompared = 64;

/** Letters to add, leave out, change or swap with their neighbour to make one word of the other. */
function measureDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const change = (last[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const swap = swapped ? (beforeLast[j - 2] ?? 0) + 1 : Infinity;
      row.push(Math.min(change, swap, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    beforeLast = last;
    last = row;
  }
  return last[right.length] ?? 0;
}

/** The candidate that a mistyped word is most likely meant to be, without regard to case; undefined when none is near. */
export function findNearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > longestCompared) return undefined;
  const wanted = word.toLowerCase();
  let nearest: string | undefined;
  let best = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - wanted.length) >= best) continue;
    const distance = measureDistance(wanted, candidate.toLowerCase());
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}
