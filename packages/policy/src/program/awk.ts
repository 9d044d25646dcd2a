import type { Manual } from './notes.ts';
import { OptionState, optionTable, parseOptions } from './options.ts';
import { type CommandRule, onlyReads } from './rules.ts';

const unknownProgram: CommandRule = {
  id: 'CMD-AWK-1',
  risk: 'HIGH',
  why: 'runs an awk program that may write files or start programs',
  matches: [
    `awk 'BEGIN{system("id")}'`,
    `awk '{print > "out.txt"}' a.txt`,
    `awk '{print $1 >> "out.txt"}' a.txt`,
    `awk '{print | "sh"}' a.txt`,
    `awk '{"id" | getline x; print x}' a.txt`,
    `awk 'BEGIN{getline x < "a.txt"; print x}'`,
    'awk -f x.awk a.txt',
    'awk --file=x.awk a.txt',
    "awk -i inplace '{print}' a.txt",
    'awk \'@load "x"; {print}\' a.txt',
    'awk \'BEGIN{print ENVIRON["HOME"]}\'',
    `awk 'BEGIN{x = 1 /2; print "id" | "sh"; y = 3 / 4}'`,
    `awk 'function f(x){return x} {print f($1)}' a.txt`,
    'awk \'{print /"/ > "x"}\' a.txt',
    'awk \'BEGIN{f="sys" "tem"; @f("id")}\'',
    `awk '{ if (1) /"/; print "id" | "sh" } # "}' a.txt`,
    `awk '{ while (n--) /"/; print 1 > "out" } # "}' a.txt`,
    `awk '{ exit /"/ } END { print "id" | "sh" } # "}' a.txt`,
    `awk '{ length /"/; print 1 > "out" } # "}' a.txt`,
    `awk '{ for (print 1 > "out"; 0; ) ; }' a.txt`,
    `awk -h 'BEGIN{print > "out"}'`,
  ],
  doesNotMatch: [
    "awk '{print $1}' a.txt",
    "awk -F: '{print $1, $NF}' a.txt",
    "awk -F ',' 'NR>1 {print $2}' data/users.csv",
    'awk \'/foo|bar/ {print FILENAME ":" FNR}\' a.txt',
    "awk '{s+=$1} END {print s/NR}' a.txt",
    "awk 'NR>=10 && NR<=20' a.txt",
    "awk '{count[$1]++} END {for (k in count) print count[k], k}' a.txt",
    `awk '{printf "%s\\n", $2}' a.txt`,
    "awk 'length($0) > 80' a.txt",
    "awk '!seen[$0]++' a.txt",
    "awk 'END{print NR}' a.txt",
    "awk -v n=3 'NR==n' a.txt",
    "awk '{if ($3 > 5) print $1}' a.txt",
    "awk '{if (/foo/) print; else if ($2 > 1) /bar/}' a.txt",
    "awk '{print ($1 + $2) / 2, length($0) / 2}' a.txt",
    "awk 'BEGIN{for (i = 9; i > 0; i--) print i / 3}'",
  ],
};

const options = optionTable({
  abbreviations: false,
  permutes: false,
  flags: '--version --help -V -h -S --sandbox -P --posix -c --traditional -n',
  values: '-F --field-separator -v --assign',
  rows: [
    { names: '-f --file -i --include -l --load -E --exec -e --source', value: 'text', rule: unknownProgram },
  ],
});

/** Reads its operands. The program is parsed: it may only print, compute and compare. */
export const awk: Manual = {
  names: ['awk', 'gawk', 'mawk', 'nawk'],
  scriptFirst: true,
  rules: [unknownProgram],
  read(args, notes) {
    notes.raise(onlyReads);
    const words = parseOptions(args, options);
    for (const word of words) if (word.kind !== 'operand') notes.option(word);
    const operands = words.filter((word) => word.kind === 'operand').map(({ text }) => text);
    const [program, ...files] = operands;
    // Some awks ignore `-h` and run the program all the same.
    const asksHelp = new OptionState(words).wasGiven('--version', '-V', '--help', '-h');
    if (program === undefined ? !asksHelp : !isHarmlessProgram(program)) notes.raise(unknownProgram, program);
    // `name=value` among the files sets a variable.
    for (const text of files) if (!/^\w+=/.test(text)) notes.pathOrStream(text, 'read');
  },
};

