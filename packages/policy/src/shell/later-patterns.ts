import { executingPlaces } from '../executing-places.ts';
import type { NamedPlace } from '../named-place.ts';
import { matchesPattern } from './pattern.ts';

/** The place of VA-3 that a path with patterns may name: `.git/h*ks`, `.vsc?de/tasks.json`. */
export function findLaterByPattern(path: string): NamedPlace | undefined {
  const components = path.toLowerCase().split('/').filter(Boolean);
  const last = components.at(-1) ?? '';
  return executingPlaces.places.find(
    ({ names, directories, runs }) =>
      names?.some((name) => mayName(last, name)) ||
      directories?.some((name) => components.some((component) => mayName(component, name))) ||
      runs?.some((run) => mayPassThrough(components, run.split('/'))),
  );
}

function mayPassThrough(components: readonly string[], names: readonly string[]): boolean {
  return components.some((_, start) => names.every((name, i) => mayName(components[start + i] ?? '', name)));
}

/** A pattern that says nothing of a name (`*`, `*.json`) is not taken for it; bash's `*` takes no leading dot. */
function mayName(component: string, name: string): boolean {
  return component[0] === name[0] && matchesPattern(component, name);
}
