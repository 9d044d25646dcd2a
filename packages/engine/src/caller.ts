import type { TokenScope } from '@countersign/protocol';

/** Who is asking, as the token says: the user comes from the token alone (RE-5). */
export interface Caller {
  readonly userId: string;
  readonly tokenId: string;
  readonly scope: TokenScope;
}
