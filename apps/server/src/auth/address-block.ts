import { isIPv6 } from 'node:net';

/**
 * What one client can choose its address from: an IPv4 address stands for itself, an IPv6 address for its network of 64
 * bits, whose 2^64 addresses a single machine may use in turn.
 */
export function addressBlock(address: string): string {
  const plain = address.split('%')[0] as string; // without the zone of a link-local address
  if (!isIPv6(plain)) return address;
  const [head = '', tail] = plain.split('::');
  const mapped = /^::ffff:([\d.]+)$/i.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  const groups = head === '' ? [] : head.split(':');
  const left = tail === undefined ? [] : tail.split(':').filter((group) => group !== '');
  const isDotted = plain.includes('.');
  while (groups.length + left.length + (isDotted ? 1 : 0) < 8) groups.push('0');
  const network = [...groups, ...left].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
