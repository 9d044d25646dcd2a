/** What is read and written in every scenario, so that all carry the same. */
export const fileText = 'The quick brown fox jumps over the lazy dog. '.repeat(5);
export const readParams = { path: 'README.md' };
export const writeParams = { path: 'notes.md', content: fileText };