const FUNCTIONS =
  /^(length|substr|index|split|sub|gsub|gensub|match|sprintf|tolower|toupper|int|sqrt|exp|log|sin|cos|atan2|rand|srand|strtonum|asort|asorti|if|while|for|print|printf|in|and|or|xor|strftime|systime)$/;
/** Words that reach beyond the input text. The program may not contain them, not even in a string. */
const FORBIDDEN_WORDS =
  /system|getline|close|fflush|ENVIRON|PROCINFO|ARGV|ARGC|function|func\b|@|`|SYMTAB|FUNCTAB/;
/** After one of these words a slash begins a regular expression. */
const BEFORE_EXPRESSION = /^(print|printf|in|else|do)$/;
/** After one of these words, awks read a slash differently. */
const UNCLEAR_BEFORE_SLASH =
  /^(length|exit|return|delete|next|nextfile|break|continue|case|default|switch|if|while|for|BEGIN|END)$/;

/** Whether a program writes nothing and starts nothing: no redirection, no pipe, no function but awk's own. */
function isHarmlessProgram(program: string): boolean {
  if (program.length > 2_000 || FORBIDDEN_WORDS.test(program)) return false;
  let braces = 0;
  /** For each open parenthesis, whether what it closes is a value, and not the head of `if`, `while` or `for`. */
  const parentheses: boolean[] = [];
  /** The word right before the current token. */
  let wordBefore = '';
  /** Whether the last token is a value, after which a slash divides. */
  let isAfterValue = false;
  for (let at = 0; at < program.length; ) {
    const rest = program.slice(at);
    const sign = rest[0] as string;
    const text = /^"(?:[^"\\\n]|\\[^\n])*"/.exec(rest)?.[0];
    const name = /^[A-Za-z_]\w*/.exec(rest)?.[0];
    const number = /^\d+(\.\d+)?/.exec(rest)?.[0];
    if (/\s/.test(sign)) {
      if (sign === '\n') isAfterValue = false;
      at++;
      continue;
    }
    const before = wordBefore;
    wordBefore = name ?? '';
    if (text !== undefined || number !== undefined) {
      at += (text ?? number ?? '').length;
      isAfterValue = true;
    } else if (name !== undefined) {
      at += name.length;
      const next = program.slice(at).trimStart();
      if (next.startsWith('(') && !FUNCTIONS.test(name)) return false;
      if (next.startsWith('/') && UNCLEAR_BEFORE_SLASH.test(name)) return false;
      // The head of a `for` may contain a statement.
      if (/^printf?$/.test(name) && parentheses.length > 0) return false;
      isAfterValue = !BEFORE_EXPRESSION.test(name);
    } else if (sign === '/' && !isAfterValue) {
      const expression = /^\/(?:[^/\\\n[]|\\[^\n]|\[\^?\]?[^\]\n/]*\])+\//.exec(rest)?.[0];
      if (expression === undefined || expression.includes('"')) return false;
      at += expression.length;
      isAfterValue = true;
    } else if (/^(\+\+|--)/.test(rest)) {
      // `x++ /a/` and `++ /a/` read differently.
      if (/^..\s*\//.test(rest)) return false;
      at += 2;
    } else if (/^(\|\||&&|[!<=]=|[-+*/%^]=|~)/.test(rest)) {
      at += /^~/.test(rest) ? 1 : 2;
      isAfterValue = false;
    } else if (sign === '>' || sign === '<') {
      // Outside a pattern and outside parentheses it redirects.
      if (sign === '>' && braces > 0 && parentheses.length === 0) return false;
      at += rest[1] === '=' ? 2 : 1;
      isAfterValue = false;
    } else if (/[{}()[\],;!=+\-*/%^?:$]/.test(sign)) {
      if (sign === '{') braces++;
      if (sign === '}') braces--;
      if (sign === '(') parentheses.push(!/^(if|while|for)$/.test(before));
      if (braces < 0 || (sign === ')' && parentheses.length === 0)) return false;
      at++;
      isAfterValue = sign === ')' ? parentheses.pop() === true : sign === ']';
    } else return false;
  }
  return braces === 0 && parentheses.length === 0;
}
