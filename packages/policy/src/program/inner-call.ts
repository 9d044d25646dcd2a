/** Something that a program executes in turn. */
export type InnerCall = (
  | /** A program with its words. */ { readonly words: readonly string[] }
  | /** A line for a shell. */ { readonly line: string }
  | /** Text that is executed as a shell line or as code of another language. */ { readonly code: string }
) & {
  /** `guess`: only if words that we know nothing of are the wrapper's own, so the person is told no reason of it. */
  readonly certainty: 'sure' | 'possible' | 'guess';
};
