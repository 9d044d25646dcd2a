import type { CallOptions, Client } from './client.ts';
import type { CallResponse } from './route-types.ts';

export interface ResentMessage {
  readonly projectId: string;
  readonly sessionId: string;
  /** The person's message that is sent again. It and all after it are rewound; files stay as they are. */
  readonly messageId: string;
  /** The same text for a retry, another one for "edit and resend". */
  readonly content: string;
  readonly model?: string | undefined;
}

/**
 * Sends a message of a conversation again: goes back to before it, then sends the text. If sending fails after the
 * rewind, calling this again only sends: a rewound message is not rewound twice.
 */
export async function resendMessage(
  client: Client,
  { projectId, sessionId, messageId, content, model }: ResentMessage,
  options: CallOptions = {},
): Promise<CallResponse<'sendMessage'>> {
  const rewind = { message_id: messageId, files: false };
  await client.rewindSession(
    { params: { session_id: sessionId }, body: rewind },
    { retry: { times: 3, after: ({ status }) => status === 0 }, ...options },
  );
  const body = { content, session_id: sessionId, ...(model !== undefined && { model }) };
  return client.sendMessage({ params: { project_id: projectId }, body }, options);
}
