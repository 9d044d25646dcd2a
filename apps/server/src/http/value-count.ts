const [quote, comma, backslash, openList, openObject] = ['"', ',', '\\', '[', '{'].map((character) =>
  character.charCodeAt(0),
);

/**
 * Whether a JSON text has more than `max` values in it, by its commas and brackets. Texts are passed over, and what is no
 * JSON is found out by its parser: this says only, and quicker, that parsing would take long.
 */
export function exceedsJsonValueLimit(json: string, max: number): boolean {
  let count = 1;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === quote) at = endOfText(json, at);
    else if (code === comma || code === openList || code === openObject) count += 1;
    if (count > max) return true;
  }
  return false;
}

/** By each character: a text of nothing but escaped quotes is quicker that way than from quote to quote. */
function endOfText(json: string, start: number): number {
  let at = start + 1;
  for (; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === backslash) at += 1;
    else if (code === quote) break;
  }
  return at;
}
