import {
  callFromLine as lineToCall,
  splitLine as lineToWords,
  type TypedCall,
  callFromWords as wordsToCall,
} from '@countersign/protocol';

/** Typed tool calls as the terminal takes them: the forms of the manual model (AG-1), with our own help. */
const options = { help: 'countersign policy --help' };

export type { TypedCall };
export const callFromWords = (words: readonly string[]): TypedCall => wordsToCall(words, options);
export const callFromLine = (line: string): TypedCall => lineToCall(line, options);
export const splitLine = (line: string): string[] => lineToWords(line, options);
