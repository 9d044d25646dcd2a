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
/** Keeps most of the code in a separate file, which the extension loads after activation. */
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
  process.env.NODE_ENV = 'production'; // set it even in tests, so that React's production build is bundled
  await bundle({
    input: { [workplace]: join(root, 'src', 'editor', 'workplace.ts') },
    platform: 'node',
    // The editor provides `vscode`, ripgrep and language features.
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
    // CommonJS loads synchronously. An ES module would wait for other extensions that are starting.
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
      // Build a single script: the page's content security policy allows only the one with the nonce.
      rolldownOptions: {
        input: join(root, 'src', 'webview', 'main.tsx'),
        output: { codeSplitting: false, entryFileNames: 'chat.js', assetFileNames: 'chat[extname]' },
      },
    },
  });
}
