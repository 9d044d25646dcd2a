import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** One bundle, served by apps/server under a policy without inline code: nothing is inlined here. */
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
