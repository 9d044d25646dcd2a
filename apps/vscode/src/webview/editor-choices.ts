import type { Observable } from '@countersign/approvals';
import type { Client } from '@countersign/client';
import type { EditorChoices } from '../chat/messages.ts';

/**
 * Applies what the person chose in the title of the view. Messages go to the chosen model. A new conversation gets its
 * mode before its first message is sent: the agent must not begin in another one.
 */
export function withEditorChoices(client: Client, choices: Observable<EditorChoices>): Client {
  return {
    ...client,
    getModel: async (...args) => {
      const response = await client.getModel(...args);
      const { model } = choices.get();
      // A server without an agent has no model at all.
      return model === null || response.model === null ? response : { ...response, model, problem: null };
    },
    sendMessage: (input, ...args) => {
      const { model } = choices.get();
      const body = model === null ? input.body : { ...input.body, model };
      return client.sendMessage({ ...input, body }, ...args);
    },
    createSession: async (...args) => {
      const { mode } = choices.get();
      const created = await client.createSession(...args);
      if (mode === 'ask') return created;
      const { session_id } = created.session;
      return client.changeSession({ params: { session_id }, body: { mode } });
    },
  };
}
