import { CountersignError, isFinal } from '@countersign/protocol';
import type { HostRequest } from '../runner-api.ts';

/** An approval of a MEDIUM call waits for 300 s. Without any answer the host is refused. */
const LONGEST_WAIT_MS = 330_000;
/** How many ended calls are remembered, for a response that arrives after the event. */
const MAX_ENDED = 100;

interface Held {
  readonly toolId: string;
  readonly host: string;
  /** The call of `reach_host` that asks, once the server has recorded it. */
  call?: string;
  readonly settle: (mayReach: boolean) => void;
}

/** Connections of running commands to hosts that their cards did not name: each waits until the person has decided (RN-5). */
export class HeldHosts {
  readonly #held = new Set<Held>();
  readonly #ended = new Set<string>();

  /** Resolves with whether the command of `toolId` may reach the host. `send` has the person asked. Never rejects. */
  async ask(toolId: string, host: string, send: () => Promise<HostRequest>): Promise<boolean> {
    let settle: Held['settle'] = () => {};
    const decided = new Promise<boolean>((resolve) => {
      settle = resolve;
    });
    const held: Held = { toolId, host, settle };
    this.#held.add(held);
    const timer = setTimeout(() => settle(false), LONGEST_WAIT_MS);
    timer.unref();
    try {
      const { tool_id, status } = await send();
      held.call = tool_id;
      if (this.#ended.has(tool_id) || (isFinal(status) && status !== 'completed')) settle(false);
      return await decided;
    } catch {
      return false; // not asked: too many approvals wait, or the server cannot be reached
    } finally {
      clearTimeout(timer);
      this.#held.delete(held);
    }
  }

  /** Lets the command through that waits for this host. Throws PREVIEW_FAILED if none does. */
  allow(toolId: string, host: string): void {
    for (const held of this.requireWaiting(toolId, host)) held.settle(true);
  }

  /** Throws PREVIEW_FAILED unless a command of this call waits for the host. */
  requireWaiting(toolId: string, host: string): readonly Held[] {
    const waiting = [...this.#held].filter((held) => held.toolId === toolId && held.host === host);
    if (waiting.length === 0)
      throw new CountersignError('PREVIEW_FAILED', {
        problem: `no running command waits for ${host} any more`,
      });
    return waiting;
  }

  /** A call of `reach_host` has ended. If it did not let the host through, the host is refused. */
  end(call: string): void {
    this.#ended.add(call);
    for (const oldest of [...this.#ended].slice(0, -MAX_ENDED)) this.#ended.delete(oldest);
    for (const held of this.#held) if (held.call === call) held.settle(false);
  }
}
