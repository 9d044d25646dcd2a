/** Builds the extension: the code for the extension host and the chat's page. Everything packaged is in `dist/`. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { build as bundle, type Plugin } from 'rolldown';
import { build as buildPage } from 'vite';
import { withLicences } from '../../../tooling/package/licences.ts';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

const workplace = 'workplace';
/** Keeps the large part in a separate file, which the extension loads after activation. */
const lazyWorkplace: Plugin = {
  name: 'lazy-workplace',
  resolveId: (id) => (id.endsWith('/workplace.ts') ? { id: `./${workplace}.js`, external: true } : null),
};

/**
 * Replaces the previous build. The source maps of the extension host's code stay in `dist/` and are not packaged: test
 * coverage needs them.
 */
export async function buildExtension(): Promise<void> {
  rmSync(dist, { recursive: true, force: true });
  process.env.NODE_ENV = 'production'; // also in tests: React has a development and a production build
  await bundle({
    input: { [workplace]: join(root, 'src', 'editor', 'workplace.ts') },
    platform: 'node',
    // The editor provides `vscode`. Its own ripgrep and language features replace the ones that we ship elsewhere.
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
    plugins: [lazyWorkplace],
    // CommonJS loads synchronously. An ES module would have to wait for the other extensions that are starting.
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
