/** Builds the extension: what runs in the extension host, and the chat's page. `dist/` has all that is packaged. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { build as bundle, type Plugin } from 'rolldown';
import { build as buildPage } from 'vite';
import { withLicences } from '../../../tooling/package/licences.ts';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

const workplace = 'workplace';
/** What is heavy is a file of its own, which the extension loads when it has been activated. */
const workplaceBehind: Plugin = {
  name: 'workplace-behind',
  resolveId: (id) => (id.endsWith('/workplace.ts') ? { id: `./${workplace}.js`, external: true } : null),
};

/**
 * Replaces what was built before. The source maps of what runs in the extension host stay in `dist/`, outside of the
 * package: the tests count lines by them.
 */
export async function buildExtension(): Promise<void> {
  rmSync(dist, { recursive: true, force: true });
  process.env.NODE_ENV = 'production'; // also where tests build it: React has two faces
  await bundle({
    input: { [workplace]: join(root, 'src', 'editor', 'workplace.ts') },
    platform: 'node',
    // The editor gives itself; its own ripgrep and its language features take the place of what we bring elsewhere.
    external: ['vscode', '@vscode/ripgrep', 'typescript', 'pyright'],
    plugins: [withLicences('licenses.txt')],
    output: {
      dir: dist,
      format: 'esm',
      minify: true,
      sourcemap: 'hidden',
      chunkFileNames: '[name]-[hash].js',
    },
    logLevel: 'warn',
  });
  await bundle({
    input: { extension: join(root, 'src', 'extension.ts') },
    platform: 'node',
    external: ['vscode'],
    plugins: [workplaceBehind],
    // CommonJS is loaded at once. A module would wait, with all other extensions that are being started, for its turn.
    output: { dir: dist, format: 'cjs', minify: true, sourcemap: 'hidden', entryFileNames: '[name].cjs' },
    logLevel: 'warn',
  });
  await buildPage({
    root,
    configFile: false,
    logLevel: 'warn',
    plugins: [react()],
    define: { 'process.env.NODE_ENV': '"production"' },
    build: {
      outDir: join(dist, 'webview'),
      target: 'es2022',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      license: { fileName: 'licenses.txt' },
      // One file: the page's policy allows one script, by its nonce.
      rolldownOptions: {
        input: join(root, 'src', 'webview', 'main.tsx'),
        output: { codeSplitting: false, entryFileNames: 'chat.js', assetFileNames: 'chat[extname]' },
      },
    },
  });
}
