import { Fragment, type ReactNode } from 'react';
import type { ChatMessage } from '../live/conversation.ts';
import { RewoundMessages } from './rewound-messages.tsx';
import { RunSummary } from './run-summary.tsx';

interface TranscriptSectionsProps<Item> {
  readonly sessionId: string;
  readonly items: readonly Item[];
  /** The message of an item; undefined for a call without a message. */
  messageOf(item: Item): ChatMessage | undefined;
  /** Draws an item, with its key. */
  row(item: Item): ReactNode;
}

/** The rows of a transcript, with rewound messages folded and a summary of changed files at the end of each run. */
export function TranscriptSections<Item>(props: TranscriptSectionsProps<Item>) {
  const { sessionId, items, messageOf, row } = props;
  return sectionsOf(items, messageOf).map((section) => {
    if (section.kind === 'run-end') {
      const { runId, isLast } = section;
      return <RunSummary key={`end ${runId}`} sessionId={sessionId} runId={runId} isLast={isLast} />;
    }
    const rows = section.items.map(row);
    if (section.kind === 'items') return <Fragment key={`items ${section.id}`}>{rows}</Fragment>;
    return (
      <RewoundMessages key={`rewound ${section.id}`} count={rows.length}>
        {rows}
      </RewoundMessages>
    );
  });
}

type Section<Item> =
  | { readonly kind: 'items' | 'rewound'; readonly id: string; readonly items: Item[] }
  | { readonly kind: 'run-end'; readonly runId: string; readonly isLast: boolean };

function sectionsOf<Item>(
  items: readonly Item[],
  messageOf: (item: Item) => ChatMessage | undefined,
): readonly Section<Item>[] {
  const ends = new Map<string, Item>();
  for (const item of items) {
    const message = messageOf(item);
    if (message && message.runId !== null && !message.isRewound) ends.set(message.runId, item);
  }
  const lastRun = [...ends.keys()].at(-1);
  const sections: Section<Item>[] = [];
  for (const item of items) {
    const message = messageOf(item);
    const kind = message?.isRewound ? 'rewound' : 'items';
    const last = sections.at(-1);
    if (last?.kind === kind) last.items.push(item);
    else sections.push({ kind, id: message?.id ?? `${sections.length}`, items: [item] });
    const runId = message?.runId ?? null;
    if (runId !== null && ends.get(runId) === item)
      sections.push({ kind: 'run-end', runId, isLast: runId === lastRun });
  }
  return sections;
}
