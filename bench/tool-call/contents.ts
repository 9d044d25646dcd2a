/** The same content for every scenario. */
export const fileText = 'The quick brown fox jumps over the lazy dog. '.repeat(5);
export const readParams = { path: 'README.md' };
export const writeParams = { path: 'notes.md', content: fileText };
