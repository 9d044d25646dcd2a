import { Uri, workspace } from 'vscode';

/** The name of a folder, where the window has several and so it must be said which one is meant; else none. */
export function nameAmongFolders(path: string | undefined): string | undefined {
  if (path === undefined || (workspace.workspaceFolders ?? []).length < 2) return undefined;
  return workspace.getWorkspaceFolder(Uri.file(path))?.name;
}
