import { join } from 'node:path';
import type { ToolCallContent, ToolCallLocation } from '@agentclientprotocol/sdk';
import type { Client } from '@countersign/client';
import type { ChangedFile, JsonValue } from '@countersign/protocol';
import { currentText } from './editor-files.ts';
import { maxDiffs } from './tool-call-view.ts';
import { hunkSides, reversedDiff, wholeSides } from './whole-diff.ts';

export interface ShownChange {
  readonly content: ToolCallContent[];
  readonly locations: ToolCallLocation[];
}

/**
 * What calls changed, as whole texts. The server only has the difference since the run began, so the text before a call
 * is the text after the previous call. Call `of` for every call of a run, even if its change is not shown.
 */
export class CallChanges {
  readonly #client: Pick<Client, 'runChanges'>;
  readonly #root: string;
  /** By path: the text after the latest call, and the run of that call. */
  readonly #after = new Map<string, { readonly runId: string; readonly text: string }>();

  constructor(client: Pick<Client, 'runChanges'>, root: string) {
    this.#client = client;
    this.#root = root;
  }

  /** The change of a call that has just ended; undefined if it is not known. */
  async of(runId: string, toolId: string, result: JsonValue): Promise<ShownChange | undefined> {
    const paths = changedPaths(result);
    if (paths.length === 0) return undefined;
    const { files } = await this.#client
      .runChanges({ params: { run_id: runId } })
      .catch(() => ({ files: [] as ChangedFile[] }));
    const changed = files.filter(({ tool_ids }) => tool_ids.includes(toolId));
    // A file without a difference is as it was before the run.
    for (const path of paths) if (!changed.some((file) => file.path === path)) this.#after.delete(path);
    const content: ToolCallContent[] = [];
    const locations: ToolCallLocation[] = [];
    for (const file of changed) {
      // A later call has changed it meanwhile, or an editor could not draw so many.
      if (file.tool_ids.at(-1) !== toolId || content.length === maxDiffs) {
        this.#after.delete(file.path);
        continue;
      }
      const path = join(this.#root, file.path);
      const sides = await this.#sidesOf(runId, file);
      if (!sides) continue;
      content.push({ type: 'diff', path, oldText: sides.oldText, newText: sides.newText });
      locations.push({ path, ...(sides.line !== undefined && { line: sides.line }) });
    }
    return content.length === 0 ? undefined : { content, locations };
  }

  async #sidesOf(
    runId: string,
    { path, operation, diff, truncated }: ChangedFile,
  ): Promise<{ oldText: string | null; newText: string; line?: number } | undefined> {
    const before = this.#after.get(path);
    this.#after.delete(path);
    if (diff === null) return undefined;
    const now = operation === 'deleted' ? '' : await currentText(join(this.#root, path), undefined);
    const whole = now === undefined || truncated ? undefined : wholeSides(reversedDiff(diff), now);
    if (!whole) {
      const { oldText, newText } = hunkSides(diff);
      return oldText === newText ? undefined : { oldText, newText };
    }
    const newText = whole.oldText;
    this.#after.set(path, { runId, text: newText });
    const isFirst = before?.runId !== runId;
    const oldText = isFirst ? whole.newText : before.text;
    return {
      oldText: isFirst && operation === 'created' ? null : oldText,
      newText,
      line: firstDifference(oldText, newText),
    };
  }
}

function changedPaths(result: JsonValue): string[] {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return [];
  const { changed_files: files } = result;
  if (!Array.isArray(files)) return [];
  return files.flatMap((file) =>
    typeof file === 'object' && file !== null && !Array.isArray(file) && typeof file.path === 'string'
      ? [file.path]
      : [],
  );
}

/** The first line that differs, counted from 1. */
function firstDifference(a: string, b: string): number {
  const others = b.split('\n');
  const at = a.split('\n').findIndex((line, i) => line !== others[i]);
  return (at < 0 ? Math.max(others.length - 1, 0) : at) + 1;
}
