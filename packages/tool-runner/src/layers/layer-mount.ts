import { findTool } from '../isolation/isolation-probe.ts';

/** The programs that mount a layer: of util-linux, and shells. `sh` starts faster; `bash` reads names with line feeds. */
export interface LayerTools {
  readonly unshare: string;
  readonly mount: string;
  readonly sh: string;
  readonly bash: string;
}

/**
 * How the overlay is mounted. `root`: in a mount namespace alone, so that files of other users can be changed. `user`: in a
 * user namespace too, as any user may.
 */
export type MountWay = 'root' | 'user';

export interface LayerFolders {
  /** What the command writes. */
  readonly upper: string;
  /** The kernel's own. */
  readonly work: string;
  /** Where the command sees the workspace with its own changes. */
  readonly merged: string;
}

export function findLayerTools(find = findTool): LayerTools | { readonly missing: string } {
  const [unshare, mount, sh, bash] = ['unshare', 'mount', 'sh', 'bash'].map(find);
  if (unshare && mount && sh && bash) return { unshare, mount, sh, bash };
  const missing = !unshare ? 'unshare (of util-linux)' : !mount ? 'mount (of util-linux)' : 'a shell';
  return { missing };
}

/**
 * `volatile`: without it, the kernel writes the whole disk below the layer out when the command ends, which takes a tenth
 * of a second and more. What lands is flushed by the landing. `xino=on`: then the kernel marks also a new folder as one that
 * replaces what is below. The other options are defaults that a system may have changed: then the upper folder would not
 * hold the command's changes whole.
 */
const writeOptions: Record<MountWay, string> = {
  root: 'volatile,xino=on,index=off,metacopy=off,redirect_dir=nofollow',
  user: 'volatile,xino=on,index=off,metacopy=off,userxattr',
};
const lookOptions: Record<MountWay, string> = {
  root: 'metacopy=off,redirect_dir=nofollow',
  user: 'metacopy=off,userxattr',
};

/**
 * Returns the command line that mounts the layer over `root`, visible to nobody else; append the program to start. The
 * kernel removes the mount with the last process.
 */
export const mountLine = (
  tools: LayerTools,
  way: MountWay,
  root: string,
  { upper, work, merged }: LayerFolders,
): readonly string[] =>
  mounting(tools, way, `${writeOptions[way]},lowerdir=${root},upperdir=${upper},workdir=${work}`, merged);

/** The same to look at `root` through the layer, which stays as it is. */
export const lookLine = (
  tools: LayerTools,
  way: MountWay,
  root: string,
  { upper, merged }: LayerFolders,
): readonly string[] => mounting(tools, way, `${lookOptions[way]},lowerdir=${upper}:${root}`, merged);

const mounting = (
  { unshare, mount, sh }: LayerTools,
  way: MountWay,
  options: string,
  merged: string,
): readonly string[] => [
  unshare,
  ...(way === 'user' ? ['--user', '--map-root-user'] : []),
  ...['--mount', '--', sh, '-c', mountScript, 'sh', mount, options, merged],
];

/** The variable is for newer versions of mount(8), which otherwise refuse options of more than 256 bytes. */
const mountScript =
  'LIBMOUNT_FORCE_MOUNT2=always "$1" -i -t overlay -o "$2" overlay "$3" && shift 3 && exec "$@"';

export const bashLine = (bash: string, script: string, args: readonly string[]): readonly string[] => [
  ...[bash, '--norc', '--noprofile', '-c', script, 'bash'],
  ...args,
];
