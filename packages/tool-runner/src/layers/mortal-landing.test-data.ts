import fs from 'node:fs';
import fsPromises, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { defaultLimits } from '@countersign/protocol';
import { Journal } from '../journal/journal.ts';
import { FileUndo } from '../undo/file-undo.ts';
import { type LandingRequest, landingIn } from './landing.ts';

/** A landing, or an undo of a call, that is killed by SIGKILL before or after the n-th change that others can see. */
export interface MortalLanding {
  readonly root: string;
  readonly state: string;
  readonly request?: LandingRequest;
  readonly undo?: readonly string[];
  readonly killAt: number;
}

type AnyFunction = (...args: never[]) => unknown;

/**
 * A process of its own, started by mortal-landing.test.ts. Every function that changes files or the journal is wrapped, so
 * that the process can die just before and just after each change.
 */
async function main({ root, state, request, undo, killAt }: MortalLanding): Promise<void> {
  let points = 0;
  const point = () => {
    points += 1;
    if (points === killAt) process.kill(process.pid, 'SIGKILL');
  };
  const wrapped = <F extends AnyFunction>(original: F): F =>
    function (this: unknown, ...args: never[]) {
      point();
      const result = original.apply(this, args);
      if (result instanceof Promise) return result.finally(point);
      point();
      return result;
    } as unknown as F;
  const wrap = <T extends object>(owner: T, ...names: (keyof T)[]) => {
    for (const name of names) owner[name] = wrapped(owner[name] as AnyFunction) as T[typeof name];
  };
  const journal = Journal.open({ folder: state, holder: { program: 'a mortal' } });
  const workspace = { root, stateFolder: state, limits: defaultLimits, home: state, addedEnvironment: [] };
  const folderUndo = new FileUndo(journal, workspace);
  if (request) journal.start(request.toolId, request.attempt, 'shell_exec');
  if (request) journal.recordLayer(request.toolId, request.attempt, request.layerId);

  wrap(
    fs,
    'renameSync',
    'unlinkSync',
    'rmdirSync',
    'mkdirSync',
    'symlinkSync',
    'linkSync',
    'chmodSync',
    'utimesSync',
    'lutimesSync',
    'rmSync',
  );
  wrap(DatabaseSync.prototype, 'exec');
  wrap(StatementSync.prototype, 'run');
  const { open } = fsPromises;
  fsPromises.open = async (...args) => {
    const handle: FileHandle = await open(...args);
    wrap(handle, 'write', 'truncate', 'chmod', 'utimes', 'sync');
    return handle;
  };
  syncBuiltinESMExports();

  if (request) {
    await landingIn(journal, workspace)(request);
    journal.end(request.toolId, request.attempt, { status: 'completed', attempt: 1, result: request.result });
  }
  if (undo) await folderUndo.undo(`undo-${undo.join('-')}`, undo, { force: false });
  process.stdout.write(String(points));
  // Like a kill: nothing is closed.
  process.exit(0);
}

const [, , given] = process.argv;
if (given?.startsWith('{')) await main(JSON.parse(given) as MortalLanding);
