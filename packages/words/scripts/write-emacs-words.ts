/** `node packages/words/scripts/write-emacs-words.ts`: the words that Emacs loads, as JSON. A test says when it is due. */
import { writeFileSync } from 'node:fs';
import { emacsFile } from '../src/emacs.ts';

writeFileSync(new URL('../../../apps/emacs/countersign-words.json', import.meta.url), emacsFile);
