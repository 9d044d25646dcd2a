import { matchesStars } from '../glob.ts';
import { ANY_CHARACTER, HOME_NAME, hasHole, hasMark, STAR, USER_NAME } from '../program/marks.ts';
import { wordList } from '../text.ts';
import { pushComponent } from '../workspace-path.ts';
import type { ShellRun } from './shell-run.ts';

/** More links in a row than this are not followed, as in a kernel. */
const MAX_LINKS = 8;

/**
 * Where a word may point, as absolute paths without `.` and `..`; one for each directory the shell may be in. Links
 * that this line made are followed; a link that is the last component only if `followLast`.
 */
export function resolvePlaces(
  run: ShellRun,
  word: string,
  { followLast = true }: { followLast?: boolean } = {},
): readonly string[] {
  const path = word.length > 255 ? word.replace(/\uFDD7{2,}/g, STAR).replace(/\/{2,}/g, '/') : word;
  if (path === '' || path.length > 4_096) return []; // no file can have such a name
  const places = unlinkedPlaces(run, path);
  return run.state.links.size === 0 ? places : places.map((place) => followLinks(run, place, followLast));
}

function unlinkedPlaces(run: ShellRun, path: string): readonly string[] {
  const first = path[0] ?? '';
  if (first === '/') return [throughProcess(normalize(path))];
  // bash leaves `~$USER` alone, other shells and `eval` do not
  if (path.startsWith(`~${USER_NAME}`)) return [normalize(`/home/${path.slice(1)}`)];
  if (hasHole(first) && first !== USER_NAME) return [path]; // may start with `/` or not: only the run knows
  return run.state.directories.map((directory) => normalize(`${directory}/${path}`));
}

/** `/proc/self/root` is the root, for a process of any number. */
const throughProcess = (place: string): string =>
  place.startsWith('/proc/')
    ? place.replace(/^\/proc\/[^/]+(\/task\/[^/]+)?\/root(?=\/|$)/, '') || '/'
    : place;

function followLinks(run: ShellRun, place: string, followLast: boolean): string {
  let path = place;
  for (let i = 0; i < MAX_LINKS; i++) {
    const end = endOfLink(run, path, followLast);
    if (end < 0) return path;
    path = normalize(`${run.state.links.get(path.slice(0, end))}/${path.slice(end)}`);
  }
  return path;
}

/** Where the first link in a path ends; negative if it has none. */
function endOfLink(run: ShellRun, path: string, followLast: boolean): number {
  for (let end = path.indexOf('/', 1); end > 0; end = path.indexOf('/', end + 1))
    if (run.state.links.has(path.slice(0, end))) return end;
  return followLast && run.state.links.has(path) ? path.length : -1;
}

export function normalize(path: string): string {
  const stack: string[] = [];
  for (const part of path.split('/')) pushComponent(stack, part);
  return `/${stack.join('/')}`;
}

/** Directories a system cannot live without; what is directly in `/home` or `/Users` is somebody's home. */
const SYSTEM = new Set(
  (
    'bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys usr var ' +
    'Users Applications Library System Volumes private cores nix snap'
  ).split(' '),
);
const SYSTEM_BELOW = new Set(
  (
    'usr/bin usr/lib usr/lib64 usr/sbin usr/local usr/share usr/local/bin usr/local/lib var/lib var/log var/spool ' +
    'private/etc private/var etc/ssh etc/systemd lib/systemd System/Library boot/efi'
  ).split(' '),
);

const SOME_HOME = /^\/(home|Users)\/[\uFDD0-\uFDD6\uFDDA\uFDDB]+$/;

export type Protection = 'root' | 'system' | 'home' | 'workspace' | 'above workspace';

/**
 * What would be lost if the place, with everything in it, were gone. A last component that matches everything
 * (`/*`, `~/.*`) stands for the directory it is in; other patterns are tried against the protected names.
 */
export function protectionOf(run: ShellRun, place: string): Protection | undefined {
  const everything = /^(.*)\/\.?[\uFDD7\uFDD8]*\uFDD7[\uFDD7\uFDD8]*$/.exec(place);
  if (everything) {
    const parent = everything[1] as string;
    const kind = protectionOf(run, parent === '' ? '/' : parent);
    // a person may want to remove everything in the workspace, but not the workspace itself
    if (kind) return kind === 'workspace' ? undefined : kind;
    return undefined;
  }
  // an unknown name directly below `/home` is somebody's home
  if (hasHole(place)) return SOME_HOME.test(place) ? 'home' : undefined;
  if (place === '/') return 'root';
  const relative = place.slice(1);
  const isHome =
    place === run.home ||
    relative === HOME_NAME ||
    /^(home|Users)\/[^/]+$/.test(relative) ||
    relative === 'root';
  if (isHome) return 'home';
  if (hasMark(place)) return protectionOfPattern(run, relative);
  if (SYSTEM.has(relative) || SYSTEM_BELOW.has(relative)) return 'system';
  if (place === run.paths.root) return 'workspace';
  if (run.paths.root.startsWith(`${place}/`)) return 'above workspace';
  if (run.home.startsWith(`${place}/`)) return 'home';
  return undefined;
}

