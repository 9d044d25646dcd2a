import {
  callFromLine as lineToCall,
  type TypedCall,
  callFromWords as wordsToCall,
} from '@countersign/protocol';

/** Parsers of typed tool calls, as for the manual model (AG-1). Errors point to the help of this command. */
const options = { help: 'countersign policy --help' };

export type { TypedCall };
export const callFromWords = (words: readonly string[]): TypedCall => wordsToCall(words, options);
export const callFromLine = (line: string): TypedCall => lineToCall(line, options);
