/** The subset of XML in S3 responses: elements without attributes and without children of the same name. */

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function unescape(text: string): string {
  return text.replaceAll(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/giu, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return entities[name] ?? whole;
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal));
  });
}

/** The raw content of each element with a name. */
export function readElements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([^]*?)</${name}>`, 'gu'))].map(([, inner = '']) => inner);
}

/** The text of the first element with a name; undefined if there is none. */
export function readElement(xml: string, name: string): string | undefined {
  const [inner] = readElements(xml, name);
  return inner === undefined ? undefined : unescape(inner);
}
