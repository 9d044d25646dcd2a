/** Cuts a text into pieces of at most `length` UTF-16 units, without splitting a surrogate pair. */
export function* piecesOf(text: string, length: number): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const unit = text.charCodeAt(start + length - 1); // NaN after the end of the text
    const end =
      start + (unit >= 0xd800 && unit <= 0xdbff && start + length < text.length ? length - 1 : length);
    yield text.slice(start, end);
    start = end;
  }
}
