import { setTimeout as wait } from 'node:timers/promises';
import { CountersignError } from '@countersign/protocol';
import { JournalHeld } from '../journal/journal-lock.ts';
import { askRunner } from '../ports/runner-visitor.ts';
import type { RunnerApi } from '../runner-api.ts';
import { ToolHandler } from '../tool-handler.ts';
import { landingLines } from './door-requests.ts';
import type { RequestsHere, TriedLanding, TriedOutcome, UndoHere, UndoneHere } from './requests-here.ts';
import type { TrialOptions } from './trial.ts';

interface Place extends TrialOptions {
  /** The name of this program, shown to another one that wants the journal meanwhile. */
  readonly program: string;
}

/** Lands what the person has tried: by the runner that has the workspace, else by this process. */
export const landTried = (place: Place, landing: TriedLanding): Promise<TriedOutcome> =>
  askHere(
    place,
    '/land',
    () => landingLines(landing),
    (here) => here.landTried(landing),
  );

/** Undoes calls without a server: by the runner that has the workspace, else by this process. */
export const undoHere = (place: Place, undo: UndoHere): Promise<UndoneHere> =>
  askHere(
    place,
    '/undo',
    () => [`${JSON.stringify(undo)}\n`],
    (here) => here.undoHere(undo),
  );

/** A runner that starts or ends has the journal, and no door yet or any more, for a moment. */
const WAIT_MS = 100;
const MAX_TRIES = 50;

async function askHere<T>(
  { workspace, configFolder, program }: Place,
  path: string,
  lines: () => Iterable<string>,
  byUs: (here: Pick<RequestsHere, 'landTried' | 'undoHere'>) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const answered = await askRunner(workspace.stateFolder, path, lines());
    if (answered) return answered.answer as T;
    let handler: ToolHandler;
    try {
      handler = new ToolHandler(noServer, undefined, silent, { workspace, configFolder, program });
    } catch (error) {
      if (!(error instanceof JournalHeld) || tries === MAX_TRIES) throw error;
      await wait(WAIT_MS);
      continue;
    }
    try {
      return await byUs(handler);
    } finally {
      await handler.dispose();
    }
  }
}

const silent = { debug() {}, info() {}, error() {} };

const unreachable = async (): Promise<never> => {
  throw new CountersignError('UNAVAILABLE', { problem: 'this undo is made without a server' });
};
/** What became of the undo is sent when a runner connects again. */
const noServer: RunnerApi = {
  approveToolExecution: unreachable,
  rejectToolExecution: unreachable,
  sendToolResult: unreachable,
};
