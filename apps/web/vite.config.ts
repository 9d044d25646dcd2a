import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** apps/server serves this bundle under a content security policy that forbids inline code, so nothing is inlined. */
export default defineConfig({
  base: './',
  plugins: [react()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: { fileName: 'licenses.txt' },
  },
});
