import { PolicySyntaxError, type Place } from './syntax-error.ts';

/** One token of a rule. `text` is its value: for quoted text, without quotation marks and escapes. */
export interface Token extends Place {
  kind: 'word' | 'quoted' | 'regex' | '(' | ')' | ',' | '::' | 'end';
  text: string;
}

/**
 * The position of a token in a rule. An identifier may be a regular expression; a condition's name ends at an operator; a value may contain
 * `::`, as IPv6 addresses do.
 */
export type Mode = 'identifier' | 'name' | 'operator' | 'value' | 'pattern';

const wordEnds: Readonly<Record<Mode, RegExp>> = {
  identifier: /[\s,()"]|::/g,
  name: /[\s,()"=<>!]|::/g,
  operator: /[\s,()"=<>!]|::/g,
  value: /[\s,()"]/g,
  pattern: /[\s,()"]/g,
};
const operatorSigns = /[=<>!]+/y;
const blanks = /\s*/y;
const regexTail = /([A-Za-z]{0,8})(?=[\s,()]|::|$)/y;
const escapes: Readonly<Record<string, string>> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** True if all letters are flags of regular expressions, each at most once. */
export function areFlags(letters: string): boolean {
  return /^[gimsu]*$/.test(letters) && !/(.).*\1/.test(letters);
}

/**
 * For each position in a text, the slash that closes a regular expression open there (-1: none), computed for positions outside and inside
 * a bracketed class. Computed from the end, so that many open slashes do not each scan the rest of the text. `stops` matches the characters
 * that no expression contains.
 */
function findClosings(text: string, stops: RegExp): Int32Array {
  const outside = new Int32Array(text.length + 2).fill(-1);
  const inside = new Int32Array(text.length + 2).fill(-1);
  for (let at = text.length - 1; at >= 0; at--) {
    const character = text[at] ?? '';
    const isEscape = character === '\\';
    if (stops.test(character) || (isEscape && stops.test(text[at + 1] ?? ''))) continue;
    const step = isEscape ? 2 : 1;
    outside[at] = character === '/' ? at : ((character === '[' ? inside[at + 1] : outside[at + step]) ?? -1);
    inside[at] = (character === ']' ? outside[at + 1] : inside[at + step]) ?? -1;
  }
  return outside;
}

/** Expressions of identifiers contain no white space, so that two paths in a list are not read as one expression. */
const regexStops = { identifier: /\s/, pattern: /[\n\r]/ };

/** Scans the tokens of one rule in a single pass. */
export class Scanner {
  readonly text: string;
  position = 0;
  readonly #closings = new Map<Mode, Int32Array>();

  constructor(text: string) {
    this.text = text;
  }

  /** Reads the token at `position` and advances past it. @throws {PolicySyntaxError} for unterminated quoted text or an unknown escape. */
  read(mode: Mode): Token {
    this.#skip(blanks);
    const offset = this.position;
    const first = this.text[offset];
    if (first === undefined) return { kind: 'end', text: '', offset, length: 0 };
    if (first === '(' || first === ')' || first === ',') return this.#take(first, first, 1);
    if (mode !== 'value' && mode !== 'pattern' && this.text.startsWith('::', offset)) return this.#take('::', '::', 2);
    if (first === '"') return this.#readQuoted();
    if (mode === 'operator') return this.#readOperator();
    const regex = first === '/' && (mode === 'identifier' || mode === 'pattern') ? this.#readRegex(mode) : undefined;
    return regex ?? this.#readWord(mode);
  }

  createError(problem: string, place: Place): PolicySyntaxError {
    return new PolicySyntaxError(problem, this.text, { offset: place.offset, length: place.length });
  }

  #take(kind: Token['kind'], text: string, length: number): Token {
    const offset = this.position;
    this.position += length;
    return { kind, text, offset, length };
  }

  #skip(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.text);
    if (!found) return undefined;
    this.position += found[0].length;
    return found[0];
  }

  #readWord(mode: Mode): Token {
    const ends = wordEnds[mode];
    ends.lastIndex = this.position;
    const end = ends.exec(this.text)?.index ?? this.text.length;
    if (this.text[end] === '"')
      throw this.createError('a quotation mark inside a word: put the whole word in quotation marks', { offset: end, length: 1 });
    // Otherwise a name that begins with an operator sign would be an empty word, and the position would never advance.
    const length = Math.max(1, end - this.position);
    return this.#take('word', this.text.slice(this.position, this.position + length), length);
  }

  #readOperator(): Token {
    const offset = this.position;
    const signs = this.#skip(operatorSigns);
    return signs === undefined ? this.#readWord('operator') : { kind: 'word', text: signs, offset, length: signs.length };
  }

  #readQuoted(): Token {
    const offset = this.position;
    let text = '';
    let from = offset + 1;
    for (let at = from; at < this.text.length; at++) {
      const character = this.text[at];
      if (character === '"') {
        this.position = at + 1;
        return { kind: 'quoted', text: text + this.text.slice(from, at), offset, length: at + 1 - offset };
      }
      if (character !== '\\') continue;
      const { meaning, length } = this.#readEscape(at);
      text += this.text.slice(from, at) + meaning;
      from = at + length;
      at = from - 1;
    }
    throw this.createError('the quotation mark is never closed', { offset, length: 1 });
  }

  #readEscape(at: number): { meaning: string; length: number } {
    const character = this.text[at + 1] ?? '';
    const meaning = Object.hasOwn(escapes, character) ? escapes[character] : undefined;
    if (meaning !== undefined) return { meaning, length: 2 };
    const digits = this.text.slice(at + 2, at + 6);
    if (character === 'u' && /^[0-9A-Fa-f]{4}$/.test(digits))
      return { meaning: String.fromCharCode(Number.parseInt(digits, 16)), length: 6 };
    const length = Math.min(2, this.text.length - at);
    throw this.createError('unknown escape: in quotation marks write \\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX', {
      offset: at,
      length,
    });
  }

  /** A whole `/body/flags`; undefined if the slash begins a path or the expression is incomplete. */
  #readRegex(mode: 'identifier' | 'pattern'): Token | undefined {
    const offset = this.position;
    const closings = this.#closings.get(mode) ?? findClosings(this.text, regexStops[mode]);
    this.#closings.set(mode, closings);
    const close = closings[offset + 1] ?? -1;
    if (close <= offset + 1) return undefined;
    regexTail.lastIndex = close + 1;
    const flags = regexTail.exec(this.text)?.[1];
    if (flags === undefined || !areFlags(flags)) return undefined;
    const length = close + 1 + flags.length - offset;
    return this.#take('regex', this.text.slice(offset, offset + length), length);
  }
}
