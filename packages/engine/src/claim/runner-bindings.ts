import { isFinal } from '@countersign/protocol';
import { type RunnerRegistry, runnerKey } from '../dispatch/runners.ts';
import type { Caller } from '../record/call-request.ts';
import { Refusal } from '../refusal.ts';
import type { ExecutionRow, RunnerBindingRow } from '../rows.ts';
import { DuplicateRow, type Reading, type Store, type Transaction, type Unit } from '../store.ts';

/** The runner that a request speaks for: its id, and the program that runs it. */
export interface NamedRunner {
  readonly runner_id?: string | undefined;
  readonly instance?: string | undefined;
}

/** `expiresAt` is in milliseconds since 1970; undefined: the token does not expire. */
export type BoundCaller = Caller & { readonly expiresAt?: number | undefined };

/** Size of the cache. Bindings never change. */
const MAX_KNOWN = 10_000;

/**
 * AP-9: a token of scope runner belongs to one runner and one program of it, from its first use on. This binding decides
 * what the token may report, never the request's body alone. A person's token may speak for any runner that the request names.
 */
export class RunnerBindings {
  readonly #store: Store;
  readonly #known = new Map<string, RunnerBindingRow>();

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Returns the runner that sent a report. The first report that names a runner binds the token to it, unless another
   * program is connected as that runner. An unbound token that names no runner belongs to a plain client.
   */
  async runnerOfReport(caller: BoundCaller, named: NamedRunner): Promise<NamedRunner> {
    const { runner_id, instance } = named;
    if (caller.scope !== 'runner') return { runner_id, instance };
    const bound = await this.#boundTo(caller);
    if (bound) return requireSame(bound, named);
    if (runner_id === undefined) return {};
    return this.#bind(caller, { runner_id, instance }, 'report');
  }

  /** Returns the runner that a stream is opened for. Binds the token to it, or checks the binding. */
  async runnerOfStream(
    caller: BoundCaller,
    named: NamedRunner & { readonly runner_id: string },
  ): Promise<NamedRunner> {
    if (caller.scope !== 'runner') return named;
    const bound = await this.#boundTo(caller);
    return bound ? requireSame(bound, named) : this.#bind(caller, named, 'stream');
  }

  /** Refuses a token that is bound to another runner, without binding it. Returns the program. */
  async requireNotBoundElsewhere(
    caller: BoundCaller,
    named: NamedRunner & { readonly runner_id: string },
  ): Promise<string | undefined> {
    if (caller.scope !== 'runner') return named.instance;
    const bound = await this.#boundTo(caller);
    return bound ? requireSame(bound, named).instance : (named.instance ?? ownInstance(caller));
  }

  async #boundTo(caller: Caller): Promise<RunnerBindingRow | undefined> {
    const key = keyOf(caller);
    return (
      this.#known.get(key) ?? this.#remember(await this.#store.read((tx) => tx.get('runner_bindings', key)))
    );
  }

  /** One compare-and-set, so that all nodes see the same binding. */
  async #bind(
    caller: BoundCaller,
    { runner_id, instance = ownInstance(caller) }: NamedRunner & { readonly runner_id: string },
    by: 'stream' | 'report',
  ): Promise<NamedRunner> {
    const wanted = { runner_id, instance };
    const row: RunnerBindingRow = {
      id: keyOf(caller),
      user_id: caller.userId,
      token_id: caller.tokenId,
      ...wanted,
      bound_at: this.#store.now(),
      expires_at: caller.expiresAt ?? null,
    };
    const bound = await this.#store
      .write((tx) => insertOnce(tx, row, by))
      .catch((error: unknown) => {
        if (!(error instanceof DuplicateRow)) throw error;
        return this.#store.read((tx) => tx.get('runner_bindings', row.id));
      });
    return requireSame(this.#remember(bound) ?? row, wanted);
  }

  #remember(row: RunnerBindingRow | undefined): RunnerBindingRow | undefined {
    if (!row) return undefined;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(row.id, row);
    return row;
  }
}

