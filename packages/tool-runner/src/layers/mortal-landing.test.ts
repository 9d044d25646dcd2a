import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultLimits } from '@countersign/protocol';
import { afterAll, afterEach, expect, it } from 'vitest';
import { Journal } from '../journal/journal.ts';
import { recoverJournal } from '../journal/recovery.ts';
import type { ResultReport } from '../runner-api.ts';
import { FileUndo } from '../undo/file-undo.ts';
import { type LandingRequest, landingIn } from './landing.ts';
import type { MortalLanding } from './mortal-landing.test-data.ts';
import { effectsBetween, layerLike, looksOf, treeOf } from './tree.test-data.ts';

const program = fileURLToPath(new URL('mortal-landing.test-data.ts', import.meta.url));
const silent = { debug() {}, info() {}, error() {} };
const compiled = mkdtempSync(join(tmpdir(), 'countersign-compiled-'));
afterAll(() => rmSync(compiled, { recursive: true }));
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Small and repeatable, so that a failing seed fails again. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Changes a tree as a command might: a handful of random changes of all kinds. */
function disturb(root: string, random: (below: number) => number): void {
  const at = (path: string) => join(root, path);
  for (let step = 0; step < 6; step++) {
    const paths = readdirSync(root, { recursive: true, encoding: 'utf8' });
    const one = at(paths[random(paths.length)] ?? 'x');
    const folder = paths.filter((path) => lstatSync(at(path)).isDirectory());
    const fresh = at(join(folder[random(folder.length)] ?? '.', `new-${step}-${random(1000)}`));
    const isFolder = lstatSync(one, { throwIfNoEntry: false })?.isDirectory();
    const kind = random(9);
    if (kind === 0) rmSync(one, { recursive: true });
    else if (kind === 1) mkdirSync(fresh, { mode: 0o750 });
    else if (kind === 2) symlinkSync('some/where', fresh);
    else if (kind === 3 && !lstatSync(one).isSymbolicLink()) chmodSync(one, isFolder ? 0o711 : 0o604);
    else if (kind === 4) renameSync(one, fresh.startsWith(`${one}/`) ? `${one}-moved` : fresh);
    else if (kind === 5 && !isFolder) linkSync(one, fresh);
    else if (kind === 6) {
      rmSync(one, { recursive: true });
      if (isFolder) writeFileSync(one, `a file now ${step}`);
      else mkdirSync(one);
    } else if (isFolder) writeFileSync(fresh, `new ${step}`);
    else {
      rmSync(one);
      writeFileSync(one, `changed ${step} ${random(1000)}`);
    }
  }
}

/** Renaming and linking from elsewhere into a mount fails with EXDEV, although the device has the same number. */
const bindMount = 'mount --bind "$1" "$1" && shift && exec "$@"';

class Story {
  readonly root: string;
  readonly state: string;
  readonly request: LandingRequest;
  readonly before: Record<string, string>;
  readonly after: Record<string, string>;

  constructor(seed: number) {
    const random = randomFrom(seed);
    // Every third story has the layer and the undo copies on another disk.
    this.root = mkdtempSync(join(tmpdir(), 'countersign-mortal-'));
    this.state = mkdtempSync(join(seed % 3 === 0 ? '/dev/shm' : tmpdir(), 'countersign-mortal-state-'));
    folders.push(this.root, this.state);
    for (const path of ['a', 'b/c', 'b/d', 'e']) mkdirSync(join(this.root, path), { recursive: true });
    for (const path of ['1', '2', 'a/3', 'a/4', 'b/c/5', 'b/6'])
      writeFileSync(join(this.root, path), `old ${path}`);
    symlinkSync('1', join(this.root, 'e/link'));
    const upper = join(this.state, 'layers/one/upper');
    layerLike(this.root, upper);
    disturb(upper, random);
    const effects = effectsBetween(this.root, upper);
    this.before = looksOf(treeOf(this.root));
    this.after = looksOf(treeOf(upper));
    this.request = {
      toolId: 'call',
      attempt: 1,
      runId: undefined,
      upper,
      layerId: 'one',
      effects,
      result: { success: true },
    };
  }

  /**
   * Returns the number of points that were passed; undefined if the process was killed. `isMounted`: the workspace is a mount
   * of its own, as in a container.
   */
  run(
    what: Pick<MortalLanding, 'request' | 'undo' | 'killAt'>,
    { isMounted = false } = {},
  ): number | undefined {
    const given: MortalLanding = { root: this.root, state: this.state, ...what };
    // The cache makes starting it three times as quick.
    const env = { ...process.env, NODE_COMPILE_CACHE: join(compiled, 'cache') };
    const mounted = [
      'unshare',
      '--user',
      '--map-root-user',
      '--mount',
      '--',
      'sh',
      '-c',
      bindMount,
      'sh',
      this.root,
    ];
    const [command = '', ...args] = [...(isMounted ? mounted : []), process.execPath, program];
    const ended = spawnSync(command, [...args, JSON.stringify(given)], { encoding: 'utf8', env });
    if (ended.signal === 'SIGKILL') return undefined;
    expect(ended.status, ended.stderr).toBe(0);
    return Number(ended.stdout);
  }

