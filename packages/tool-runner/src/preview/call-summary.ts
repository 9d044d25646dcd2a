import type { BuiltInToolCall } from '@countersign/protocol';
import { visibleName } from './visible-name.ts';

/** Calls that change no file by themselves: one sentence says all. */
export type SummarisedCall = Exclude<
  BuiltInToolCall,
  {
    tool:
      | 'write_file'
      | 'edit_file'
      | 'copy_file'
      | 'delete_file'
      | 'create_directory'
      | 'execute_command'
      | 'shell_exec'
      | 'shell_background'
      | 'git_commit'
      | 'git_push';
  }
>;

export function summaryOf(call: SummarisedCall): string {
  switch (call.tool) {
    case 'read_file':
      return `Reads "${visibleName(call.params.path)}".`;
    case 'list_directory':
      return `Lists "${visibleName(call.params.path)}".`;
    case 'search_files':
      return `Searches in "${visibleName(call.params.path ?? '.')}".`;
    case 'git_status':
    case 'git_diff':
    case 'git_log':
      return 'Reads from the git repository.';
    case 'git_branch':
      return call.params.create
        ? `Creates the branch "${visibleName(call.params.name ?? '')}" at the current commit.`
        : 'Lists the branches of the git repository.';
    case 'diagnostics':
    case 'symbols':
    case 'hover':
    case 'definition':
    case 'references':
      return `Asks the language server about "${visibleName(call.params.path)}".`;
    case 'shell_output':
      return `Reads what the background job ${visibleName(call.params.job_id)} has printed.`;
    case 'shell_kill':
      return `Ends the background job ${visibleName(call.params.job_id)}.`;
  }
}
