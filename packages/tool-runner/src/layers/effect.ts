/** One entry of a workspace or a layer. */
export interface EntryState {
  readonly type: 'file' | 'directory' | 'link';
  /** The permission bits, including set-user-id, set-group-id and sticky. */
  readonly mode: number;
  /** In bytes; 0 for directories. */
  readonly size: number;
  /** `sha256:` and the digest of the content, `directory`, or `link:` and the target. */
  readonly version: string;
  /** Device, inode, mode, size and times. Any change to the entry changes it. */
  readonly identity: string;
}

/** One difference between a layer and the workspace below. A deleted folder has one effect for each entry in it. */
export interface Effect {
  /** Workspace-relative, decoded by `nameFromDisk`: names need not be UTF-8. */
  readonly path: string;
  /** `mode`: the same content with other permissions. */
  readonly change: 'created' | 'modified' | 'deleted' | 'mode';
  /** The entry of the workspace when the effects were read; undefined if there was none. */
  readonly before: EntryState | undefined;
  /** The entry of the layer; undefined if it was deleted. */
  readonly after: EntryState | undefined;
}
