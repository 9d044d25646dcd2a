import { allowedPrograms } from './allowed-programs.ts';

const byTool: Readonly<Record<string, string>> = {
  delete_file: 'rm rmdir unlink shred trash',
  copy_file: 'cp install rsync',
  create_directory: 'mkdir',
  write_file: 'touch tee truncate dd',
  edit_file: 'sed awk gawk perl patch ed ex',
  search_files: 'rg ag ack fgrep egrep zgrep fd fdfind',
  read_file: 'less more bat view nl tac strings xxd od hexdump',
  list_directory: 'tree dir exa eza lsd',
};

const adviceFor: ReadonlyMap<string, string> = new Map(
  Object.entries(byTool).flatMap(([tool, programs]) =>
    programs.split(' ').map((program) => [program, `Use the tool ${tool} instead.`]),
  ),
);

/** What a model should do instead of a command that is not allowed. */
export function adviseInstead(command: string): string {
  const known = adviceFor.get(command);
  if (known) return known;
  const lastPart = command.slice(command.lastIndexOf('/') + 1);
  if (allowedPrograms.has(lastPart)) return `Name the program without a path: ${lastPart}.`;
  if (/[\s;&|<>$`()=]/.test(command)) {
    return 'Give the program alone as command and each argument as an entry of args; for a shell line use shell_exec.';
  }
  return `Allowed are ${[...allowedPrograms.keys()].join(', ')}; if it must be another program, use shell_exec, which asks the person.`;
}
