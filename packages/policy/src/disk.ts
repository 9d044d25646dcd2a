/**
 * The little that policy wants to know of a disk. The server has none and decides by text alone; the runner and
 * `policy check` pass the real one. All paths are absolute. Every method answers `undefined` where nothing is
 * there or it may not be looked at; none throws.
 */
export interface Disk {
  /** Looks at the last component itself, without following it when it is a link. */
  look(path: string): DiskEntry | undefined;
  readLink(path: string): string | undefined;
  /** The first bytes of a regular file, to tell text from binary. */
  readHead(path: string, bytes: number): Uint8Array | undefined;
}

export interface DiskEntry {
  readonly type: 'file' | 'directory' | 'link' | 'other';
  readonly size: number;
  /** How many names the file has. More than one: it may be known elsewhere under another name. */
  readonly hardLinks: number;
}
