const [quote, comma, backslash, openList, openObject] = ['"', ',', '\\', '[', '{'].map((character) =>
  character.charCodeAt(0),
);

/**
 * Whether a JSON text has more than `max` values in it, by its commas and brackets. Texts are passed over, and what is no
 * JSON is found out by its parser: this says only, and quicker, that parsing would take long.
 */
export function hasMoreValues(json: string, max: number): boolean {
  let count = 1;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === quote) at = endOfText(json, at);
    else if (code === comma || code === openList || code === openObject) count += 1;
    if (count > max) return true;
  }
  return false;
}

function endOfText(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let slashes = 0;
    while (json.charCodeAt(at - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return json.length;
}
