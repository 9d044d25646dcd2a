/** Shows the product without a model: reads a file, edits it (asks), runs the tests (asks). */
export const sampleFirstMessage = [
  '/read_file path=src/greeting.js',
  '/edit_file path=src/greeting.js old=Helo new=Hello',
  '/run node --test',
].join('\n');
