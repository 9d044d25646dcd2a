import { outsideAgentInstructions } from '@countersign/protocol';
import type { Resource } from '@modelcontextprotocol/server';

const guideUri = 'countersign://guide';
const callPrefix = 'countersign://calls/';

/** What an agent may read besides calling tools. Reading changes nothing and shows only the agent's own calls. */
export const listedResources: Resource[] = [
  {
    uri: guideUri,
    name: 'guide',
    title: 'How these tools work',
    description:
      'What runs at once, what asks the person, what is refused, and how to go on after each answer.',
    mimeType: 'text/markdown',
  },
];

export const listedTemplates = [
  {
    uriTemplate: `${callPrefix}{call_id}`,
    name: 'call',
    title: 'A call of yours',
    description: 'How a call of this agent stands, or how it ended, with its result.',
    mimeType: 'text/plain',
  },
];

/** The call that a resource is about; undefined for another resource. */
export const callOfResource = (uri: string): string | undefined =>
  uri.startsWith(callPrefix) ? uri.slice(callPrefix.length) : undefined;

export const guideOf = (uri: string): string | undefined => (uri === guideUri ? guide : undefined);

const guide = `# Tools on a person's own machine

${outsideAgentInstructions}

- Runs at once: reading, listing and searching files, git reads, diagnostics and symbols.
- Asks the person: writing, editing, moving and deleting files, commits, pushes, and most commands. One clear change in one call is easier to approve than many.
- Is refused: paths outside of the workspace, files that hold secrets (such as .env and private keys), programs that are not allowed, and what the person's policy denies. Repeating such a call does not help.
- Use the tool that fits: edit_file instead of a command that rewrites a file, search_files instead of grep. Such calls show the person what they do.
- \`pending_approval\`: call wait_for_call with the call_id, or do something else meanwhile.
- \`rejected\`: the answer has the person's words. Follow them.
- \`APPROVAL_STALE\`: the file changed while the person looked. Read it again.
`;
