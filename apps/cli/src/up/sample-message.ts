/** The whole loop in one message that needs no model: read, change (asks), run the tests (asks). */
export const sampleFirstMessage = [
  '/read_file path=src/greeting.js',
  '/edit_file path=src/greeting.js old=Helo new=Hello',
  '/run node --test',
].join('\n');
