/** The words that a person searches for. */
export const wordsOf = (text: string): readonly string[] => text.split(/\s+/u).filter((word) => word !== '');
