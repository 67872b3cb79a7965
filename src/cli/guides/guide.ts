/** A part of a guide: a paragraph, lines to type, or terms with what they mean. Words between backticks are to be typed. */
export type Block =
  | string
  | { readonly lines: readonly string[] }
  | { readonly terms: readonly (readonly [term: string, meaning: string])[] };

/** A page that explains something that is larger than one command. */
export interface Guide {
  /** Of the page in section 7 of the manual. */
  readonly page: string;
  /** What `cloud help` calls it. */
  readonly topic: string;
  /** One line without a full stop. */
  readonly summary: string;
  readonly sections: readonly { readonly title: string; readonly blocks: readonly Block[] }[];
}
