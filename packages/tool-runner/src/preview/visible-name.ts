import { makeVisible } from '@countersign/protocol';

/** A file's name as a person may safely read it in one line: a name can have line feeds and tabs too. */
export const visibleName = (name: string): string =>
  makeVisible(name).replaceAll('\n', '⟨U+000A⟩').replaceAll('\t', '⟨U+0009⟩');
