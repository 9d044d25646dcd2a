import { foundNames, readFound } from '../program/find/find-call.ts';
import { readGit } from '../program/git/git-call.ts';
import { hasHole, hasPattern } from '../program/marks.ts';
import { hasLong, readOptions } from '../program/options.ts';
import { wordList } from '../text.ts';
import { contentOf } from './redirections.ts';
import type { ProgramCall, ShellRun } from './shell-run.ts';
import {
  isDevice,
  isStarOnly,
  mayBeDisk,
  normalize,
  type Protection,
  protectionOf,
  resolvePlaces,
} from './word-paths.ts';

/** Functions by which the rules of catastrophes.ts recognise a call. Each returns the words that make it a catastrophe. */

export function byName(names: readonly string[]): (call: ProgramCall) => string | undefined {
  const set = new Set(names);
  return ({ name }) => (set.has(name) ? name : undefined);
}

/** Programs that only read a device. */
const DEVICE_READERS = new Set(
  wordList(`cat head tail ls stat file lsblk blkid smartctl hexdump xxd od df mount
  umount test [ echo printf grep egrep rg strings readlink realpath udevadm findmnt lsof fuser wc cmp diff sum
  md5sum sha1sum sha256sum cksum du find tree awk sed cut sort basename dirname which type man info help`),
);
/** Programs that write to their last operands. */
const WRITERS = new Set('tee dd cp mv install ln truncate sponge touch rsync'.split(' '));

export function findDevice({ run, name, args }: ProgramCall): string | undefined {
  if (DEVICE_READERS.has(name) || findFormat({ run, name, args })) return undefined;
  // `mknod x b 8 0` makes a disk available under another name
  if (name === 'mknod') return args.find((word, index) => index > 0 && /^[bcu]$/.test(word));
  return args.find((word, index) => {
    if (name === 'dd' || name === 'dcfldd' || name === 'dc3dd') {
      return word.startsWith('of=') && resolvePlaces(run, word.slice(3)).some(mayBeDisk);
    }
    const isSource = (name === 'cp' || name === 'ln' || name === 'rsync') && index < args.length - 1;
    if (isSource) return false;
    const own = word.startsWith('-') ? word.slice(word.indexOf('=') + 1 || 2) : word;
    // paths inside a word: `OPEN:/dev/sda`, `file=/dev/sda,format=raw`
    const inside = [...word.matchAll(/[:=,](\/[^:,]+)/g)].map(([, path = '']) => path);
    return [own, ...inside].some((path) => {
      if (!path.startsWith('/') && !path.includes('..')) return false;
      return resolvePlaces(run, path).some(
        (place) => isDevice(place) && (place.startsWith('/dev/') || WRITERS.has(name)),
      );
    });
  });
}

export function findFormat({ name, args }: ProgramCall): string | undefined {
  if (/^(mkfs(\..+)?|mke2fs|mkswap|newfs(_.+)?|mkdosfs|mkntfs|mkexfatfs|blkdiscard|mkudffs)$/.test(name))
    return name;
  const words = args.join(' ').slice(0, 1_000);
  const sub: Readonly<Record<string, RegExp>> = {
    cryptsetup: /\b(luksFormat|erase|luksErase|reencrypt)\b/,
    zpool: /\b(destroy|create|labelclear)\b/,
    zfs: /\bdestroy\b/,
    nvme: /\b(format|sanitize|write-zeroes)\b/,
    diskutil: /\b(erase\w*|partitionDisk|secureErase|reformat|zeroDisk)\b/i,
    mdadm: /--(zero-superblock|create)\b|^-C/,
    hdparm: /--(security-erase|security-erase-enhanced|write-sector|trim-sector-ranges|make-bad-sector)/,
    sgdisk: /(^| )-[a-zA-Z]*[ZoGdn]|--(zap|zap-all|clear|delete|new)/,
    parted: /\b(mklabel|mktable|mkpart|rm|resizepart)\b/,
    tune2fs: /(^| )-[OU]/,
  };
  if (['lvremove', 'vgremove', 'pvremove', 'pvcreate', 'sfdisk', 'cfdisk', 'gdisk'].includes(name))
    return args.includes('-l') ? undefined : name;
  return Object.hasOwn(sub, name) && sub[name]?.test(words) ? `${name} ${words}` : undefined;
}

