import fc from 'fast-check';

const halves = { from: 0xd800, count: 0x800 };

/**
 * Any code point but halves of pairs, for `fc.string`: what its unit `binary` gives too, which makes a table of all of them first. That
 * takes a second of processor time and 100 MB in each process.
 */
export const anyCodePoint = fc
  .nat({ max: 0x10ffff - halves.count })
  .map((number) => String.fromCodePoint(number < halves.from ? number : number + halves.count));
