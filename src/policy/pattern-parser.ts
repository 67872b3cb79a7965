/** The syntax tree of a regular expression. */
export type Node =
  | { kind: 'character'; source: string }
  | { kind: 'anchor'; sign: string }
  | { kind: 'sequence'; parts: Node[] }
  | { kind: 'choice'; options: Node[] }
  | { kind: 'repeat'; part: Node; least: number; most: number };

const deepest = 50;

class Unsupported extends Error {}

/** Parses an expression whose syntax JavaScript's RegExp has already accepted. */
class PatternReader {
  readonly #body: string;
  readonly #unicode: boolean;
  #at = 0;
  #depth = 0;

  constructor(body: string, unicode: boolean) {
    this.#body = body;
    this.#unicode = unicode;
  }

  readChoice(): Node {
    if (++this.#depth > deepest) throw new Unsupported(`has more than ${deepest} nested groups`);
    const options = [this.#readSequence()];
    while (this.#body[this.#at] === '|') {
      this.#at++;
      options.push(this.#readSequence());
    }
    this.#depth--;
    const [only] = options;
    return only && options.length === 1 ? only : { kind: 'choice', options };
  }

  #readSequence(): Node {
    const parts: Node[] = [];
    for (
      let character = this.#body[this.#at];
      character !== undefined && character !== '|' && character !== ')';
      character = this.#body[this.#at]
    ) {
      const part = this.#readAtom(character);
      parts.push(part.kind === 'anchor' ? part : this.#readRepeat(part));
    }
    return { kind: 'sequence', parts };
  }

  #readAtom(character: string): Node {
    if (character === '^' || character === '$') return this.#take('anchor', 1);
    if (character === '(') return this.#readGroup();
    if (character === '[') return this.#readClass();
    if (character === '\\') return this.#readEscape();
    const whole = this.#unicode ? String.fromCodePoint(this.#body.codePointAt(this.#at) ?? 0) : character;
    // A brace, bracket or slash that is literal in the whole expression must be escaped in an expression of its own.
    this.#at += whole.length;
    return { kind: 'character', source: /^[{}\]/]$/.test(whole) ? `\\${whole}` : whole };
  }

  #take(kind: 'anchor' | 'character', length: number): Node {
    const text = this.#body.slice(this.#at, this.#at + length);
    this.#at += length;
    return kind === 'anchor' ? { kind, sign: text } : { kind, source: text };
  }

  #readGroup(): Node {
    const opening = /\((?:\?(?:[:]|<?[=!]|<[^>]*>|))?/y;
    opening.lastIndex = this.#at;
    const sign = opening.exec(this.#body)?.[0] ?? '(';
    if (/^\(\?<?[=!]$/.test(sign)) throw new Unsupported('uses lookahead or lookbehind');
    if (sign === '(?') throw new Unsupported('changes its flags in a group');
    this.#at += sign.length;
    const inner = this.readChoice();
    this.#at++;
    return inner;
  }

  #readClass(): Node {
    const whole = /\[(?:\\[^]|[^\]\\])*\]/y;
    whole.lastIndex = this.#at;
    return this.#take('character', whole.exec(this.#body)?.[0].length ?? 1);
  }

  #readEscape(): Node {
    const next = this.#body[this.#at + 1] ?? '';
    if (next === 'b' || next === 'B') return this.#take('anchor', 2);
    if (/[1-9k]/.test(next)) throw new Unsupported('uses a backreference');
    const long = this.#unicode
      ? /\\(?:u\{[0-9A-Fa-f]+\}|[uU][dD][89abAB]..\\u[dD][c-fC-F]..|u....|x..|c.|[pP]\{[^}]*\}|[^])/y
      : /\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|c[A-Za-z]|0[0-7]{0,2}|[^])/y;
    long.lastIndex = this.#at;
    return this.#take('character', long.exec(this.#body)?.[0].length ?? 2);
  }

  #readRepeat(part: Node): Node {
    const sign = /([*+?]|\{(\d+)(,?)(\d*)\})\??/y;
    sign.lastIndex = this.#at;
    const found = sign.exec(this.#body);
    if (!found) return part;
    this.#at += found[0].length;
    const [, kind = '', least = '0', comma = '', most = ''] = found;
    if (kind === '*') return { kind: 'repeat', part, least: 0, most: Infinity };
    if (kind === '+') return { kind: 'repeat', part, least: 1, most: Infinity };
    if (kind === '?') return { kind: 'repeat', part, least: 0, most: 1 };
    const upper = comma === '' ? Number(least) : most === '' ? Infinity : Number(most);
    return { kind: 'repeat', part, least: Number(least), most: upper };
  }
}

/** Parses an expression that JavaScript's RegExp accepts, or names the feature that this language does not support. */
export function parsePattern(body: string, flags: string): Node | { problem: string } {
  try {
    return new PatternReader(body, flags.includes('u')).readChoice();
  } catch (error) {
    if (error instanceof Unsupported) return { problem: `the regular expression ${error.message}, which rules do not support` };
    throw error;
  }
}
