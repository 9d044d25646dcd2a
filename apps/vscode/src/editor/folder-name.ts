import { Uri, workspace } from 'vscode';

/** The name of a folder; undefined if the window has only one. */
export function nameAmongFolders(path: string | undefined): string | undefined {
  if (path === undefined || (workspace.workspaceFolders ?? []).length < 2) return undefined;
  return workspace.getWorkspaceFolder(Uri.file(path))?.name;
}
