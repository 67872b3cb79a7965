import { Scanner, type Mode, type Token } from './scanner.ts';
import { reservedWords } from './rule.ts';
import { quoteForMessage, type Place, type PolicySyntaxError } from './syntax-error.ts';

/** Reads a rule token by token, with one token of lookahead, and records the places of the nodes that the parser makes. */
export class Reader {
  readonly #scanner: Scanner;
  readonly #places = new Map<object, Place>();
  #ahead: { mode: Mode; token: Token; after: number } | undefined;
  /** Offset of the end of the last token that was read. */
  end = 0;

  constructor(text: string) {
    this.#scanner = new Scanner(text);
  }

  /** The next token, without consuming it. */
  peek(mode: Mode): Token {
    if (this.#ahead?.mode === mode) return this.#ahead.token;
    const before = this.#scanner.position;
    const token = this.#scanner.read(mode);
    this.#ahead = { mode, token, after: this.#scanner.position };
    this.#scanner.position = before;
    return token;
  }

  /** Consumes the next token. */
  read(mode: Mode): Token {
    const token = this.peek(mode);
    this.#scanner.position = this.#ahead?.after ?? this.#scanner.position;
    this.#ahead = undefined;
    this.end = token.offset + token.length;
    return token;
  }

  /** Records the place of a node. */
  place<T extends object>(node: T, { offset, length }: Place): T {
    this.#places.set(node, { offset, length });
    return node;
  }

  /** Reads a node and records that it extends from `start` to the end of the last token. */
  placed<T extends object>(start: Place, read: () => T): T {
    const node = read();
    return this.place(node, { offset: start.offset, length: this.end - start.offset });
  }

  /** The place of a node, for errors. */
  placeOf(node: object): Place {
    return this.#places.get(node) ?? { offset: 0, length: 0 };
  }

  /** True if the token is this word, in any case and without quotation marks. */
  isWord(token: Token, word: string): boolean {
    return token.kind === 'word' && token.text.toUpperCase() === word;
  }

  createError(problem: string, place: Place): PolicySyntaxError {
    return this.#scanner.createError(problem, place);
  }

  /** An error that names what is missing before the token that was found. */
  createMissingError(wanted: string, found: Token): PolicySyntaxError {
    if (found.kind === 'end') return this.createError(`${wanted} is missing at the end of the rule`, found);
    if (found.kind === '::')
      return this.createError('"::" is only allowed between a name and its type: put words that contain it in quotation marks', found);
    return this.createError(`${wanted} is missing before ${quoteForMessage(found.text)}`, found);
  }

  /** An error that names what belongs in the place of the token that was found, and the form of the whole. */
  createExpectedError(wanted: string, form: string, found: Token): PolicySyntaxError {
    const problem = found.kind === 'end' ? `${wanted} is missing` : `${wanted} is expected, not ${quoteForMessage(found.text)}`;
    return this.createError(`${problem}: ${form}`, found);
  }

  /** @throws {PolicySyntaxError} for a reserved word in the place of a name */
  assertNotReserved(token: Token, wanted: string): void {
    const word = token.text.toUpperCase();
    if (token.kind !== 'word' || !reservedWords.has(word)) return;
    throw this.createError(
      `${wanted} is missing before ${word}, which is a reserved word: put it in quotation marks to use it as a name`,
      token,
    );
  }

  /** @throws {PolicySyntaxError} for a closing parenthesis */
  assertNotClosing(token: Token): void {
    if (token.kind === ')') throw this.createError('unmatched closing parenthesis', token);
  }
}
