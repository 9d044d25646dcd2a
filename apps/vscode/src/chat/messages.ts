import type { JsonValue, SessionMode } from '@countersign/protocol';
import { z } from 'zod';

/** Messages from the chat's page to the extension. The page itself has no token and no network access. */
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
  /** A tool call, as in the founding documents. The extension makes it with `POST /my/tools/execute`. */
  z.object({
    type: z.literal('EXECUTE_TOOL'),
    id: z.int().optional(),
    tool: z.string(),
    params: z.record(z.string(), z.json()).default({}),
    session_id: z.string().optional(),
  }),
  /** Which conversation the page shows; null for one without messages. */
  z.object({ type: z.literal('at'), projectId: z.string(), sessionId: z.string().nullable() }),
  /** The person wants to see a file change in the editor's own diff. */
  z.object({ type: z.literal('review'), approvalId: z.string() }),
  /** The person inserts code of an answer at the cursor. */
  z.object({ type: z.literal('insert-code'), text: z.string().max(200_000) }),
  /** The files that fit what was typed after `@`, answered with `mentions`. */
  z.object({
    type: z.literal('find-mentions'),
    id: z.int(),
    projectId: z.string(),
    typed: z.string().max(1_000),
  }),
  z.object({
    type: z.literal('command'),
    command: z.enum([
      'signIn',
      'startLocalServer',
      'retryNow',
      'openFolder',
      'showHistory',
      'manageTrust',
      'openRunnerSetting',
    ]),
  }),
]);
export type FromPage = z.infer<typeof fromPageSchema>;

/** The page's content: a project's chat, or the reason why there is none. */
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
  /** The path of the folder. */
  readonly workspace: string | null;
  /** Set if this editor does not run the folder's runner. */
  readonly whyNoRunner?: 'untrusted' | 'disabled';
}

/** What the person chose in the title of the view. */
export interface EditorChoices {
  /** The model that answers; null for the server's. */
  readonly model: string | null;
  /** The mode that a new conversation gets before its first message is sent. */
  readonly mode: SessionMode;
}

/** A file, or lines of one, as it stands in a message. */
export interface PageMention {
  readonly text: string;
  readonly detail: string;
}

export type ToPage =
  | { readonly type: 'place'; readonly place: PagePlace }
  /** Connect now instead of waiting for the next attempt. */
  | { readonly type: 'retry-now' }
  | ({ readonly type: 'choices' } & EditorChoices)
  /** Text for the message field of a project's chat. */
  | { readonly type: 'compose'; readonly projectId: string; readonly text: string; readonly send: boolean }
  | { readonly type: 'mentions'; readonly id: number; readonly mentions: readonly PageMention[] }
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
