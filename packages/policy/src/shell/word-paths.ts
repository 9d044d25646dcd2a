import { matchesStars } from '../glob.ts';
import { ANY_CHARACTER, HOME_NAME, hasHole, hasMark, STAR, USER_NAME } from '../program/marks.ts';
import { wordList } from '../text.ts';
import { pushComponent } from '../workspace-path.ts';
import type { ShellRun } from './shell-run.ts';

/** The most links that are followed for one path. */
const MAX_LINKS = 8;

/**
 * The absolute paths that a word may mean, without `.` and `..`: one for each possible working directory. Follows links
 * that this line made; follows a link in the last component only if `followLast`.
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
  if (first === '/') return [withoutProcessRoot(normalize(path))];
  // bash does not expand `~$USER`, but other shells and `eval` do
  if (path.startsWith(`~${USER_NAME}`)) return [normalize(`/home/${path.slice(1)}`)];
  if (hasHole(first) && first !== USER_NAME) return [path]; // an unknown start may be `/` or not
  return run.state.directories.map((directory) => normalize(`${directory}/${path}`));
}

/** Removes a leading `/proc/self/root` or `/proc/123/root`, which is the root directory. */
const withoutProcessRoot = (place: string): string =>
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

/** The index at which the first link in a path ends; negative if the path has no link. */
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

/** Directories in `/` that the system needs. */
const SYSTEM = new Set(
  wordList(`bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys usr var
  Users Applications Library System Volumes private cores nix snap`),
);
/** Deeper directories that the system needs. */
const SYSTEM_BELOW = new Set(
  wordList(`usr/bin usr/lib usr/lib64 usr/sbin usr/local usr/share usr/local/bin usr/local/lib var/lib var/log
  var/spool private/etc private/var etc/ssh etc/systemd lib/systemd System/Library boot/efi`),
);

/** An unknown name directly in `/home` or `/Users`. */
const SOME_HOME = /^\/(home|Users)\/[\uFDD0-\uFDD6\uFDDA\uFDDB]+$/;

export type Protection = 'root' | 'system' | 'home' | 'workspace' | 'above workspace';

/**
 * Why a place may not be removed with everything in it; undefined if it may. A last component that matches everything
 * (`/*`, `~/.*`) counts as its directory; other patterns are tried against the protected names.
 */
export function protectionOf(run: ShellRun, place: string): Protection | undefined {
  const everything = /^(.*)\/\.?[\uFDD7\uFDD8]*\uFDD7[\uFDD7\uFDD8]*$/.exec(place);
  if (everything) {
    const parent = everything[1] as string;
    const kind = protectionOf(run, parent === '' ? '/' : parent);
    // a person may want to remove everything in the workspace, but not the workspace itself
    return kind === 'workspace' ? undefined : kind;
  }
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
    // `../*` matches the workspace itself; `src/*` matches neither the workspace nor a parent of it
    if (matchesComponents(pattern, name)) return n === root.length ? 'workspace' : 'above workspace';
  }
  return undefined;
}

/** Whether the pattern matches the path component by component: a star does not match a slash. */
function matchesComponents(pattern: string, name: string): boolean {
  const patterns = pattern.split('/');
  const names = name.split('/');
  return (
    patterns.length === names.length && patterns.every((part, i) => matchesPattern(part, names[i] as string))
  );
}

/** Disks, raw memory and kernel switches. Writing to them destroys data or takes over the machine. */
const DEVICE =
  /^\/dev\/((sd|hd|vd|xvd)[a-z]+\d*|nvme\d+(n\d+(p\d+)?)?|mmcblk\d+\w*|(disk|mapper|md|vg\w*|block|zvol|zd\d+)\/.+|dm-\d+|loop\d+\w*|md\d+\w*|z?ram\d+|r?disk\d+\w*|sg\d+|sr\d+|nbd\d+\w*|pmem\d+\w*|bcache\d+|mem|kmem|port|nvram|mtd\w*|cpu\/.+|watchdog\d*)$|^\/proc\/(sysrq-trigger|kcore|kmem|sys\/.+|\d+\/mem)$|^\/sys\/.+/;

const DEVICE_EXAMPLES = wordList(`/dev/sda /dev/sdb /dev/sda1 /dev/hda /dev/vda /dev/xvda /dev/nvme0n1
  /dev/mmcblk0 /dev/dm-0 /dev/loop0 /dev/md0 /dev/mem /dev/kmem /dev/disk0 /dev/mapper/root /dev/disk/by-id/x
  /proc/sysrq-trigger`);

/** Whether a place is, or by a pattern or a partly unknown name may be, a disk, raw memory or a kernel switch. */
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

/** Names in `/dev` that are not disks: streams, terminals, shared memory, and devices such as cameras and printers. */
const NOT_A_DISK =
  /^\/dev\/(null|zero|full|u?random|std(in|out|err)|console|ptmx|log|kmsg|kvm|fuse|uinput|((fd|pts|shm|mqueue|tcp|udp|snd|input|usb|serial|dri|bus|net)(\/.*)?)|(tty|cu\.|lp|dsp|audio|midi|rfcomm|video|hidraw|i2c-|spidev|gpiochip|ptp|pps)[^/]*)$/;

/** Whether writing to a place may destroy a disk. Any name in `/dev` that we do not know may be a disk. */
export const mayBeDisk = (place: string): boolean =>
  isDevice(place) || (/^\/dev\/[^/]/.test(place) && !hasMark(place) && !NOT_A_DISK.test(place));

export const isStarOnly = (path: string): boolean =>
  path !== '' &&
  [...path].every((c) => c === STAR || c === ANY_CHARACTER || c === '.' || c === '/') &&
  path.includes(STAR);

/** The text without the characters `c` at its end. A regular expression such as `/\n+$/` would take quadratic time. */
export function withoutLast(text: string, c: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === c) end--;
  return text.slice(0, end);
}

/** Whether a word with active patterns may match a name. Holes match anything, as a star does. */
export const matchesPattern = (pattern: string, name: string): boolean =>
  matchesStars(pattern, name, isStar, fits);

const isStar = (c: string): boolean => c === STAR || hasHole(c);
const fits = (c: string, character: string): boolean => c === ANY_CHARACTER || c === character;