function* insertOnce(
  tx: Transaction,
  row: RunnerBindingRow,
  by: 'stream' | 'report',
): Unit<RunnerBindingRow> {
  const bound = yield* tx.get('runner_bindings', row.id);
  if (bound) return bound;
  const { user_id, token_id, runner_id, instance } = row;
  const runner = yield* tx.get('runners', runnerKey(user_id, runner_id));
  if (by === 'report' && runner?.connected && runner.instance !== instance) throw runnerTokenBound(runner_id);
  yield* tx.insert('runner_bindings', row);
  tx.announce(user_id, {
    audit: [{ action: 'token.bound', subject: token_id, data: { runner: runner_id } }],
  });
  return row;
}

function requireSame(
  bound: RunnerBindingRow,
  { runner_id = bound.runner_id, instance }: NamedRunner,
): NamedRunner {
  const isSame = bound.runner_id === runner_id && (instance === undefined || bound.instance === instance);
  if (!isSame) throw runnerTokenBound(runner_id);
  return { runner_id, instance: bound.instance };
}

/** Includes the person, because tokens of two people may have the same id. */
const keyOf = ({ tokenId, userId }: Caller): string => `${tokenId}@${userId}`;

/** The instance of a runner that does not send one. Clients cannot send it, because it has a space. */
const ownInstance = ({ tokenId }: Caller): string => `token ${tokenId}`;

export const runnerTokenBound = (runner: string): Refusal => new Refusal('RUNNER_TOKEN_BOUND', { runner });

/**
 * Refuses a report unless it comes from the program that the call was given to (AP-9). After a claim, that is the program
 * that claimed it, even if it was given up since (EX-7); before, the program that is connected as the call's runner. A
 * client that names no runner may report only calls that plain clients were told to execute (EV-3). If no program is
 * named, the runner's id must match.
 */
export function* requireGivenTo(
  tx: Reading,
  execution: ExecutionRow,
  { runner_id, instance }: NamedRunner,
  runners: Pick<RunnerRegistry, 'find'>,
): Unit<void> {
  if (execution.runner_id === null) {
    if (runner_id === undefined) yield* requireToldToPlainClients(tx, execution);
    else yield* requireTakenFrom(tx, execution, { runner_id, instance });
    return;
  }
  if (runner_id !== execution.runner_id) throw claimRefused('it was given to another runner');
  if (instance === undefined) return;
  const isClaimed = execution.status !== 'approved' && execution.claimed_by !== null;
  const given = isClaimed
    ? execution.claimed_by
    : (runners.find(execution.user_id, runner_id)?.instance ??
      (yield* runnerOf(tx, execution.user_id, runner_id))?.instance);
  if (given !== instance) throw claimRefused('another program with the id of this runner has it');
}

/**
 * For a client without a runner id. It is signalled only in a workspace that no runner ever served, and the signal
 * makes the call `executing`. So it may not report a call that waits for a runner, nor send a late result in any other
 * workspace.
 */
function* requireToldToPlainClients(tx: Reading, execution: ExecutionRow): Unit<void> {
  const { status } = execution;
  if (status === 'approved' || (isFinal(status) && (yield* hadRunner(tx, execution))))
    throw claimRefused('it was given to nobody');
}

/** For a call that was taken from a lost runner: only that runner's program may still report it. */
function* requireTakenFrom(
  tx: Reading,
  { user_id, project_id, status, claimed_by }: ExecutionRow,
  { runner_id, instance }: NamedRunner & { runner_id: string },
): Unit<void> {
  const runner = yield* runnerOf(tx, user_id, runner_id);
  const project = yield* tx.get('projects', project_id);
  const isServed = runner !== undefined && runner.workspace === project?.workspace;
  if (!isServed || status === 'executing' || (instance !== undefined && claimed_by !== instance))
    throw claimRefused('it was not given to this runner');
}

/** Whether a runner ever served the call's workspace. */
export function* hadRunner(
  tx: Reading,
  { user_id, project_id }: Pick<ExecutionRow, 'user_id' | 'project_id'>,
): Unit<boolean> {
  const project = yield* tx.get('projects', project_id);
  const runners = yield* tx.runnersOf(user_id);
  return runners.some(({ workspace }) => workspace === project?.workspace);
}

/** Reads the runner without a lock, so that reports of one runner do not wait for each other. */
function* runnerOf(tx: Reading, userId: string, runnerId: string) {
  return (yield* tx.runnersOf(userId)).find(({ runner_id }) => runner_id === runnerId);
}

export const claimRefused = (problem: string): Refusal => new Refusal('CLAIM_REFUSED', { problem });
