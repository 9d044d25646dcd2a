import { z } from 'zod';

/** The network of a call: none, any host, or only these hosts (RN-5). A host is written as `readNetworkHost` returns it. */
export type NetworkAccess = boolean | readonly string[];

/** A call may name this many hosts, so that the person can read them all. */
const maxHosts = 20;

/** A host without a port stands for these ports. */
const webPorts: readonly number[] = [80, 443];

/** One host, in the one spelling of `readNetworkHost`. */
export const networkHost = z
  .string()
  .max(300)
  .overwrite((text) => readNetworkHost(text) ?? text)
  .refine((text) => readNetworkHost(text) !== undefined);

export const networkParameter = z
  .union([z.boolean(), z.array(networkHost).min(1).max(maxHosts)], {
    error: `true for any host, or 1 to ${maxHosts} names such as api.example.org or api.example.org:8443; never this machine`,
  })
  .optional()
  .describe(
    'Hosts that the command must reach, such as ["api.example.org"] (with a port if it is not 80 or 443); true for any host. Leave it out if the command needs no network, and for installers and git, whose hosts are known. The person is always asked.',
  );

/**
 * Returns a host in the one spelling that cards show and the network gate compares: lower case, without a trailing dot,
 * an international name in its `xn--` form, an address in its shortest form, a port only if one was named. Undefined for
 * text that is not a host, and for a name or address of this machine.
 */
export function readNetworkHost(text: string): string | undefined {
  const [, name = '', port] = /^(\[[0-9a-f:.]+\]|[^\s:/?#@%\\[\]]+)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = hostnameOf(name);
  if (host === undefined || isThisMachine(host)) return undefined;
  if (port === undefined) return host;
  const number = Number(port);
  return number >= 1 && number <= 65_535 ? `${host}:${number}` : undefined;
}

/** Whether a host and port are among the hosts, each as `readNetworkHost` returns it. */
export function namesHost(hosts: readonly string[], host: string, port: number): boolean {
  return hosts.includes(`${host}:${port}`) || (webPorts.includes(port) && hosts.includes(host));
}

/** A host and port as a call would name them: without the port if it is one of the web's. */
export const hostAndPort = (host: string, port: number): string =>
  webPorts.includes(port) ? host : `${host}:${port}`;

function hostnameOf(name: string): string | undefined {
  if (name === '') return undefined;
  try {
    const { hostname } = new URL(`http://${name}`);
    const host = hostname.replace(/\.$/, '');
    return isName.test(host) || /^\[[0-9a-f:]+\]$/.test(host) ? host : undefined;
  } catch {
    return undefined;
  }
}

const isName =
  /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** What the text alone shows. The network gate also knows this machine's other names and addresses. */
const isThisMachine = (host: string): boolean =>
  /^(.+\.)?localhost$/.test(host) ||
  /^(0|127)\.\d+\.\d+\.\d+$/.test(host) ||
  /^169\.254\./.test(host) ||
  /^\[(::1?|::ffff:(7f[0-9a-f]{2}|a9fe|0):.*|::ffff:[0-9a-f]{1,2}:.*|fe[89ab][0-9a-f]:.*)\]$/.test(host);

/** Every browser and Node have it; this package is compiled without the types of either. */
declare const URL: new (text: string) => { readonly hostname: string };
