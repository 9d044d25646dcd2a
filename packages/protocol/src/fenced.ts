/** A Markdown code block that nothing in the text can end, so that the text is shown literally (UI-6). */
export function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text.endsWith('\n') ? text.slice(0, -1) : text}\n${fence}`;
}
