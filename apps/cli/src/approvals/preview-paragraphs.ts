import { previewLines, type ViewLine } from '@countersign/approvals';
import type { Preview } from '@countersign/protocol';
import type { Paragraph } from '../screen/paragraph.ts';
import type { StyleName } from '../terminal.ts';
import type { Words } from '../words.ts';

const styles: Readonly<Record<NonNullable<ViewLine['tone']>, StyleName | undefined>> = {
  strong: 'bold',
  quiet: 'dim',
  caution: 'yellow',
  danger: 'red',
  hunk: 'cyan',
  added: 'green',
  removed: 'red',
  listed: undefined,
};
const leadStyles: { readonly [Tone in NonNullable<ViewLine['tone']>]?: StyleName } = {
  added: 'green',
  removed: 'red',
  listed: 'cyan',
};

/** The lines of a preview in colours. The card names network access among the reasons, so it is left out here. */
export function previewParagraphs(preview: Preview, { card, said }: Words): Paragraph[] {
  const lines = previewLines(preview, { ...card, network: undefined }, said);
  return lines.map(({ label, lead, text, tone }, i) => {
    const style = tone && styles[tone];
    if (label !== undefined) return { ...labelled(label === lines[i - 1]?.label ? '' : label, text), style };
    const leadStyle = tone && leadStyles[tone];
    return { text, style, ...(lead !== undefined && { lead }), ...(leadStyle && { leadStyle }) };
  });
}

const labelColumns = 12;

export const labelled = (label: string, text: string): Paragraph => ({
  lead: label.padEnd(labelColumns),
  leadStyle: 'dim',
  text,
});