function protectionOfPattern(run: ShellRun, pattern: string): Protection | undefined {
  for (const name of SYSTEM) if (matchesComponents(pattern, name)) return 'system';
  if (matchesComponents(pattern, run.home.slice(1))) return 'home';
  const root = run.paths.root.slice(1).split('/');
  for (let n = root.length; n > 0; n--) {
    const name = root.slice(0, n).join('/');
    // `src/*` and the like match no parent of the root; `../*` does, and takes the workspace with it
    if (matchesComponents(pattern, name)) return n === root.length ? 'workspace' : 'above workspace';
  }
  return undefined;
}

/** A star stays within its component. */
function matchesComponents(pattern: string, name: string): boolean {
  const patterns = pattern.split('/');
  const names = name.split('/');
  return (
    patterns.length === names.length && patterns.every((part, i) => matchesPattern(part, names[i] as string))
  );
}

/** Disks, raw memory and kernel switches. Writing there destroys data or takes over the machine. */
const DEVICE =
  /^\/dev\/((sd|hd|vd|xvd)[a-z]+\d*|nvme\d+(n\d+(p\d+)?)?|mmcblk\d+\w*|(disk|mapper|md|vg\w*|block|zvol|zd\d+)\/.+|dm-\d+|loop\d+\w*|md\d+\w*|z?ram\d+|r?disk\d+\w*|sg\d+|sr\d+|nbd\d+\w*|pmem\d+\w*|bcache\d+|mem|kmem|port|nvram|mtd\w*|cpu\/.+|watchdog\d*)$|^\/proc\/(sysrq-trigger|kcore|kmem|sys\/.+|\d+\/mem)$|^\/sys\/.+/;

const DEVICE_EXAMPLES = wordList(`/dev/sda /dev/sdb /dev/sda1 /dev/hda /dev/vda /dev/xvda /dev/nvme0n1
  /dev/mmcblk0 /dev/dm-0 /dev/loop0 /dev/md0 /dev/mem /dev/kmem /dev/disk0 /dev/mapper/root /dev/disk/by-id/x
  /proc/sysrq-trigger`);

/** Whether a place is a disk, raw memory or a kernel switch, or a pattern or half-known name that may be one. */
export function isDevice(place: string): boolean {
  if (!hasMark(place)) return DEVICE.test(place);
  if (!place.startsWith('/dev/') && !place.startsWith('/proc/') && !place.startsWith('/sys/')) {
    return !hasHole(place) && DEVICE_EXAMPLES.some((name) => matchesComponents(place, name));
  }
  const known = /^[^\uFDD0-\uFDEF]*/.exec(place)?.[0] ?? '';
  if (/^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|disk\/|mapper\/|dm-|loop|md\d)/.test(known)) return true;
  return (
    !/^\/dev\/(fd\/|tcp\/|udp\/|pts\/|shm\/|tty)/.test(known) &&
    DEVICE_EXAMPLES.some((name) => matchesPattern(place, name))
  );
}

/** Names below `/dev` that are not disks: streams, terminals, shared memory, and devices that people work with. */
const NO_DISK =
  /^\/dev\/(null|zero|full|u?random|std(in|out|err)|console|ptmx|log|kmsg|kvm|fuse|uinput|((fd|pts|shm|mqueue|tcp|udp|snd|input|usb|serial|dri|bus|net)(\/.*)?)|(tty|cu\.|lp|dsp|audio|midi|rfcomm|video|hidraw|i2c-|spidev|gpiochip|ptp|pps)[^/]*)$/;

/** Whether writing to a place may destroy a disk: an unknown name below `/dev` may be one. */
export const mayBeDisk = (place: string): boolean =>
  isDevice(place) || (/^\/dev\/[^/]/.test(place) && !hasMark(place) && !NO_DISK.test(place));

export const isStarOnly = (path: string): boolean =>
  path !== '' &&
  [...path].every((c) => c === STAR || c === ANY_CHARACTER || c === '.' || c === '/') &&
  path.includes(STAR);

/** The text without any `c` at its end. A regular expression such as `/\n+$/` would take quadratic time. */
export function withoutLast(text: string, c: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === c) end--;
  return text.slice(0, end);
}

/** Whether a name could be matched by a word with active patterns. Holes match anything, as a star does. */
export const matchesPattern = (pattern: string, name: string): boolean =>
  matchesStars(pattern, name, isStar, fits);

const isStar = (c: string): boolean => c === STAR || hasHole(c);
const fits = (c: string, character: string): boolean => c === ANY_CHARACTER || c === character;
