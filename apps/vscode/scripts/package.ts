/** `npm run package:vscode`: builds the extension and packs it with vsce into dist/countersign.vsix. */
import { statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createVSIX } from '@vscode/vsce';
import { buildExtension } from './build.ts';

const root = join(import.meta.dirname, '..');
const packagePath = join(root, 'dist', 'countersign.vsix');
const limit = 8 * 1024 * 1024;

await buildExtension();
await createVSIX({
  cwd: root,
  packagePath,
  dependencies: false, // everything is in the bundle
  allowMissingRepository: true,
  rewriteRelativeLinks: false,
});
const { size } = statSync(packagePath);
const shown = `${relative(process.cwd(), packagePath)}: ${(size / 1024 / 1024).toFixed(2)} MB`;
if (size > limit) {
  console.error(`${shown}, which is more than ${limit / 1024 / 1024} MB.`);
  process.exitCode = 1;
} else console.log(shown);
