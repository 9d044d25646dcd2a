/** `node packages/protocol/scripts/write-protocol-doc.ts`: rewrites the tables of docs/protocol.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fillTables } from './protocol-tables.ts';

const path = new URL('../../../docs/protocol.md', import.meta.url);
const before = readFileSync(path, 'utf8');
const after = fillTables(before);
if (after !== before) writeFileSync(path, after);
console.log(after === before ? 'docs/protocol.md is in step.' : 'docs/protocol.md was rewritten.');
