import type { ToolSuccess } from '@countersign/protocol';
import { utf8 } from './config-text.ts';
import { stateOf } from './git-status.ts';
import { pathText, unquotePath } from './quoted-path.ts';
import { mayBeListed } from './repository-layout.ts';

type Diff = ToolSuccess<'git_diff'>;
type DiffFile = Diff['files'][number];
type Hunk = DiffFile['hunks'][number];

/**
 * Reads `git diff --raw --patch` (without -z: so every path is one quoted word on one line). The raw part says which
 * files changed and how; the patches follow in the same order. `cut` says that the end is missing. A file whose old or
 * new name is sensitive is left out; a file that `hides` names is listed without its lines.
 */
export function parseDiff(
  output: Buffer,
  options: { entries: number; cut: boolean; hides?: (path: Buffer) => boolean },
): Diff {
  const lines = output.toString('latin1').split('\n');
  // The part after the last line feed is empty, or a line that was cut off.
  lines.pop();
  const patchStart = lines.findIndex((line) => !line.startsWith(':'));
  const rawEnd = patchStart < 0 ? lines.length : patchStart;
  const changes = lines.slice(0, rawEnd).map(parseRaw);
  const patches = parsePatches(lines.slice(rawEnd));
  const files: DiffFile[] = [];
  let next = 0;
  let truncated = options.cut;
  for (const change of changes) {
    const own: Patch[] = [];
    // A file that became a link is deleted and created: two patches with the same heading.
    while (patches[next]?.heading === change.heading) own.push(patches[next++] as Patch);
    if (!mayBeListed(change.path) || (change.from && !mayBeListed(change.from))) continue;
    if (files.length >= options.entries) {
      truncated = true;
      break;
    }
    const isHidden = own.length > 0 && options.hides?.(change.path) === true;
    truncated ||= isHidden;
    files.push({
      path: pathText(change.path),
      ...(change.from ? { old_path: pathText(change.from) } : {}),
      state: change.state,
      binary: own.some((patch) => patch.binary),
      hunks: isHidden ? [] : own.flatMap((patch) => patch.hunks),
    });
  }
  return { success: true, files, truncated };
}

interface RawChange {
  readonly path: Buffer;
  readonly from: Buffer | undefined;
  readonly state: DiffFile['state'];
  /** How the patch of this file starts. */
  readonly heading: string;
}

/** `:100644 100644 1234567 89abcde R90 TAB old TAB new` */
function parseRaw(line: string): RawChange {
  const [fields = '', first = '', second] = line.split('\t');
  const letter = fields.split(' ').at(-1)?.[0];
  const target = second ?? first;
  return {
    path: unquotePath(target),
    from: second === undefined ? undefined : unquotePath(first),
    state: stateOf(letter) ?? 'modified',
    heading: `diff --git ${prefixed('a/', first)} ${prefixed('b/', target)}`,
  };
}

const prefixed = (prefix: string, path: string): string =>
  path.startsWith('"') ? `"${prefix}${path.slice(1)}` : prefix + path;

interface Patch {
  readonly heading: string;
  binary: boolean;
  readonly hunks: Hunk[];
}

const hunkHeading = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/s;

function parsePatches(lines: readonly string[]): Patch[] {
  const patches: Patch[] = [];
  let hunk: Hunk | undefined;
  for (const line of lines) {
    const patch = patches.at(-1);
    if (line.startsWith('diff --git ')) {
      patches.push({ heading: line, binary: false, hunks: [] });
      hunk = undefined;
    } else if (hunk && /^[ +\\-]/.test(line)) hunk.lines.push(utf8(line));
    else if (line.startsWith('@@ ')) {
      const [, oldStart, oldLines = '1', newStart, newLines = '1', header = ''] =
        hunkHeading.exec(line) ?? [];
      hunk = {
        old_start: Number(oldStart),
        old_lines: Number(oldLines),
        new_start: Number(newStart),
        new_lines: Number(newLines),
        header: utf8(header),
        lines: [],
      };
      patch?.hunks.push(hunk);
    } else if (patch && line.startsWith('Binary files ')) patch.binary = true;
  }
  return patches;
}
