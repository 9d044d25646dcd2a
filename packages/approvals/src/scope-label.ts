import { gitCommandsPattern, type OfferedScope } from '@countersign/protocol';
import type { ApprovalWords } from '@countersign/words';

/** What a wider approval covers and for how long, said once. */
export function scopeLabel(
  { scope, rule }: { readonly scope: OfferedScope['scope']; readonly rule: Covered },
  words: Pick<ApprovalWords, 'scope' | 'covers'>,
): string {
  if (scope === 'session') return words.scope.session;
  const label = words.scope[scope](whatOf(rule, words));
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

type Covered = Pick<OfferedScope['rule'], 'tool' | 'path' | 'command'>;

function whatOf({ tool, path, command }: Covered, { covers }: Pick<ApprovalWords, 'covers'>): string {
  if (tool === gitCommandsPattern) return covers.git;
  if (command !== undefined)
    return command.endsWith(' *') ? covers.commands(command.slice(0, -2)) : covers.command(command);
  if (path === undefined) return covers.tool(tool);
  const deletes = tool === 'delete_file';
  if (!path.endsWith('/**')) return deletes ? covers.deletedFile(path) : covers.file(path);
  const folder = path.slice(0, -2);
  return deletes ? covers.deletedFolder(folder) : covers.folder(folder);
}
