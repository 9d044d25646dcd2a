import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeLeftovers } from './atomic-write.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

const here = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

/** A process that changes a file, and is killed with SIGKILL at the step that it was told. */
const program = `
  import fs from 'node:fs';
  import { open } from 'node:fs/promises';
  import { syncBuiltinESMExports } from 'node:module';
  const [root, tool, params, killedAt] = JSON.parse(process.argv[1]);
  const die = () => { process.kill(process.pid, 'SIGKILL'); for (;;); };
  const dieAt = (step) => { if (step === killedAt) die(); };
  const wrap = (object, name, step) => {
    const real = object[name];
    object[name] = function (...args) { dieAt(step); return real.apply(this, args); };
  };
  const handle = await open('/dev/null');
  const prototype = Object.getPrototypeOf(handle);
  await handle.close();
  const writeFile = prototype.writeFile;
  prototype.writeFile = async function (bytes) {
    dieAt('write');
    if (killedAt === 'half of the write') { await this.write(bytes, 0, bytes.length >> 1); die(); }
    await writeFile.call(this, bytes);
  };
  wrap(prototype, 'chmod', 'mode');
  wrap(prototype, 'sync', 'flush of the content');
  wrap(fs, 'renameSync', 'rename');
  wrap(fs, 'unlinkSync', 'unlink');
  wrap(fs, 'mkdirSync', 'directory');
  wrap(fs, 'fsyncSync', 'flush of the name');
  syncBuiltinESMExports();
  const data = await import(${here('./file-tools.test-data.ts')});
  const onBegin = () => dieAt('journal');
  await data.executeChange(data.callOf(tool, params), data.recordingContext({ onBegin, toolId: 'killed' }), data.workspaceAt(root));
  console.log('done');`;

async function runUntil(
  killedAt: string,
  tool: string,
  params: Record<string, unknown>,
): Promise<{ signal: string | null; stderr: string }> {
  const argument = JSON.stringify([workspace.root, tool, params, killedAt]);
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, argument]);
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const [, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { signal, stderr };
}

const before = 'old\n'.repeat(5_000);
const after = 'new, and longer\n'.repeat(5_000);
const files = (): string[] => readdirSync(join(workspace.root, 'd'));
const temporary = expect.stringMatching(/^\.countersign-killed-[0-9a-f]{16}\.tmp$/);

describe('[RN-3] a change whose process is killed', () => {
  beforeEach(() => {
    workspace.apply([{ op: 'file', path: 'd/a.md', content: before }]);
  });

  it.each([
    ['journal', before, ['a.md']],
    ['write', before, [temporary, 'a.md']],
    ['half of the write', before, [temporary, 'a.md']],
    ['mode', before, [temporary, 'a.md']],
    ['flush of the content', before, [temporary, 'a.md']],
    ['rename', before, [temporary, 'a.md']],
    ['flush of the name', after, ['a.md']],
  ])('before the %s leaves the old or the new file whole', async (step, content, left) => {
    expect(await runUntil(step, 'write_file', { path: 'd/a.md', content: after })).toEqual({
      signal: 'SIGKILL',
      stderr: '',
    });
    expect([readFileSync(join(workspace.root, 'd/a.md'), 'utf8') === content, files()]).toEqual([true, left]);
    // Temporary files of other calls stay.
    writeFileSync(join(workspace.root, 'd/.countersign-other-0123456789abcdef.tmp'), '');
    expect(removeLeftovers(workspace.root, 'd/a.md', 'killed')).toBe(left.length - 1);
    expect(files()).toEqual(['.countersign-other-0123456789abcdef.tmp', 'a.md']);
  });

  it.each([
    ['unlink', true],
    ['flush of the name', false],
  ])('deletes it or not, before the %s', async (step, isThere) => {
    expect(await runUntil(step, 'delete_file', { path: 'd/a.md' })).toEqual({
      signal: 'SIGKILL',
      stderr: '',
    });
    expect(files()).toEqual(isThere ? ['a.md'] : []);
  });

  it.each([
    ['journal', [before, undefined]],
    ['rename', [before, undefined]],
    ['flush of the name', [before, before]],
    ['unlink', [before, before]],
  ])('a move before the %s never loses the file', async (step, content) => {
    const params = { source: 'd/a.md', dest: 'd/b.md' };
    expect(await runUntil(step, 'move_file', params)).toEqual({ signal: 'SIGKILL', stderr: '' });
    const textOf = (name: string) => {
      const path = join(workspace.root, 'd', name);
      return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
    };
    expect([textOf('a.md'), textOf('b.md')]).toEqual(content);
  });

  it('leaves no trace of a file whose directory did not exist', async () => {
    expect(await runUntil('directory', 'write_file', { path: 'd/new/a.md', content: after })).toEqual({
      signal: 'SIGKILL',
      stderr: '',
    });
    expect(existsSync(join(workspace.root, 'd/new'))).toBe(false);
    expect(removeLeftovers(workspace.root, 'd/new/a.md', 'killed')).toBe(0);
    expect(removeLeftovers(workspace.root, 'd/a.md/x', 'killed')).toBe(0);
  });
});
