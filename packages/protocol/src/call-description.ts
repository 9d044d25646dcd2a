import type { Preview } from './preview.ts';
import { visibleLine } from './visible-text.ts';

type Params = Readonly<Record<string, unknown>>;

/** One sentence for the card: who wants to do what (AP-1). Server and runner say it in the same words. */
export function describeCall(
  agent: string,
  tool: string,
  params: Params,
  preview: Preview | null = null,
): string {
  return `${visibleLine(agent)} wants to ${intention(intentOf(tool, params, preview), tool, params)}`;
}

/**
 * The tool's name, or a name for this use of it. The server describes a call before anybody has looked at the disk:
 * writing is changing until a preview says that the file is new.
 */
export function intentOf(tool: string, params: Params, preview: Preview | null): string {
  if (tool !== 'write_file') return tool;
  if (preview?.kind === 'diff' && preview.files[0]?.operation === 'created') return 'create_file';
  return params.mode === 'append' ? 'append_file' : tool;
}

function intention(intent: string, tool: string, params: Params): string {
  const text = (name: string): string => shorten(String(params[name] ?? ''));
  switch (intent) {
    case 'create_file':
      return `create ${text('path')}`;
    case 'append_file':
      return `add to ${text('path')}`;
    case 'write_file':
    case 'edit_file':
      return `change ${text('path')}`;
    case 'delete_file':
      return `delete ${text('path')}`;
    case 'copy_file':
      return `copy ${text('source')} to ${text('dest')}`;
    case 'create_directory':
      return `create the directory ${text('path')}`;
    case 'read_file':
      return `read ${text('path')}`;
    case 'list_directory':
      return `list ${text('path')}`;
    case 'execute_command':
      return `run ${shorten([params.command, ...(Array.isArray(params.args) ? params.args : [])].map(String).join(' '))}`;
    case 'shell_exec':
      return `run ${text('command')}`;
    case 'shell_background':
      return `start ${text('command')} in the background`;
    case 'git_commit':
      return `commit ${fileCount(params.files)}: ${text('message')}`;
    case 'git_branch':
      return `create the branch ${text('name')}`;
    case 'git_push':
      return `push to ${text('remote') || 'origin'}`;
    default:
      return `use ${visibleLine(tool)}`;
  }
}

const shorten = (text: string): string => {
  const line = visibleLine(text);
  return line.length <= 160 ? line : `${line.slice(0, 157)}…`;
};

function fileCount(files: unknown): string {
  const count = Array.isArray(files) ? files.length : 0;
  return count === 1 ? '1 file' : `${count} files`;
}
