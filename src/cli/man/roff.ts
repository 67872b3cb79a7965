/** The subset of the man(7) language that the manual needs. `joinPage` joins the lines. */

/** Escapes backslashes, and the quotation marks and periods that would begin a request. */
function escape(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll(/^(?=[.'])/gm, '\\&');
}

/** Escapes literal words so that hyphens and quotes are still ASCII when copied. */
function escapeLiteral(text: string): string {
  return escape(text)
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti');
}

/** Bold, for literal words. */
export function bold(text: string): string {
  return `\\fB${escapeLiteral(text)}\\fR`;
}

/** Italic, for placeholders. */
export function italic(text: string): string {
  return `\\fI${escapeLiteral(text)}\\fR`;
}

/** Text in which words between backticks are literal. */
export function prose(text: string): string {
  return text
    .split('`')
    .map((part, at) => (at % 2 === 1 ? bold(part) : at === 0 ? escape(part) : part.replaceAll('\\', '\\e')))
    .join('');
}

export function paragraph(text: string): string[] {
  return ['.PP', prose(text)];
}

/** An item of a list: a tag, and text beside or below it. */
export function entry(tag: string, text: string): string[] {
  return ['.TP', tag, prose(text)];
}

/** Lines as typed in a terminal. */
export function listing(lines: readonly string[]): string[] {
  return ['.PP', '.RS 4', '.EX', ...lines.map((line) => escapeLiteral(line).replace(/^(?=\\\(aq)/, '\\&')), '.EE', '.RE'];
}

/** The name and summary of a page. */
export interface Title {
  readonly name: string;
  readonly section: 1 | 7;
  /** One line without a full stop. */
  readonly summary: string;
  readonly version: string;
}

/** Date of the last review of the manual. */
const date = '2026-11-21';

function joinParts(parts: readonly (readonly string[])[]): string[] {
  const lines = parts.flat();
  // A paragraph request directly after a heading has no effect, and linters report it.
  return lines[0] === '.PP' ? lines.slice(1) : lines;
}

export function section(title: string, ...parts: readonly (readonly string[])[]): string[] {
  return [`.SH ${title}`, ...joinParts(parts)];
}

export function subsection(title: string, ...parts: readonly (readonly string[])[]): string[] {
  return [`.SS ${escapeLiteral(title)}`, ...joinParts(parts)];
}

export function joinPage({ name, section: number, summary, version }: Title, lines: readonly (readonly string[])[]): string {
  const head = [
    `.TH ${name.toUpperCase()} ${number} ${date} "cloud ${version}" "Manual of cloud"`,
    '.SH NAME',
    `${escapeLiteral(name)} \\- ${escape(summary)}`,
  ];
  return `${[...head, ...lines.flat()].join('\n')}\n`;
}

export function reference(name: string, number: 1 | 7): string {
  return `${bold(name)}(${number})`;
}

/** References separated by commas, one a line. */
export function references(pages: readonly (readonly [string, 1 | 7])[]): string[] {
  return pages.map(([name, number], at) => reference(name, number) + (at < pages.length - 1 ? ',' : ''));
}
