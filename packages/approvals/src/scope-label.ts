import { findTool, gitCommandsPattern, type OfferedScope } from '@countersign/protocol';

/** How a language says it. */
interface ScopeWords {
  readonly approval: {
    readonly scope: { readonly session: string; class(what: string): string; always(what: string): string };
    readonly covers: Readonly<
      Record<
        'tool' | 'commands' | 'command' | 'folder' | 'file' | 'deletedFolder' | 'deletedFile',
        (name: string) => string
      >
    > & { readonly git: string };
  };
}

/** What a wider approval covers and for how long, said once. */
export function scopeLabel(
  { scope, rule }: { readonly scope: OfferedScope['scope']; readonly rule: Covered },
  { approval }: ScopeWords,
): string {
  if (scope === 'session') return approval.scope.session;
  const label = approval.scope[scope](whatOf(rule, approval));
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

type Covered = Pick<OfferedScope['rule'], 'tool' | 'path' | 'command'>;

function whatOf({ tool, path, command }: Covered, { covers }: ScopeWords['approval']): string {
  if (tool === gitCommandsPattern) return covers.git;
  if (command !== undefined)
    return command.endsWith(' *') ? covers.commands(command.slice(0, -2)) : covers.command(command);
  if (path === undefined) return covers.tool(tool);
  const deletes = findTool(tool)?.kind === 'delete';
  if (!path.endsWith('/**')) return deletes ? covers.deletedFile(path) : covers.file(path);
  const folder = path.slice(0, -2);
  return deletes ? covers.deletedFolder(folder) : covers.folder(folder);
}
