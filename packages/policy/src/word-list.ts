/** The words of a text: long lists of names are written as a manual writes them. */
export const wordList = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');
