/** Loaded before a program's own modules (`--import`): patches some sources while Node loads them. */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { applyPatches, type Patch } from './broken-builds.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const patches = JSON.parse(process.env.FAULTS_PATCHES ?? '[]') as readonly Patch[];
// Remove what the real program would not have in its environment.
delete process.env.FAULTS_PATCHES;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const file = url.startsWith('file:') ? fileURLToPath(url).slice(root.length) : '';
    if (!patches.some((patch) => patch.file === file)) return loaded;
    return { ...loaded, source: applyPatches(file, String(loaded.source), patches) };
  },
});
