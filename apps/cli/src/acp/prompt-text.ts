import type { ContentBlock } from '@agentclientprotocol/sdk';
import { fenced } from '@countersign/protocol';

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
