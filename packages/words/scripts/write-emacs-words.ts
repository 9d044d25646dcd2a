/** `node packages/words/scripts/write-emacs-words.ts`: writes the texts that Emacs loads. A test fails if they are out of date. */
import { writeFileSync } from 'node:fs';
import { emacsFile } from '../src/emacs.ts';

writeFileSync(new URL('../../../apps/emacs/countersign-words.json', import.meta.url), emacsFile);
