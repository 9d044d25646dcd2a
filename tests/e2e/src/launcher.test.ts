import { execFileSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../../lab/src/waiting.ts';
import { isAlive, launcher, Machine, processesBelow } from './up-process.ts';

const tooling = fileURLToPath(new URL('../../../tooling/', import.meta.url));
const commands = {
  'the command': [launcher, 'up'],
  'npm start': [join(tooling, 'run.mjs'), join(tooling, 'start.mjs')],
};

/** Makes this Node report an older version, so that the launcher must hand over to Node 24 wherever the tests run. */
const pretendsToBeOlder = `
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.endsWith('/set-up/node-24.mjs')) return loaded;
      return { ...loaded, source: String(loaded.source).replace('>= neededMajor', '> 1000') };
    },
  });`;
const olderNodes = [
  [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(pretendsToBeOlder)}`],
  ...new Set(
    (process.env.PATH ?? '')
      .split(delimiter)
      .map((folder) => join(folder, 'node'))
      .filter((node) => existsSync(node) && isOlder(node))
      .map((node) => realpathSync(node)),
  ),
].map((words) => [words].flat());

function isOlder(node: string): boolean {
  return Number.parseInt(execFileSync(node, ['--version'], { encoding: 'utf8' }).slice(1), 10) < 24;
}

let machine: Machine;
afterEach(() => machine.close());

describe.each(olderNodes)('on an older Node (%s)', (...older) => {
  describe.each(Object.entries(commands))('%s', (_name, command) => {
    it('leaves nothing behind when its launcher is killed', async () => {
      machine = new Machine({}, [...older, ...command]);
      const up = machine.run('--json');
      const { address, pid } = await up.ready();
      const tree = processesBelow(up.pid).map((found) => found.pid);
      expect(tree).toContain(pid); // the launcher started the program that printed this
      expect(tree).toContain(up.server);
      up.signal('SIGKILL');
      await until(() => !tree.some(isAlive), { otherwise: () => `Left: ${tree.filter(isAlive)}` });
      await expect(fetch(`${address}/healthz`)).rejects.toThrow();
    });

    it('is stopped gracefully by a signal to its launcher', async () => {
      machine = new Machine({}, [...older, ...command]);
      const up = machine.run('--json');
      await up.ready();
      const tree = processesBelow(up.pid).map((found) => found.pid);
      expect(await up.kill('SIGTERM')).toBe('0');
      await until(() => !tree.some(isAlive), { otherwise: () => `Left: ${tree.filter(isAlive)}` });
    });
  });
});
