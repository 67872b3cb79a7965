/** True if an Accept header accepts a content type; a missing or invalid header accepts everything. */
export function accepts(header: string | undefined, contentType: string): boolean {
  const [type = ''] = contentType.toLowerCase().split(';');
  const ranges = (header ?? '')
    .toLowerCase()
    .split(',')
    .map(readRange)
    .filter(({ range }) => /^[^/\s]+\/[^/\s]+$/.test(range));
  if (ranges.length === 0) return true;
  const [group] = type.trim().split('/');
  // The most specific matching range decides: "text/html;q=0, */*" accepts everything but text/html.
  const fitting = [type.trim(), `${group}/*`, '*/*'].map((wanted) => ranges.find(({ range }) => range === wanted));
  return (fitting.find((range) => range !== undefined)?.quality ?? 0) > 0;
}

function readRange(text: string): { range: string; quality: number } {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim());
  const quality = parameters.map((parameter) => /^q\s*=\s*([\d.]+)$/.exec(parameter)?.[1]).find((value) => value !== undefined);
  return { range, quality: Number(quality ?? 1) };
}
