import type { JsonValue } from '@countersign/protocol';
import { z } from 'zod';

/** Messages from the chat's page to the extension. The page has no token, opens no connection and executes nothing. */
export const fromPageSchema = z.discriminatedUnion('type', [
  /** Sent when the page is ready for its first message. */
  z.object({ type: z.literal('ready') }),
  z.object({
    type: z.literal('fetch'),
    id: z.int(),
    method: z.string(),
    path: z.string(),
    headers: z.record(z.string(), z.string()),
    body: z.string().nullable(),
  }),
  z.object({ type: z.literal('abort'), id: z.int() }),
  /**
   * The founding documents' tool request: it becomes `POST /my/tools/execute`, with everything that follows from that.
   */
  z.object({
    type: z.literal('EXECUTE_TOOL'),
    id: z.int().optional(),
    tool: z.string(),
    params: z.record(z.string(), z.json()).default({}),
    session_id: z.string().optional(),
  }),
  z.object({
    type: z.literal('command'),
    command: z.enum([
      'signIn',
      'startLocalServer',
      'openFolder',
      'showHistory',
      'manageTrust',
      'openRunnerSetting',
    ]),
  }),
]);
export type FromPage = z.infer<typeof fromPageSchema>;

/** What the page should show: a project's chat, or why there is none. */
export type PagePlace =
  | { readonly state: 'signed-out' | 'no-folder' | 'connecting' }
  | { readonly state: 'failed'; readonly problem: string }
  | {
      readonly state: 'open';
      readonly server: string;
      readonly projects: readonly PageProject[];
    };

export interface PageProject {
  readonly project_id: string;
  readonly name: string;
  /** The folder. */
  readonly workspace: string | null;
  /** Why this editor does not run the folder's runner. */
  readonly runsNot?: 'untrusted' | 'disabled';
}

export type ToPage =
  | { readonly type: 'place'; readonly place: PagePlace }
  | { readonly type: 'new-conversation' }
  | { readonly type: 'show-call'; readonly toolId: string }
  | {
      readonly type: 'response';
      readonly id: number;
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly type: 'chunk'; readonly id: number; readonly text: string }
  | { readonly type: 'end'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly problem: string }
  | { readonly type: 'TOOL_RESULT'; readonly id?: number; readonly answer: JsonValue };
