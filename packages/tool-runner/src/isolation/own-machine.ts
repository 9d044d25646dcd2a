import { BlockList, isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

const always = new BlockList();
always.addSubnet('0.0.0.0', 8, 'ipv4');
always.addSubnet('127.0.0.0', 8, 'ipv4');
// Link-local: a cloud gives its machines' credentials to whoever asks there.
always.addSubnet('169.254.0.0', 16, 'ipv4');
always.addSubnet('fe80::', 10, 'ipv6');
always.addAddress('::', 'ipv6');
always.addAddress('::1', 'ipv6');

/**
 * Whether an address leads to this machine itself, where our server and much else listens that trusts whoever gets as
 * far: loopback, link-local, and the addresses that its interfaces have now. What is no address counts as one of them.
 */
export function isOwnMachine(address: string): boolean {
  const plain = plainAddress(address);
  if (isIP(plain) === 0) return true;
  const family = isIPv6(plain) ? 'ipv6' : 'ipv4';
  if (always.check(plain, family)) return true;
  const own = new BlockList();
  for (const found of Object.values(networkInterfaces()).flat()) {
    if (found)
      own.addAddress(found.address.split('%', 1)[0] ?? '', found.family === 'IPv6' ? 'ipv6' : 'ipv4');
  }
  return own.check(plain, family);
}

/** An address in its one spelling: `::ffff:127.0.0.1`, also in hexadecimal, is 127.0.0.1. */
export function plainAddress(text: string): string {
  const address = text.split('%', 1)[0] ?? '';
  if (!isIPv6(address)) return address;
  const spelled = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(spelled);
  if (!mapped) return spelled;
  const [high, low] = [Number.parseInt(mapped[1] ?? '', 16), Number.parseInt(mapped[2] ?? '', 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}
