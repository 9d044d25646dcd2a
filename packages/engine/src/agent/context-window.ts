import type { ModelMessage } from './model.ts';

/** About what the usual models take, with room for tools and an answer. In characters. */
const MAX_CHARACTERS = 500_000;
/** The newest results are what the model works with: they stay. */
const KEPT_RESULTS = 6;

/**
 * Keeps a conversation within what a model can take: the oldest turns go first, then the content of old results of
 * the turn that is under way. What the person asked last always stays, and no call loses its result.
 */
export function fitContext(
  messages: readonly ModelMessage[],
  limit: number = MAX_CHARACTERS,
): readonly ModelMessage[] {
  const sizes = messages.map(sizeOf);
  let total = sizes.reduce((sum, size) => sum + size, 0);
  const lastTurn = messages.findLastIndex(({ role }) => role === 'user');
  let start = 0;
  while (total > limit && start < lastTurn) {
    do total -= sizes[start++] as number;
    while (start < lastTurn && messages[start]?.role !== 'user');
  }
  const kept = messages.slice(start);
  if (total <= limit) return kept;
  let results = kept.filter(({ role }) => role === 'tool').length;
  return kept.map((message) => {
    if (message.role !== 'tool' || total <= limit || results-- <= KEPT_RESULTS) return message;
    const shortened = {
      ...message,
      content: '[left out: an old result; call the tool again if you need it]',
    };
    total -= sizeOf(message) - sizeOf(shortened);
    return shortened;
  });
}

function sizeOf(message: ModelMessage): number {
  if (message.role === 'tool') return message.content.length;
  const calls = message.role === 'assistant' ? message.toolCalls : [];
  return message.text.length + calls.reduce((sum, { params }) => sum + JSON.stringify(params).length, 0);
}
