/** The few things of the man(7) language that the manual needs. Lines are joined by `joinPage`. */

/** Text as roff shows it: backslashes, and quotation marks and points that would begin a request. */
export function escape(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll(/^(?=[.'])/gm, '\\&');
}

/** Words to type: hyphens stay hyphens that can be copied. */
function escapeLiteral(text: string): string {
  return escape(text)
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti');
}

/** Bold: words that are typed as they stand. */
export function bold(text: string): string {
  return `\\fB${escapeLiteral(text)}\\fR`;
}

/** Italic: words that stand for others. */
export function italic(text: string): string {
  return `\\fI${escapeLiteral(text)}\\fR`;
}

/** Text in which words between backticks are to be typed. */
export function prose(text: string): string {
  return text
    .split('`')
    .map((part, at) => (at % 2 === 1 ? bold(part) : at === 0 ? escape(part) : part.replaceAll('\\', '\\e')))
    .join('');
}

export function paragraph(text: string): string[] {
  return ['.PP', prose(text)];
}

/** An entry of a list: a tag, and text beside or below it. */
export function entry(tag: string, text: string): string[] {
  return ['.TP', tag, prose(text)];
}

/** Lines as they are typed in a terminal. */
export function listing(lines: readonly string[]): string[] {
  return ['.PP', '.RS 4', '.EX', ...lines.map((line) => escapeLiteral(line).replace(/^(?=\\\(aq)/, '\\&')), '.EE', '.RE'];
}

/** What a page is called and is about. */
export interface Title {
  readonly name: string;
  readonly section: 1 | 7;
  /** One line without a full stop. */
  readonly summary: string;
  readonly version: string;
}

/** Day on which the manual was last looked through. */
const date = '2026-11-21';

export function section(title: string, ...parts: readonly (readonly string[])[]): string[] {
  // A paragraph request right after a heading does nothing, and lints.
  const [first = [], ...rest] = parts.filter((part) => part.length > 0);
  return [`.SH ${title}`, ...(first[0] === '.PP' ? first.slice(1) : first), ...rest.flat()];
}

export function subsection(title: string, ...parts: readonly (readonly string[])[]): string[] {
  const [first = [], ...rest] = parts.filter((part) => part.length > 0);
  return [`.SS ${escapeLiteral(title)}`, ...(first[0] === '.PP' ? first.slice(1) : first), ...rest.flat()];
}

/** A whole page of the manual. */
export function joinPage({ name, section: number, summary, version }: Title, lines: readonly (readonly string[])[]): string {
  const head = [
    `.TH ${name.toUpperCase()} ${number} ${date} "cloud ${version}" "Manual of cloud"`,
    '.SH NAME',
    `${escapeLiteral(name)} \\- ${escape(summary)}`,
  ];
  return `${[...head, ...lines.flat()].join('\n')}\n`;
}

/** A reference to another page. */
export function reference(name: string, number: 1 | 7): string {
  return `${bold(name)}(${number})`;
}

/** References with commas between, one a line. */
export function references(pages: readonly (readonly [string, 1 | 7])[]): string[] {
  return pages.map(([name, number], at) => reference(name, number) + (at < pages.length - 1 ? ',' : ''));
}
