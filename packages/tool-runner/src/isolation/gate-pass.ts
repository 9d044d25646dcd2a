import { randomBytes } from 'node:crypto';
import { hostAndPort, type NetworkAccess, namesHost, readNetworkHost } from '@countersign/protocol';
import type { Confinement } from './isolated-process.ts';

/** The user name in the URL of the proxy. */
export const proxyUser = 'countersign';

/** Maximum number of undeclared hosts that a command may ask for, and that its result names. */
const maxNamed = 20;

/**
 * One command's use of the network gate, from its start to its end (RN-5). Commands that share a loopback can all
 * connect to the gate, so each request carries the key of its command.
 */
export class GatePass {
  readonly key = randomBytes(24).toString('hex');
  readonly #access: NetworkAccess;
  readonly #askForHost: Confinement['askForHost'];
  /** The hosts that were asked about, each once. */
  readonly #asked = new Map<string, Promise<boolean>>();
  #lastAsked: Promise<unknown> = Promise.resolve();
  readonly #refused = new Set<string>();
  readonly #rejected = new Set<string>();
  readonly #onEnd: (pass: GatePass) => void;
  #heldCount = 0;
  #heldSince = 0;
  #heldBefore = 0;

  constructor(access: NetworkAccess, askForHost: Confinement['askForHost'], onEnd: (pass: GatePass) => void) {
    this.#access = access;
    this.#askForHost = askForHost;
    this.#onEnd = onEnd;
  }

  /** The value of Proxy-Authorization. */
  get credentials(): string {
    return `Basic ${this.#encodedLogin}`;
  }

  /** Values that must be removed from the command's output. */
  get secrets(): readonly string[] {
    return [this.key, this.#encodedLogin];
  }

  get #encodedLogin(): string {
    return Buffer.from(`${proxyUser}:${this.key}`).toString('base64');
  }

  /** Hosts that were refused without asking the person, written as in the `network` parameter. */
  get refused(): readonly string[] {
    return [...this.#refused];
  }

  /** Hosts that the person was asked about and refused. */
  get rejected(): readonly string[] {
    return [...this.#rejected];
  }

  /** How long the command has waited for decisions. */
  get heldMs(): number {
    return this.#heldBefore + (this.#heldCount > 0 ? performance.now() - this.#heldSince : 0);
  }

  /**
   * Throws unless the card named this host or the person allows it now. `isOwnPort`: the person opened this port of
   * their own machine to commands.
   */
  async require(hostname: string, port: number, isOwnPort: boolean): Promise<void> {
    if (this.#access === true) return;
    const hosts = this.#access === false ? [] : this.#access;
    const host = readNetworkHost(hostname);
    if (host === undefined && isOwnPort && ownNames.test(hostname)) return;
    if (host === undefined) throw new Error(`${hostname} is not a host that commands can reach`);
    if (namesHost(hosts, host, port)) return;
    const wanted = hostAndPort(host, port);
    if (await this.#ask(wanted)) return;
    if (this.#rejected.has(wanted))
      throw new Error(`the person did not allow this command to reach ${wanted}`);
    throw new Error(
      `${wanted} is not among the hosts that this command may reach; call again with network: ["${wanted}"]`,
    );
  }

  end(): void {
    this.#onEnd(this);
  }

  async #ask(wanted: string): Promise<boolean> {
    const known = this.#asked.get(wanted);
    if (known) return known;
    if (!this.#askForHost || this.#asked.size >= maxNamed) {
      if (this.#refused.size < maxNamed) this.#refused.add(wanted);
      return false;
    }
    const ask = this.#askForHost;
    // Show one card of a command at a time.
    const asked = this.#hold(this.#lastAsked.then(() => ask(wanted)));
    this.#lastAsked = asked;
    this.#asked.set(wanted, asked);
    const mayReach = await asked;
    if (!mayReach) this.#rejected.add(wanted);
    return mayReach;
  }

  async #hold(decided: Promise<boolean>): Promise<boolean> {
    if (this.#heldCount === 0) this.#heldSince = performance.now();
    this.#heldCount += 1;
    try {
      return await decided;
    } finally {
      this.#heldCount -= 1;
      if (this.#heldCount === 0) this.#heldBefore += performance.now() - this.#heldSince;
    }
  }
}

const ownNames = /^(localhost|127\.0\.0\.1|\[::1\])$/;
