/** Loaded before a program's own modules (`--import`): some of its sources are read otherwise than they stand. */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { applyPatches, type Patch } from './sabotage.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const patches = JSON.parse(process.env.FAULTS_PATCHES ?? '[]') as readonly Patch[];
// Nothing of ours is in the environment that the real program would have.
delete process.env.FAULTS_PATCHES;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const file = url.startsWith('file:') ? fileURLToPath(url).slice(root.length) : '';
    if (!patches.some((patch) => patch.file === file)) return loaded;
    return { ...loaded, source: applyPatches(file, String(loaded.source), patches) };
  },
});
