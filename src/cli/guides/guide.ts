/** A part of a guide: a paragraph, command lines, or terms with their meanings. Words between backticks are literal. */
export type Block =
  | string
  | { readonly lines: readonly string[] }
  | { readonly terms: readonly (readonly [term: string, meaning: string])[] };

/** A page about a subject that concerns several commands. */
export interface Guide {
  /** Name of the page in section 7 of the manual. */
  readonly page: string;
  /** Name of the topic in `cloud help`. */
  readonly topic: string;
  /** One line without a full stop. */
  readonly summary: string;
  readonly sections: readonly { readonly title: string; readonly blocks: readonly Block[] }[];
}
