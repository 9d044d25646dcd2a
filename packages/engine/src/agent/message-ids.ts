/**
 * Ids of the messages that a run writes. They are made from where the message stands, so that a run that is resumed
 * finds what it wrote before and cannot write it twice: (run, step) and (run, step, index) are unique (AG-2).
 */

export const assistantMessageId = (runId: string, step: number): string => `${runId}-${step}`;

export const toolMessageId = (assistantId: string, index: number): string => `${assistantId}-${index}`;

/** The note about a result that came after its call had ended (EX-7): given once. */
export const lateNoteId = (toolId: string): string => `late-${toolId}`;

/** What the person is told when a run ends without an answer. */
export const endNoteId = (runId: string): string => `${runId}-end`;