export function findSetuid(call: ProgramCall): string | undefined {
  const { name, args } = call;
  if (name === 'setcap') return name;
  if (name !== 'chmod' && name !== 'install' && name !== 'mkdir') return undefined;
  const modes = name === 'chmod' ? args.slice(0, args.length - 1) : modeValues(args);
  return modes.find((mode) => {
    if (/^=?0*[4-7][0-7]{3}$/.test(mode)) return true;
    const isGroupOnly = /^=?0*2[0-7]{3}$/.test(mode) || /^g[+=][rwxXt]*s/.test(mode);
    if (isGroupOnly) return name !== 'mkdir' && !changesDirectories(call);
    return /(^|,)[ugoa]*([+=][rwxXt]*)+s/.test(mode) && !mode.startsWith('-');
  });
}

/**
 * Whether the operands are directories. On a directory the set-group-id bit only sets the group of new files; on a
 * program it gives rights.
 */
function changesDirectories({ run, args }: ProgramCall): boolean {
  const { flags, operands } = readOptions(args, '-m');
  if (flags.has('R') || flags.has('d')) return true;
  const last = operands.at(-1) ?? '';
  return resolvePlaces(run, last).every((place) => {
    const check = run.paths.check(place);
    return (
      last.endsWith('/') || run.madeDirectories.has(place) || (check.ok && check.entry?.type === 'directory')
    );
  });
}

const modeValues = (args: readonly string[]): readonly string[] => {
  const { values } = readOptions(args, '-m -g -o -t -S --mode');
  return [values.get('m') ?? '', values.get('mode') ?? ''];
};

export function findPower({ name, args }: ProgramCall): string | undefined {
  if (/^(shutdown|reboot|halt|poweroff|telinit|killall5)$/.test(name)) return name;
  if (name === 'init' && /^[0156sS]$/.test(args[0] ?? '')) return `init ${args[0]}`;
  if (name === 'systemctl' || name === 'loginctl') {
    return args.find((word) =>
      /^(poweroff|reboot|halt|kexec|suspend|hibernate|hybrid-sleep|soft-reboot|rescue|emergency|isolate)$/.test(
        word,
      ),
    );
  }
  if (name === 'kill') {
    return args.find((word, index) => index > 0 && /^(-1|1)$/.test(word));
  }
  return undefined;
}

const CHANGES_RIGHTS = /^(chmod|chown|chgrp|setfacl|chattr|chflags)$/;

