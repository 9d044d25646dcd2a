/** Loaded before a program's own modules (`--import`): some of its sources are read otherwise than they stand. */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type Patch, type Sabotage, sabotages } from './sabotage.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const patches: readonly Patch[] = sabotages[process.env.FAULTS_BROKEN as Sabotage] ?? [];
// Nothing of ours is in the environment that the real program would have.
delete process.env.FAULTS_BROKEN;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const path = url.startsWith('file:') ? fileURLToPath(url).slice(root.length) : '';
    const wanted = patches.filter(({ file }) => file === path);
    if (wanted.length === 0) return loaded;
    let source = String(loaded.source);
    for (const { find, replace } of wanted) {
      if (source.split(find).length !== 2) throw new Error(`${path} does not have "${find}" just once`);
      source = source.replace(find, () => replace);
    }
    return { ...loaded, source };
  },
});
