import type { Preview, ToolParams } from '@countersign/protocol';

/** What only git knows of a commit or a push before it happens. */
export interface GitPreview {
  readonly preview: Preview;
  /** What the preview was made of; goes into the digest (AP-8). HEAD, the index, versions of files, the remote's URL. */
  readonly base: readonly string[];
}

/** Looks what a commit or a push would do, and changes nothing. Throws CountersignErrors. */
export interface GitPreviewer {
  commitPreview(params: ToolParams<'git_commit'>): Promise<GitPreview>;
  pushPreview(params: ToolParams<'git_push'>): Promise<GitPreview>;
}