export function findOwnership({ run, name, args }: ProgramCall): string | undefined {
  const isProtected = (word: string): boolean =>
    resolvePlaces(run, word).some((place) => {
      const kind = protectionOf(run, place);
      return kind !== undefined && kind !== 'workspace';
    });
  if (name === 'find' || name === 'gfind') {
    const find = readFound(name, args, (file) => contentOf(run, file));
    const changes = find.calls.some(([program = '']) => CHANGES_RIGHTS.test(program.replace(/^.*\//, '')));
    return changes && find.takesAll ? foundNames(find).find(isProtected) : undefined;
  }
  if (!CHANGES_RIGHTS.test(name)) return undefined;
  const options = readOptions(args);
  if (!options.flags.has('R') && !hasLong(options, 'recursive', 3)) return undefined;
  return options.operands.find(isProtected);
}

export function findMoved({ run, name, args }: ProgramCall): string | undefined {
  if (name !== 'mv') return undefined;
  const { operands, values } = readOptions(args, '-t -S --target-directory --suffix');
  const sources = values.has('t') || values.has('target-directory') ? operands : operands.slice(0, -1);
  return sources.find(
    (word) =>
      !hasHole(word) && resolvePlaces(run, word).some((place) => protectionOf(run, place) !== undefined),
  );
}

export function findRemoteShell({ name, args }: ProgramCall): string | undefined {
  if (/^(nc|ncat|netcat|nc\.\w+)$/.test(name)) {
    const { flags } = readOptions(args, '-e -p -s -w -x -X -q -i -O -T -I -m');
    return flags.has('e') || flags.has('c') || flags.has('exec') || flags.has('sh-exec')
      ? `${name} ${args.join(' ')}`
      : undefined;
  }
  if (name === 'socat') return args.find((word) => /^(EXEC|SYSTEM|SHELL):/i.test(word));
  return undefined;
}

/** Programs that always give the rights of another user. */
const PRIVILEGE_PROGRAMS = new Set(
  wordList(`sudo su doas pkexec run0 sudoedit gosu su-exec runuser visudo calife sux kdesu
  gksu gksudo sudo-rs please dzdo pfexec ksu pbrun sesu super userv kdesudo lxsu beesu userhelper consolehelper
  rootsh setuidgid chpst`),
);
/** Groups with the rights of the administrator. */
const POWERFUL_GROUPS = /^(root|wheel|sudo|admin|adm|disk|docker|lxd|shadow|kmem|0)$/;

/** `-v /:/host`, `--mount type=bind,source=/,target=/host`: a container gets write access to the whole machine. */
const mountsRoot = (word: string): boolean =>
  (/^(-v|--volume=)?\/+:\/[^:]*(:.*)?$/.test(word) && !/:(.*,)?ro\b/.test(word)) ||
  (/\b(src|source)=\/+(,|$)/.test(word) && !/\b(readonly|ro)\b/.test(word));

export function findPrivilege({ name, args }: ProgramCall): string | undefined {
  if (PRIVILEGE_PROGRAMS.has(name)) return name;
  const [first = ''] = args;
  if (/^(-h|--help|-V|--version)$/.test(first)) return undefined;
  if (/^(docker|podman|nerdctl)$/.test(name)) return args.find(mountsRoot);
  return asksForRights(name, args) ? [name, ...args].join(' ').slice(0, 200) : undefined;
}

function asksForRights(name: string, args: readonly string[]): boolean {
  const has = (pattern: RegExp): boolean => args.some((word) => pattern.test(word));
  switch (name) {
    case 'setpriv':
      return has(/^--(re|r|e)?[ug]id\b|^--(init-)?groups|^--(inh|ambient)-caps=\+/);
    case 'capsh':
      return has(/^--(uid|gid|user|groups|caps|inh|addamb|secbits|mode|chroot)=/);
    case 'nsenter':
    case 'chroot':
    case 'arch-chroot':
    case 'systemd-nspawn':
    case 'schroot':
      return args.length > 0;
    case 'systemd-run':
      return has(/^--[ug]id\b|^(-p|--property=)?(User|Group|DynamicUser)=/);
    case 'machinectl':
      return /^(shell|login)$/.test(args[0] ?? '');
    case 'sg':
    case 'newgrp':
      return POWERFUL_GROUPS.test(readOptions(args).operands[0] ?? '');
    default:
      return false;
  }
}

/** Whether removing a place with this protection is a catastrophe by the rule in question. */
type IsForbidden = (kind: Protection | undefined) => boolean;
type Remover = (call: ProgramCall, isForbidden: IsForbidden) => string | undefined;

/** Programs that remove files, and how to find what a call removes. */
const REMOVERS: readonly [names: RegExp, find: Remover][] = [
  [/^(rm|srm|grm|rimraf|trash|del-cli)$/, removesOperands],
  [/^(g?find|fd|fdfind)$/, findsEverything],
  [/^rsync$/, replacesTarget],
  [/^(shred|truncate|unlink)$/, removesPattern],
  [/^(g?tar|bsdtar|zip)$/, archivesAndRemoves],
  [/^git$/, cleansWorkTree],
];

/** The first word of a call that removes a forbidden place with everything in it. */
export function findRemoved(call: ProgramCall, isForbidden: IsForbidden): string | undefined {
  return REMOVERS.find(([names]) => names.test(call.name))?.[1](call, isForbidden);
}

function removesOperands({ run, name, args }: ProgramCall, isForbidden: IsForbidden): string | undefined {
  const options = readOptions(args);
  const recursive =
    name !== 'rm' || options.flags.has('r') || options.flags.has('R') || hasLong(options, 'recursive', 1);
  return options.operands.find((word) => {
    // `rm link` removes only the link; `rm link/` removes what it leads to
    const places = resolvePlaces(run, word, { followLast: word.endsWith('/') });
    if (places.some((place) => /^\/?\uFDD6/.test(place)))
      run.tooComplex('what it removes has too many values');
    return places.some(
      (place) =>
        (recursive || isStarOnly(place.slice(place.lastIndexOf('/') + 1))) &&
        isForbidden(protectionOf(run, place)),
    );
  });
}

function replacesTarget({ run, args }: ProgramCall, isForbidden: IsForbidden): string | undefined {
  const options = readOptions(
    args,
    '-e -f -T -B -M --rsh --exclude --include --filter --files-from --exclude-from --include-from',
  );
  const deletes = [...options.flags].some((flag) => flag.startsWith('del') || flag === 'remove-source-files');
  if (!deletes) return undefined;
  const removed = options.flags.has('remove-source-files')
    ? options.operands.slice(0, -1)
    : options.operands.slice(-1);
  return removed.find((word) =>
    resolvePlaces(run, word).some((place) => isForbidden(protectionOf(run, place))),
  );
}

function removesPattern({ run, args }: ProgramCall, isForbidden: IsForbidden): string | undefined {
  return readOptions(args, '-n -s').operands.find((word) =>
    resolvePlaces(run, word).some((place) => hasPattern(place) && isForbidden(protectionOf(run, place))),
  );
}

/** `tar --remove-files`, `zip -m`. Removing the workspace is allowed, because all of it is in the archive. */
function archivesAndRemoves({ run, name, args }: ProgramCall, isForbidden: IsForbidden): string | undefined {
  const { flags, values, operands } = readOptions(
    args,
    name === 'zip' ? '-b -n -t --file --directory' : '-C -f --file --directory',
  );
  const removes =
    name === 'zip'
      ? flags.has('m') || flags.has('move')
      : [...flags].some((flag) => flag.startsWith('remove-f'));
  if (!removes) return undefined;
  const directory = values.get('C') ?? values.get('directory');
  return operands.find((word) => {
    const path = directory === undefined || word.startsWith('/') ? word : `${directory}/${word}`;
    return isForbiddenOutside(run, path, isForbidden);
  });
}

/** Whether a path is forbidden, and is not the workspace itself. */
const isForbiddenOutside = (run: ShellRun, path: string, isForbidden: IsForbidden): boolean =>
  resolvePlaces(run, path)
    .map((place) => protectionOf(run, place))
    .some((kind) => kind !== 'workspace' && isForbidden(kind));

/** `git clean` outside the workspace. Inside the workspace it is allowed. */
function cleansWorkTree({ run, args: words }: ProgramCall, isForbidden: IsForbidden): string | undefined {
  const { subcommand, args, directories, workTree } = readGit(words);
  if (subcommand !== 'clean' || args.some((word) => /^(-\w*n\w*|--dry-run)$/.test(word))) return undefined;
  const tree = workTree ?? run.state.variables.get('GIT_WORK_TREE')?.values[0] ?? '.';
  const place = [...directories, tree].reduce((path, next) =>
    next.startsWith('/') ? next : `${path}/${next}`,
  );
  return isForbiddenOutside(run, place, isForbidden) ? `git clean in ${place}` : undefined;
}

/** `find / -delete`, `find / -exec rm {} +`: the first starting point that is forbidden. */
function findsEverything({ run, args, name }: ProgramCall, isForbidden: IsForbidden): string | undefined {
  const find = readFound(name, args, (file) => contentOf(run, file));
  if (!find.takesAll) return undefined;
  const removes =
    find.deletes || find.calls.some(([program = '']) => /(^|\/)(rm|shred|unlink|srm)$/.test(program));
  if (!removes) return undefined;
  return foundNames(find).find((start) =>
    resolvePlaces(run, start).some((place) => isForbidden(protectionOf(run, normalize(place)))),
  );
}
