import { unpacksOverExecutingPlaces } from '../command/general-rules.ts';
import type { Judgement } from '../command/judgement.ts';
import { executingPlaces } from '../executing-places.ts';

/** Names that a directory may hold and that lead to a place of VA-3: `.git`, `.vscode`, `.github/workflows`. */
const executingNames: readonly string[] = executingPlaces.places.flatMap(
  ({ names = [], directories = [], runs = [] }) => [...names, ...directories, ...runs],
);

/**
 * An archive decides by itself which files it writes below `target`. In the root of the workspace, and wherever
 * places of VA-3 are, those may be among them; no grant answers for that.
 */
export function judgeUnpacking(target: string, judgement: Judgement): void {
  const checked = judgement.path(target, 'write', { makes: false });
  if (!checked) return;
  const holdsPlace = executingNames.some((name) => {
    const inside = judgement.look(`${target}/${name}`);
    return inside.ok && inside.entry !== undefined;
  });
  if (checked.relative === '' || holdsPlace) judgement.raise(unpacksOverExecutingPlaces, target);
}