  /** The next runner of the same workspace. Returns what it reports. */
  async restart(work = async (_undo: FileUndo) => {}): Promise<ResultReport[]> {
    const { root, state } = this;
    const workspace = { root, stateFolder: state, limits: defaultLimits, home: state, addedEnvironment: [] };
    const journal = Journal.open({ folder: state, holder: { program: 'a test' } });
    const undo = new FileUndo(journal, workspace);
    await recoverJournal(journal, workspace, silent);
    await undo.recover();
    await work(undo);
    const reports = [...journal.unacknowledged(), ...journal.unacknowledgedUndos()].map(
      ({ report }) => report,
    );
    expect([journal.landings.pending(), journal.unfinished(), journal.unfinishedUndos()]).toEqual([
      [],
      [],
      [],
    ]);
    journal.close();
    return reports;
  }

  async land(): Promise<void> {
    const journal = Journal.open({ folder: this.state, holder: { program: 'a test' } });
    const { toolId, result } = this.request;
    journal.start(toolId, 1, 'shell_exec');
    await landingIn(journal, { root: this.root })(this.request);
    journal.end(toolId, 1, { status: 'completed', attempt: 1, result });
    journal.close();
  }

  get now(): Record<string, string> {
    return looksOf(treeOf(this.root));
  }
}

/** A part of all seeds, so that the parts run beside each other and each is quick. */
const parts = [0, 1, 2, 3];
const KILLS = 25;

it.each(parts)(
  '[RN-12] killed anywhere in a landing, the workspace is wholly before or wholly after (%i)',
  async (part) => {
    const seen = { before: 0, after: 0 };
    let most = 150;
    for (let kill = 0, seed = 1 + part * 1000; kill < KILLS; seed++) {
      const story = new Story(seed);
      const passed = story.run({ request: story.request, killAt: 1 + randomFrom(seed + 7)(most) });
      if (passed === undefined) kill += 1;
      else most = Math.max(40, passed);
      const [report] = await story.restart();
      const isAfter = report?.status === 'completed';
      if (!isAfter) expect(report?.error?.code).toBe('LAYER_DROPPED');
      expect(story.now, `seed ${seed}`).toEqual(isAfter ? story.after : story.before);
      seen[isAfter ? 'after' : 'before'] += 1;
      if (!isAfter || seed % 2 === 0) continue;
      await story.restart(async (undo) => {
        const undone = await undo.undo('undo', ['call'], { force: false });
        if (story.request.effects.length > 0)
          expect(undone, `seed ${seed}`).toMatchObject({ status: 'completed' });
      });
      expect(story.now, `undo of seed ${seed}`).toEqual(story.before);
    }
    expect(Math.min(seen.before, seen.after)).toBeGreaterThan(0);
  },
);

it.each(parts)('[RN-12] killed anywhere in an undo, it is wholly done or not at all (%i)', async (part) => {
  const seen = { before: 0, after: 0 };
  let most = 150;
  for (let kill = 0, seed = 1 + part * 1000; kill < KILLS; seed++) {
    const story = new Story(seed);
    if (story.request.effects.length === 0) continue;
    await story.land();
    expect(story.now, `seed ${seed}`).toEqual(story.after);
    const passed = story.run({ undo: ['call'], killAt: 1 + randomFrom(seed + 9)(most) });
    if (passed === undefined) kill += 1;
    else most = Math.max(40, passed);
    const report = (await story.restart()).find(({ undo_id }) => undo_id !== undefined);
    const isUndone = report?.status === 'completed';
    expect(story.now, `seed ${seed}`).toEqual(isUndone ? story.before : story.after);
    seen[isUndone ? 'before' : 'after'] += 1;
    // Either way, what is left to do can be asked for. Several names of one file come back as a file each.
    await story.restart(async (undo) => {
      await undo.undo('again', isUndone ? ['undo-call'] : ['call'], { force: false });
    });
    expect(withoutNames(story.now), `seed ${seed}`).toEqual(
      withoutNames(isUndone ? story.after : story.before),
    );
  }
  expect(Math.min(seen.before, seen.after)).toBeGreaterThan(0);
});

it('[RN-12] lands whole where the workspace is another mount of the same disk', () => {
  for (let seed = 1; seed <= 4; seed++) {
    const story = new Story(seed);
    expect(story.run({ request: story.request, killAt: 0 }, { isMounted: true })).toBeGreaterThan(0);
    expect(story.now, `seed ${seed}`).toEqual(story.after);
  }
});

const withoutNames = (looks: Record<string, string>) =>
  Object.entries(looks).map(([path, look]) => [path, look.replace(/ = .*$/, '')]);
