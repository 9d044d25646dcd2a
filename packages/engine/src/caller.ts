import type { TokenScope } from '@countersign/protocol';

/** Who is asking, as the token says: the user comes from the token alone (RE-5). */
export interface Caller {
  readonly userId: string;
  readonly tokenId: string;
  readonly scope: TokenScope;
  /** The project that the token is bound to or that the request names: nothing of another one is found by it. */
  readonly projectId?: string;
}

/** Whether a row is this caller's, and of the project that the request names. */
export const isOf = (
  { userId, projectId }: Caller,
  row: { readonly user_id: string; readonly project_id: string },
): boolean => row.user_id === userId && (projectId === undefined || row.project_id === projectId);
