import type { ContentBlock } from '@agentclientprotocol/sdk';

/** Joins the person's text and the editor's attachments into one message. */
export function promptText(blocks: readonly ContentBlock[]): string {
  return blocks
    .map((block) => {
      switch (block.type) {
        case 'text':
          return block.text;
        case 'resource_link':
          return `\n${block.uri}\n`;
        case 'resource':
          return 'text' in block.resource
            ? `\n${block.resource.uri}\n${fenced(block.resource.text)}\n`
            : `\n${block.resource.uri}\n`;
        default:
          return ''; // we announced that we take no images and no audio
      }
    })
    .join('')
    .trim();
}

/** A Markdown code block that nothing in the text can end, so that the editor shows the text literally (UI-6). */
export function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text.endsWith('\n') ? text.slice(0, -1) : text}\n${fence}`;
}
