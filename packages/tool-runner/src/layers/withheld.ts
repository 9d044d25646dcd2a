import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { normalize } from 'node:path';
import { executingPlaces } from '@countersign/policy';
import { inFolder, nameFromDisk } from '../isolation/disk-names.ts';
import { gitControlEntries, gitOperationFolders } from '../isolation/executing-place-guard.ts';
import type { Confinement } from '../isolation/isolated-process.ts';
import {
  executesLater,
  looksLikeRepository,
  mayStandForFolder,
  type SpecialPlaces,
} from '../isolation/workspace-scan.ts';
import { tryOr } from '../try-or.ts';
import type { Effect, EntryState } from './effect.ts';
import { Turns } from './turns.ts';

export interface SplitEffects {
  readonly landing: readonly Effect[];
  /** Effects in places that execute later (VA-3). */
  readonly withheld: readonly Effect[];
}

/**
 * Splits off the effects that must not land with the others, because the place executes later (VA-3): by its name, because
 * it was such a place before, because a link leads there, or because git obeys it. `places` are those of the workspace before
 * landing. Of `.git`, what `writableGit` allows lands.
 */
export async function splitWithheld(
  effects: readonly Effect[],
  {
    root,
    places,
    writableGit,
  }: {
    readonly root: string;
    readonly places: Pick<SpecialPlaces, 'executing' | 'aliases'>;
    readonly writableGit: Confinement['writableGit'];
  },
): Promise<SplitEffects> {
  if (effects.length === 0) return { landing: [], withheld: [] };
  const now = new View(root, new Map());
  const then = new View(root, new Map(effects.map((effect) => [effect.path, effect])));
  const known = new Set(places.executing.map(({ path }) => path));
  const links = places.executing.filter(({ type }) => type === 'link');
  for (const view of [now, then])
    for (const { path } of links) for (const step of view.follow(path)) known.add(step);
  const aliases = [now, then].flatMap((view) =>
    places.aliases.map((alias) => ({ alias, leadsTo: view.follow(alias).at(-1) ?? alias })),
  );
  const repositories = new NewRepositories(now, then);
  const landsAll = writableGit === 'everything';

  const isWithheld = (effect: Effect): boolean => {
    const { path, after } = effect;
    const git = gitPart(path);
    if (git && writableGit !== undefined) return !landsInGit(effect, git, writableGit, now);
    if (isAtOrBelow(path, known)) return true;
    if (landsAll) return false;
    if (executesLater(path)) return true;
    if (repositories.has(path)) return true;
    const standsFor = ({ alias, leadsTo }: { alias: string; leadsTo: string }): boolean =>
      path.startsWith(`${leadsTo}/`) &&
      executingPlaces.find(alias + path.slice(leadsTo.length)) !== undefined;
    if (aliases.some(standsFor)) return true;
    const isAlias = after?.type === 'link' && mayStandForFolder(path);
    return isAlias && then.names(path).some((name) => executingPlaces.find(`${path}/${name}`) !== undefined);
  };

  const withheld = new Set<Effect>();
  const turns = new Turns();
  for (const effect of effects) {
    await turns.next();
    if (isWithheld(effect)) withheld.add(effect);
  }
  if (withheld.size > 0) completeWithheld(effects, withheld);
  return {
    landing: effects.filter((effect) => !withheld.has(effect)),
    withheld: effects.filter((effect) => withheld.has(effect)),
  };
}

/**
 * Adds what cannot land without the others: what is below an entry that stays what it is, a folder that was made or removed
 * only for what is withheld.
 */
function completeWithheld(effects: readonly Effect[], withheld: Set<Effect>): void {
  const replaced = new Set(
    [...withheld].filter(({ before, after }) => before?.type !== after?.type).map(({ path }) => path),
  );
  for (const effect of effects) if (isAtOrBelow(effect.path, replaced)) withheld.add(effect);
  /** Folders with an entry that is withheld, and folders with an entry that lands. */
  const holding = { withheld: new Set<string>(), landing: new Set<string>(), kept: new Set<string>() };
  for (const effect of effects.toReversed()) {
    const { path, before, after } = effect;
    const isMade = after?.type === 'directory' && before?.type !== 'directory';
    const isRemoved = before?.type === 'directory' && after?.type !== 'directory';
    if (isMade && holding.withheld.has(path) && !holding.landing.has(path)) withheld.add(effect);
    if (isRemoved && holding.kept.has(path)) withheld.add(effect);
    const folder = folderOf(path);
    if (withheld.has(effect)) holding.withheld.add(folder);
    else holding.landing.add(folder);
    if (withheld.has(effect) && before) holding.kept.add(folder);
  }
}

/** The `.git` in which a path is, and the path in it. */
interface GitPart {
  readonly folder: string;
  /** Empty for the `.git` itself. */
  readonly inside: readonly string[];
}

function gitPart(path: string): GitPart | undefined {
  const names = path.split('/');
  const at = names.findIndex((name) => name.toLowerCase() === '.git');
  return at < 0 ? undefined : { folder: names.slice(0, at + 1).join('/'), inside: names.slice(at + 1) };
}

const control = new Set(gitControlEntries);
const operations = new Set(gitOperationFolders);

