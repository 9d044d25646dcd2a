/** `node packages/words/scripts/untranslated.ts`: counts the sentences of each language that are the same as in English. */
import { editorWords } from '../src/editor.ts';
import { approvalWords, languageNames } from '../src/index.ts';
import { pageWords } from '../src/page.ts';
import { sentences } from '../src/said.ts';
import { serverWords } from '../src/server.ts';
import { terminalWords } from '../src/terminal.ts';

const tables = [approvalWords, editorWords, pageWords, sentences, serverWords, terminalWords];

/** Every sentence by its id. A function that makes a sentence is compared by its source code. */
const textsOf = (words: object, path = ''): [id: string, text: string][] =>
  Object.entries(words).flatMap(([name, word]: [string, unknown]): [string, string][] =>
    typeof word === 'object' && word !== null
      ? textsOf(word, `${path}.${name}`)
      : [[`${path}.${name}`, String(word)]],
  );

for (const language of Object.keys(languageNames) as (keyof typeof languageNames)[]) {
  if (language === 'en') continue;
  const pairs = tables.flatMap((table) => {
    const own = new Map(textsOf(table[language]));
    return textsOf(table.en).map(([id, text]) => own.get(id) === text);
  });
  console.log(`${language} untranslated: ${pairs.filter(Boolean).length} of ${pairs.length}`);
}
