const maxRecent = 5;

/** `manual`, or `provider:model`. The server says whether it has the provider and its key. */
export const isModelName = (text: string): boolean =>
  text === 'manual' || /^(anthropic|openai|openai-compatible):\S{1,180}$/.test(text);

/** The names that were chosen last, newest first. */
export const withRecent = (recent: readonly string[], name: string): string[] =>
  [name, ...recent.filter((one) => one !== name)].slice(0, maxRecent);