/** Whether an effect in a `.git` is among what the command may write there. */
function landsInGit(
  { after, before }: Effect,
  { folder, inside }: GitPart,
  writableGit: NonNullable<Confinement['writableGit']>,
  now: View,
): boolean {
  const [entry = ''] = inside;
  const known = now.look(folder)?.type;
  if (writableGit === 'everything' && known === undefined) return true; // `git init` and `git clone`
  if (known === 'file' || known === 'link') return false;
  if (writableGit !== 'data') return known !== undefined && entry !== 'hooks';
  const isFolder = [before, after].every((state) => state === undefined || state.type === 'directory');
  if (entry === '') return folder === '.git' && isFolder;
  return folder === '.git' && !control.has(entry) && !operations.has(entry) && after?.type !== 'link';
}

/** Git takes a folder with certain entries for a repository, and runs the programs that its settings name. */
class NewRepositories {
  readonly #now: View;
  readonly #then: View;
  readonly #known = new Map<string, boolean>();

  constructor(now: View, then: View) {
    this.#now = now;
    this.#then = then;
  }

  /** Whether the path is part of what makes a folder a repository that was none before. */
  has(path: string): boolean {
    const names = path.split('/');
    return names.some((name, at) => repositoryEntries.has(name) && this.#isNew(names.slice(0, at).join('/')));
  }

  #isNew(folder: string): boolean {
    const known = this.#known.get(folder);
    if (known !== undefined) return known;
    const looksLike = (view: View): boolean =>
      looksLikeRepository((name) => view.look(folder === '' ? name : `${folder}/${name}`) !== undefined);
    const isNew = looksLike(this.#then) && !looksLike(this.#now);
    this.#known.set(folder, isNew);
    return isNew;
  }
}

const repositoryEntries: ReadonlySet<string> = new Set([
  ...['HEAD', 'objects', 'refs', 'commondir'],
  ...['config', 'config.worktree', 'hooks'],
]);

function isAtOrBelow(path: string, places: ReadonlySet<string>): boolean {
  if (places.size === 0) return false;
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1))
    if (places.has(path.slice(0, end))) return true;
  return false;
}

type Look = Pick<EntryState, 'type' | 'version'>;

/** The workspace as it would be with these effects. */
class View {
  readonly #root: string;
  readonly #effects: ReadonlyMap<string, Effect>;
  readonly #looked = new Map<string, Look | undefined>();
  /** The names in folders, and what the effects make in each folder. */
  readonly #names = new Map<string, readonly string[]>();
  #made: Map<string, string[]> | undefined;

  constructor(root: string, effects: ReadonlyMap<string, Effect>) {
    this.#root = root;
    this.#effects = effects;
  }

  /** The entry at a path; a link itself. */
  look(path: string): Look | undefined {
    const effect = this.#effects.get(path);
    if (effect) return effect.after;
    if (!this.#looked.has(path)) this.#looked.set(path, this.#lookAtDisk(path));
    return this.#looked.get(path);
  }

  #lookAtDisk(path: string): Look | undefined {
    return tryOr(() => {
      const slash = path.lastIndexOf('/');
      return inFolder(this.#root, path.slice(0, Math.max(slash, 0)), (at) => {
        const name = at(path.slice(slash + 1));
        const stats = lstatSync(name, { throwIfNoEntry: false });
        if (!stats?.isSymbolicLink())
          return stats && { type: stats.isDirectory() ? 'directory' : 'file', version: '' };
        return { type: 'link', version: `link:${nameFromDisk(readlinkSync(name, { encoding: 'buffer' }))}` };
      });
    }, undefined);
  }

  /**
   * The links on the way to where a path leads, and last that place, even if nothing is there. Ends at a link that leads out
   * of the workspace.
   */
  follow(path: string): string[] {
    const steps: string[] = [];
    let todo = path.split('/');
    let done: string[] = [];
    for (let links = 0; todo.length > 0; ) {
      const [name = '', ...rest] = todo;
      todo = rest;
      if (name === '..') {
        if (done.length === 0) return steps;
        done = done.slice(0, -1);
        continue;
      }
      if (name === '' || name === '.') continue;
      const here = [...done, name].join('/');
      const entry = this.look(here);
      if (entry?.type !== 'link') {
        done = [...done, name];
        continue;
      }
      steps.push(here);
      if (++links > MAX_LINKS) return steps;
      const target = entry.version.slice('link:'.length);
      if (!target.startsWith('/')) todo = [...target.split('/'), ...todo];
      else {
        const inside = normalize(target);
        if (!inside.startsWith(`${this.#root}/`)) return steps;
        done = [];
        todo = [...inside.slice(this.#root.length + 1).split('/'), ...todo];
      }
    }
    if (done.length > 0) steps.push(done.join('/'));
    return steps;
  }

  /** The names in the folder to which a path leads. */
  names(path: string): readonly string[] {
    const folder = this.follow(path).at(-1) ?? path;
    const known = this.#names.get(folder);
    if (known) return known;
    const below = tryOr(
      () =>
        inFolder(this.#root, folder, (at) => readdirSync(at('.'), { encoding: 'buffer' }).map(nameFromDisk)),
      [],
    );
    this.#made ??= Map.groupBy(
      [...this.#effects.values()].flatMap(({ path: made, after }) => (after ? [made] : [])),
      folderOf,
    );
    const made = (this.#made.get(folder) ?? []).map((entry) => entry.slice(entry.lastIndexOf('/') + 1));
    const names = [...new Set([...below, ...made])];
    this.#names.set(folder, names);
    return names;
  }
}

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** As the kernel: more links lead nowhere. */
const MAX_LINKS = 40;
