import { isTextProgram } from '../program/file-operands.ts';
import type { ProgramCall } from './shell-run.ts';

/** Programs whose words are only ever text, so that `man rm` is not taken for a call of `rm`. */
const QUOTES_WORDS =
  /^(man|info|help|type|which|whereis|whatis|apropos|tldr|apt|apt-get|dnf|yum|pacman|brew|grep|egrep|fgrep|rg|ag|ack|ugrep|logger|expr|jq|git|gh|glab|docker|podman|kubectl|diff|ls|cat|cp|mv|rm|mkdir|touch|seq|make|say|figlet|dpkg|pip3?|snap|zenity|dialog|whiptail|gum|espeak|mail|look|pass|todo|task)$/;

/** Programs that are a catastrophe with the right words after them. */
const DESTROYS = /^(\/\S*\/)?(rm|dd|shred|find|mkfs\S*|sh|bash|dash|zsh|wipefs|chmod|chown|mv)$/;
const ESCALATES = /^(\/\S*\/)?(sudo|doas|pkexec|su)$/;
/** What follows `sudo` where it is a call and no word about it. */
const CALLED =
  /^(-\w+|(\/\S*\/)?(rm|sh|bash|dash|zsh|id|whoami|cat|ls|cp|mv|tee|dd|chmod|chown|mount|umount|kill|su|env|apt|apt-get|dnf|yum|pacman|systemctl|service|python3?|perl|node|npm|make|docker|reboot|shutdown|install|ln|mkdir|vi|vim|nano|true))$/;
/** Options by which most wrappers take a line for a shell. */
const LINE_OPTION = /^--?(c|e|x|exec|execute|command|cmd|run|eval|shell|sh|call)(?:=(.+))?$/s;
/** Words after which a wrapper's own are surely over, and words of the call behind it that are looked at. */
const MAX_WORDS = 64;
const MAX_TAIL = 256;

/**
 * A wrapper we have never heard of, or one whose options we do not know: if the words after it would be a
 * catastrophe on their own, they are one.
 */
export function judgeTail({ run, name, args }: ProgramCall): void {
  if (QUOTES_WORDS.test(name) || isTextProgram(name)) return;
  for (const [i, word] of args.slice(0, MAX_WORDS).entries()) {
    const next = args[i + 1] ?? '';
    if (DESTROYS.test(word) || (ESCALATES.test(word) && CALLED.test(next)))
      run.perhaps(() => run.findings.quietly(() => run.walker.call(run, args.slice(i, i + MAX_TAIL))));
    const option = LINE_OPTION.exec(word);
    const line = option ? (option[2] ?? next) : '';
    if (/\s/.test(line))
      run.perhaps(() =>
        run.findings.quietly(() => run.walker.code(run, line, { mustParse: false, subshell: true })),
      );
  }
}
