import { randomBytes } from 'node:crypto';
import { hostAndPort, type NetworkAccess, namesHost, readNetworkHost } from '@countersign/protocol';

/** The user name in the URL of the proxy. */
export const proxyUser = 'countersign';

/** The result names this many refused hosts. */
const maxNamed = 20;

/**
 * One command's use of the network gate, from its start to its end (RN-5). Commands that share a loopback can all connect
 * to the gate, so a command says its key with each request.
 */
export class GatePass {
  readonly key = randomBytes(24).toString('hex');
  readonly #access: NetworkAccess;
  readonly #refused = new Set<string>();
  readonly #onEnd: (pass: GatePass) => void;

  constructor(access: NetworkAccess, onEnd: (pass: GatePass) => void) {
    this.#access = access;
    this.#onEnd = onEnd;
  }

  /** The value of Proxy-Authorization. */
  get credentials(): string {
    return `Basic ${this.#encodedLogin}`;
  }

  /** What must not stand in the command's output. */
  get secrets(): readonly string[] {
    return [this.key, this.#encodedLogin];
  }

  get #encodedLogin(): string {
    return Buffer.from(`${proxyUser}:${this.key}`).toString('base64');
  }

  /** The hosts that the command wanted to reach and may not, as a call would name them. */
  get refused(): readonly string[] {
    return [...this.#refused];
  }

  /** Throws unless the card named this host. `isOwnPort`: the person opened this port of the machine itself. */
  require(hostname: string, port: number, isOwnPort: boolean): void {
    if (this.#access === true) return;
    const hosts = this.#access === false ? [] : this.#access;
    const host = readNetworkHost(hostname);
    if (host === undefined && isOwnPort && ownNames.test(hostname)) return;
    if (host === undefined) throw new Error(`${hostname} is not a host that commands can reach`);
    if (namesHost(hosts, host, port)) return;
    const wanted = hostAndPort(host, port);
    if (this.#refused.size < maxNamed) this.#refused.add(wanted);
    throw new Error(
      `${wanted} is not among the hosts that this command may reach; call again with network: ["${wanted}"]`,
    );
  }

  end(): void {
    this.#onEnd(this);
  }
}

const ownNames = /^(localhost|127\.0\.0\.1|\[::1\])$/;
