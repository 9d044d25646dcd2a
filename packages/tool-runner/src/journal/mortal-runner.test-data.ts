import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { ScriptedExecutor, shownDigestOf, writeSignal } from '../call-samples.test-data.ts';
import { recorded } from '../handler-fixture.test-data.ts';
import type { RunnerApi } from '../runner-api.ts';
import { ToolHandler } from '../tool-handler.ts';
import type { Workspace } from '../workspace.ts';
import { Journal } from './journal.ts';

/** Where the program kills itself: after the named step, before anything else can happen. */
export type Death =
  | 'claimed'
  | 'started'
  | 'recorded'
  | 'temporary file'
  | 'renamed'
  | 'journalled'
  | 'sent'
  | 'command'
  | 'undo half done';

export interface MortalRun {
  readonly workspace: Workspace;
  readonly configFolder: string;
  readonly death: Death;
}

/**
 * A real runner in a process of its own, killed by SIGKILL at one step of a call. It appends a line to `notes.md`,
 * so that a second execution would show. Started by recovery.test.ts with a MortalRun as JSON.
 */
async function main({ workspace, configFolder, death }: MortalRun): Promise<void> {
  const dieAt = (step: Death) => {
    if (step === death) process.kill(process.pid, 'SIGKILL');
  };
  const journal = Journal.open({ folder: workspace.stateFolder, holder: { program: 'a mortal' } });
  dieAfter(journal, 'start', () => dieAt('started'));
  dieAfter(journal, 'recordChanges', () => dieAt('recorded'));
  dieAfter(journal, 'end', () => dieAt('journalled'));
  const { renameSync } = fs;
  fs.renameSync = (from, to) => {
    dieAt('temporary file');
    renameSync(from, to);
    dieAt('renamed');
    if (isUndoing) dieAt('undo half done');
  };
  syncBuiltinESMExports();
  let isUndoing = false;
  const api: RunnerApi = {
    approveToolExecution: async () => recorded,
    rejectToolExecution: async () => recorded,
    startToolExecution: async () => dieAt('claimed'),
    sendToolResult: async () => {
      dieAt('sent');
      return {};
    },
  };
  const silent = { debug() {}, info() {}, error() {} };
  const command = new ScriptedExecutor(['shell_exec'], () => {
    dieAt('command');
    return { success: true };
  });
  const handler = new ToolHandler(api, undefined, silent, {
    workspace,
    configFolder,
    journal,
    ...(death === 'command' && { executors: [command] }),
  });
  const calls =
    death === 'command'
      ? [shellCall]
      : death.startsWith('undo')
        ? [appendCall('a'), appendCall('b')]
        : [appendCall()];
  for (const signal of calls) {
    const digest = await shownDigestOf(handler, signal);
    await handler.handleToolExecutionSignal({ ...signal, digest });
  }
  isUndoing = true;
  await handler.undoCalls(['tool-a', 'tool-b'], { force: false, undoId: 'undo-1' });
  throw new Error(`It should have died: ${death}`);
}

function dieAfter<M extends 'start' | 'recordChanges' | 'end'>(
  journal: Journal,
  method: M,
  die: () => void,
): void {
  const original = journal[method].bind(journal) as (...args: unknown[]) => void;
  journal[method] = ((...args: unknown[]) => {
    original(...args);
    die();
  }) as Journal[M];
}

/** A call that appends a line to `notes.md`, or to the named file. */
export const appendCall = (name?: string) =>
  writeSignal({
    tool_id: name === undefined ? 'tool-1' : `tool-${name}`,
    tool_params: { path: name === undefined ? 'notes.md' : `${name}.md`, content: 'line\n', mode: 'append' },
  });

export const shellCall = writeSignal({
  tool_name: 'shell_exec',
  tool_params: { command: 'make things' },
  risk_level: 'HIGH',
});

const [, , given] = process.argv;
if (given?.startsWith('{')) await main(JSON.parse(given) as MortalRun);
