/** `node packages/protocol/scripts/write-card-digests.ts`: computes each empty `"digest": ""` of fixtures/cards.json. */
import { readFileSync, writeFileSync } from 'node:fs';
import { type ShownCall, shownDigest } from '../src/digest.ts';

const path = new URL('../fixtures/cards.json', import.meta.url);
let text = readFileSync(path, 'utf8');
const cards = JSON.parse(text) as (ShownCall & { digest: string | null })[];
for (const card of cards.filter(({ digest }) => digest === ''))
  text = text.replace('"digest": ""', `"digest": "${shownDigest(card)}"`);
writeFileSync(path, text);
