import type { EventPayload } from '@countersign/protocol';
import { RemotePerson } from '../../lab/src/remote-person.ts';
import type { ReadyLine } from './up-process.ts';

/** Signs in with a link, as a browser does. */
export async function useLink(link: string): Promise<{ status: number; token: string }> {
  const { origin, hash } = new URL(link);
  const response = await fetch(`${origin}/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ code: hash.slice('#sign-in='.length) }),
  });
  const { token = '' } = (await response.json()) as { token?: string };
  return { status: response.status, token };
}

/** A person in a browser: signed in with the link, with all events from the first one. */
export async function signInAsPerson({ address, sign_in_link }: ReadyLine): Promise<RemotePerson> {
  const { token } = await useLink(sign_in_link);
  return new RemotePerson(address, token, 'browser').connect();
}

/** The card of a tool, once its preview has arrived. */
export async function cardOf(
  person: RemotePerson,
  tool: string,
): Promise<Pick<EventPayload<'approval.updated'>, 'approval_id' | 'project_id' | 'digest' | 'preview'>> {
  const request = await person.next('tool.approval_request', ({ tool_name }) => tool_name === tool);
  if (request.digest !== null) return request;
  return person.next(
    'approval.updated',
    ({ approval_id, digest }) => approval_id === request.approval_id && digest !== null,
  );
}

export async function approve(person: RemotePerson, tool: string): Promise<void> {
  const { approval_id, project_id, digest } = await cardOf(person, tool);
  await person.client.approve({ params: { approval_id, project_id }, body: { digest: String(digest) } });
}

/** Sends the suggested message, approves the change and the test run, and returns the agent's last message. */
export async function wholeLoop(
  person: RemotePerson,
  { project_id, first_message }: ReadyLine,
): Promise<string> {
  const sent = await person.client.sendMessage({
    params: { project_id },
    body: { content: first_message ?? '' },
  });
  await approve(person, 'edit_file');
  await approve(person, 'execute_command');
  await person.next('agent.state', ({ run_id, state }) => run_id === sent.run_id && state === 'idle');
  const { messages } = await person.client.listMessages({
    params: { project_id },
    query: { session_id: sent.session_id },
  });
  return messages.at(-1)?.content ?? '';
}
