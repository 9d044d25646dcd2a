import { linkSync, readFileSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Effect, EntryState } from './effect.ts';
import { LayerFixture, lineOf } from './layer-fixture.test-data.ts';

const short = (state: EntryState | undefined): string =>
  state === undefined
    ? '-'
    : `${state.type} ${state.mode.toString(8)} ${state.size} ${state.version.replace(/^(sha256:.{8}).*/, '$1')}`;
const whole = (effect: Effect): string =>
  `${lineOf(effect)}: ${short(effect.before)} > ${short(effect.after)}`;
type Scenario = (fixture: LayerFixture) => Promise<unknown>;

/** What each of them returns must not depend on the user or the file system. Paths are made ASCII by JSON. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  async 'files, links, modes and folders'(fixture) {
    for (const path of ['same', 'edited', 'removed', 'mode', 'tool', 'dir/in', 'dir/kept'])
      fixture.write(path);
    symlinkSync('same', join(fixture.root, 'link'));
    symlinkSync('same', join(fixture.root, 'kept-link'));
    const { effects, conflicts, leftOut } = await fixture.effectsOf(`
      umask 022; echo new > edited; echo x > made; rm removed; chmod 600 mode; chmod 755 dir/in
      ln -sfn edited link; ln -sfn same kept-link; ln -s nowhere dangling; mkdir empty; mkdir -m 700 deep; echo y > deep/er
      exec 3>>same; : >> same; touch -r same same; rm -rf tool; mkdir tool; echo z > tool/inside`);
    return {
      effects: effects.map(whole),
      conflicts,
      leftOut,
      stays: readFileSync(join(fixture.root, 'edited'), 'utf8'),
    };
  },
  async 'folders that are deleted, moved and replaced'(fixture) {
    for (const path of [
      'gone/a',
      'gone/deep/b',
      'moved/c',
      'moved/d/e',
      'new/old',
      'new/deep/older',
      'flat/f',
    ])
      fixture.write(path);
    const { effects } = await fixture.effectsOf(`
      rm -r gone; mv moved there; rm -r new; mkdir new; echo x > new/made; mkdir new/deep; rm -r flat; echo f > flat
      mkdir -p fresh/a; rm -r fresh; mkdir fresh`);
    return effects.map(lineOf);
  },
  async 'a folder whose other entries stay is not replaced'(fixture) {
    for (const path of ['src/a', 'src/b', 'src/sub/c', 'src/sub/d']) fixture.write(path);
    const { effects } = await fixture.effectsOf('echo x > src/a; echo y > src/sub/n; rm src/sub/c');
    return effects.map(lineOf);
  },
  async 'names: bytes, line feeds, case only, and long ones'(fixture) {
    fixture.write('Readme');
    fixture.write('b\udcffd/x\udcfe');
    const long = 'n'.repeat(255);
    const { effects } = await fixture.effectsOf(
      `mv Readme README; echo x > $'b\\xffd/x\\xfe'; echo y > $'new\\xfd'; echo z > $'two\\nlines'; echo l > ${long}`,
    );
    return effects.map(lineOf).map((line) => line.replace(long, 'long'));
  },
  async 'hard links'(fixture) {
    fixture.write('one', 'shared');
    linkSync(join(fixture.root, 'one'), join(fixture.root, 'two'));
    const { effects } = await fixture.effectsOf('echo more >> one; ln two three; echo n > x; ln x y');
    return effects.map(whole);
  },
  async 'permissions that a command takes away'(fixture) {
    fixture.write('d/old');
    const { effects } = await fixture.effectsOf(
      'mkdir c; echo x > c/f; chmod 000 c/f c; echo s > secret; chmod 000 secret; mkdir r; echo y > r/f; chmod 555 r; chmod 311 d',
    );
    return effects.map(whole);
  },
  async 'pipes, sockets and devices are left out, and what holds them stays'(fixture) {
    fixture.write('d/f');
    const { effects, leftOut, conflicts } = await fixture.effectsOf(`
      mkfifo pipe; mkdir s; mkfifo s/inner; echo x > s/f
      python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'`);
    return { effects: effects.map(lineOf), leftOut, conflicts };
  },
  async 'files with holes, and large ones'(fixture) {
    fixture.write('sparse', 'x');
    truncateSync(join(fixture.root, 'sparse'), 64 * 1024 * 1024);
    const { effects } = await fixture.effectsOf(
      'truncate -s 1G large; echo end >> sparse; dd if=/dev/zero of=zeros bs=1M count=8 2>/dev/null',
    );
    return effects.map(({ path, after }) => [path, after?.size]);
  },
  async 'files that were written again are modified, and those only opened are not'(fixture) {
    for (const path of ['again', 'opened', 'moded']) fixture.write(path);
    const { effects } = await fixture.effectsOf(
      'sleep 0.02; echo -n again > again; exec 3<>opened; chmod 777 moded; chmod 644 moded; chmod 600 opened',
    );
    return effects.map(lineOf);
  },
  async 'what others changed meanwhile is a conflict'(fixture) {
    for (const path of [
      'mine',
      'both',
      'dir/both',
      'dir/other',
      'moved/f',
      'moved/g',
      'quiet/f',
      'deleted/new/f',
      'swap/f',
    ])
      fixture.write(path);
    const line = `
      echo c > mine; echo c > both; echo c > new; rm -r dir; echo c > moved/f; echo c > quiet/f; mkdir -p fresh; echo c > fresh/f
      rm -r deleted; echo c > swap/f; echo begun; read; echo c > later`;
    const { effects, conflicts } = await fixture.effectsOf(line, () => {
      for (const path of ['both', 'new', 'dir/both', 'deleted/new/more', 'beside'])
        fixture.write(path, 'person');
      fixture.move('moved', 'elsewhere');
      fixture.move('swap', 'swapped');
      symlinkSync('/etc', join(fixture.root, 'swap'));
    });
    return { effects: effects.map(lineOf), conflicts: conflicts.map(lineOf) };
  },
  async 'what is dropped is counted'(fixture) {
    for (const path of ['a/b', 'c/d/e']) fixture.write(path);
    return fixture.changesOf('echo x > a/b; rm -r c; mkdir n; echo > n/1; echo > n/2');
  },
};

/** Runs all scenarios, the workspace below one folder and the layers below another. */
export async function runScenarios(base: string, state: string): Promise<Record<string, unknown>> {
  const results: Record<string, unknown> = {};
  for (const [name, scenario] of Object.entries(scenarios)) {
    const fixture = new LayerFixture(base, state);
    try {
      results[name] = await scenario(fixture);
    } catch (error) {
      results[name] = String(error);
    } finally {
      await fixture.remove();
    }
  }
  return results;
}
