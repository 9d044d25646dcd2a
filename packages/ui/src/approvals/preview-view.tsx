import { factLines, trialLines, trialOf, type ViewLine } from '@countersign/approvals';
import type { Preview } from '@countersign/protocol';
import { CodeBlock } from '../text/code-block.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { FileDiffs } from './file-diffs.tsx';
import { TrialEffects } from './trial-effects.tsx';

interface PreviewViewProps {
  readonly preview: Preview;
  /** The commands are drawn elsewhere, in the shell line that they come from. */
  readonly isShellLineShown?: boolean;
  /** The card says elsewhere that the call has network access. */
  readonly isNetworkShown?: boolean;
}

/** Draws the runner's preview (AP-7): the lines that every front end shows, and diffs in the page's own way. */
export function PreviewView({ preview, isShellLineShown = false, isNetworkShown = false }: PreviewViewProps) {
  const words = useWords();
  const labels = isNetworkShown ? { ...words.preview, network: undefined } : words.preview;
  const all = [...factLines(preview, labels, words.said), ...trialLines(preview, labels, words.said)];
  const lines = isShellLineShown ? all.filter(({ label }) => label !== words.preview.runs) : all;
  const trial = trialOf({ preview });
  return (
    <div className="preview">
      {groupsOf(lines).map((group, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one preview are drawn once
        <Group key={index} lines={group} />
      ))}
      {trial && <TrialEffects trial={trial} />}
      {'files' in preview && preview.files.length > 0 && <FileDiffs files={preview.files} />}
    </div>
  );
}

type Shape = 'facts' | 'code' | 'list' | 'text';

function shapeOf({ label, tone }: ViewLine): Shape {
  if (label !== undefined) return 'facts';
  if (tone === 'removed') return 'code';
  return tone === 'listed' ? 'list' : 'text';
}

/** Neighbours of the same shape. */
function groupsOf(lines: readonly ViewLine[]): readonly (readonly [ViewLine, ...ViewLine[]])[] {
  const groups: [ViewLine, ...ViewLine[]][] = [];
  for (const line of lines) {
    const last = groups.at(-1);
    if (last && shapeOf(last[0]) === shapeOf(line)) last.push(line);
    else groups.push([line]);
  }
  return groups;
}

function Group({ lines }: { readonly lines: readonly [ViewLine, ...ViewLine[]] }) {
  switch (shapeOf(lines[0])) {
    case 'facts':
      return (
        <dl className="facts">
          {lines.map(({ label, text, tone }) => (
            <div key={`${label} ${text}`} className="fact">
              {label !== '' && <dt>{label}</dt>}
              <Visible as="dd" className={`tone-${tone ?? 'plain'}`} text={text} />
            </div>
          ))}
        </dl>
      );
    case 'code':
      return (
        <CodeBlock className="removed">
          <Visible text={lines.map(({ text }) => text).join('\n')} />
        </CodeBlock>
      );
    case 'list':
      return (
        <ul className="commits">
          {lines.map(({ lead = '', text }) => (
            <li key={`${lead}${text}`}>
              <Visible as="code" text={lead.trim()} /> <Visible text={text} />
            </li>
          ))}
        </ul>
      );
    case 'text':
      return lines.map(({ text, tone }) => (
        <Visible key={text} as="p" className={`preview-lead tone-${tone ?? 'plain'}`} text={text} />
      ));
  }
}
