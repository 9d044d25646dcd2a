import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A content search finds this in one file of a hundred. */
export const needle = 'needleInAHaystack';
/** A name search finds one file of a hundred. */
export const wantedNames = '*.spec.ts';

const filesInFolder = 100;

/** A tree like a large source tree: folders of a hundred short files, two levels deep. */
export function makeLargeTree(root: string, files: number): void {
  const text = 'export const value = compute(1, 2, 3); // some words of text\n'.repeat(8);
  for (let folder = 0; folder < files / filesInFolder; folder += 1) {
    const path = join(root, `part-${folder % 30}`, `folder-${folder}`);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'file-0.spec.ts'), `${text}${needle}(${folder});\n${text}`);
    for (let file = 1; file < filesInFolder; file += 1) writeFileSync(join(path, `file-${file}.ts`), text);
  }
}
