// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text, not a template
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { ShellValidator } from './shell-validator.ts';

const validator = new ShellValidator({
  paths: new PathValidator({ root: '/home/ann/code/work/project' }),
  home: '/home/ann',
});

/** Values that are code: bash executes CODE, though the line only computes, indexes or names with it. */
const COMPUTED = [
  "a='x[$(CODE)]'; let a",
  "let 'x[$(CODE)]=1'",
  "a='x[$(CODE)]'; ((a))",
  "a='x[$(CODE)]'; ((a++))",
  "a='x[$(CODE)]'; echo $((a))",
  "a='x[$(CODE)]'; echo $(($a))",
  "a='x[$(CODE)]'; echo $[a]",
  "a='x[$(CODE)]'; echo $[$a]",
  "a='x[$(CODE)]'; b=a; echo $((b))",
  "a='x[$(CODE)]'; y=(1 2); echo ${y[a]}",
  "a='x[$(CODE)]'; y=(1 2); echo ${y[$a]}",
  "a='x[$(CODE)]'; echo ${y[a]}",
  "a='x[$(CODE)]'; y=abc; echo ${y:a}",
  "a='x[$(CODE)]'; y=abc; echo ${y:0:a}",
  "a='x[$(CODE)]'; y=abc; echo ${y:$a}",
  "a='x[$(CODE)]'; set -- a b; echo ${@:a}",
  "a='x[$(CODE)]'; y=(1 2); echo ${y[@]:a}",
  "a='x[$(CODE)]'; [[ a -eq 1 ]]",
  "a='x[$(CODE)]'; [[ $a -eq 1 ]]",
  "a='x[$(CODE)]'; [[ 1 -lt a ]]",
  'a=\'x[$(CODE)]\'; [[ "$a" -gt 1 ]]',
  "test -v 'x[$(CODE)]'",
  "[ -v 'x[$(CODE)]' ]",
  '[[ -v x[$(CODE)] ]]',
  "[[ -v 'x[$(CODE)]' ]]",
  "a='x[$(CODE)]'; [[ -v $a ]]",
  "a='x[$(CODE)]'; y=(1); [[ -v y[a] ]]",
  "a='x[$(CODE)]'; y=(1); test -v y[a]",
  "declare -i x='y[$(CODE)]'",
  "declare -i x; x='y[$(CODE)]'",
  "a='x[$(CODE)]'; declare -i x=a",
  "f(){ local -i x='y[$(CODE)]'; }; f",
  "typeset -i x='y[$(CODE)]'",
  "declare -i x; read x <<< 'y[$(CODE)]'",
  "declare -i x; for x in 'y[$(CODE)]'; do :; done",
  "declare -i x; printf -v x 'y[$(CODE)]'",
  "declare -i x; x+='y[$(CODE)]'",
  "declare -ai x; x=('y[$(CODE)]')",
  "declare -ai x; mapfile -t x <<< 'y[$(CODE)]'",
  "declare -i x; : ${x:='y[$(CODE)]'}",
  "declare -i OPTARG; getopts a: o -a 'y[$(CODE)]'",
  "declare -i x; export x='y[$(CODE)]'",
  "declare -i x; readonly x='y[$(CODE)]'",
  "RANDOM='x[$(CODE)]'",
  "OPTIND='x[$(CODE)]'",
  "HISTCMD='x[$(CODE)]'",
  "SRANDOM='x[$(CODE)]'",
  "export RANDOM='x[$(CODE)]'",
  "read RANDOM <<< 'x[$(CODE)]'",
  "printf -v RANDOM 'x[$(CODE)]'",
  "for RANDOM in 'x[$(CODE)]'; do :; done",
  "y=(1); unset 'y[$(CODE)]'",
  "y=1; unset 'y[$(CODE)]'",
  'y=(1); unset y[$(CODE)]',
  "y=(1); a='x[$(CODE)]'; unset 'y[a]'",
  "declare -A y=([a]=1); unset 'y[$(CODE)]'",
  "printf -v 'x[$(CODE)]' a",
  "read 'x[$(CODE)]' <<< a",
  "BASH_ALIASES[x]='CODE'; shopt -s expand_aliases; eval x",
  'declare -A m; k=\'$(CODE)\'; test -v "m[$k]"',
  'declare -A m; k=\'$(CODE)\'; unset "m[$k]"',
  'declare -A m; k=\'$(CODE)\'; printf -v "m[$k]" x',
  'declare -A m; k=\'$(CODE)\'; read "m[$k]" <<< x',
  'declare -A m; k=\'$(CODE)\'; let "m[$k]=1"',
  'declare -A m; k=\'$(CODE)\'; declare "m[$k]=1"',
  "env 'BASH_FUNC_ls%%=() { CODE; }' bash -c ls",
  "echo 'CODE' > e; BASH_ENV=./e bash -c :",
  "BASH_ENV='$(CODE)' bash -c :",
  "BASH_ENV='x[$(CODE)]' bash -c :",
  "env BASH_ENV='$(CODE)' bash -c :",
  "ENV='$(CODE)' bash --posix -i -c :",
  "ENV='$(CODE)' sh -i -c :",
  "PROMPT_COMMAND='CODE' bash -i <<< ':'",
  "PS4='$(CODE)'; set -x; :",
  "set -x; PS4='$(CODE)'; :",
  "PS1='$(CODE)' bash --norc -i <<< ':'",
  "PS0='$(CODE)' bash --norc -i <<< ':'",
  "PS2='$(CODE)' bash --norc -i <<< $'echo \"\\n\"'",
  "x='$(CODE)'; echo ${x@P}",
  "x='a[$(CODE)]'; echo ${!x}",
  "x='a[$(CODE)]'; echo ${!x[0]}",
  "x=('a[$(CODE)]'); echo ${!x[0]}",
  "x='a[$(CODE)]'; echo ${!x:-d}",
  'x=\'a[$(CODE)]\'; set -- "$x"; echo ${!1}',
  "declare -n r='a[$(CODE)]'; echo $r",
  "declare -n r='a[$(CODE)]'; r=1",
  "declare -n r=a; a='x[$(CODE)]'; echo $((r))",
  "declare -n r; r='a[$(CODE)]'; echo $r",
  "declare -n r; for r in 'a[$(CODE)]'; do echo $r; done",
  "f(){ local -n r=$1; echo $r; }; f 'a[$(CODE)]'",
  "f(){ local -n r=$1; r=2; }; f 'a[$(CODE)]'",
  "compgen -W '$(CODE)'",
  ": & wait -n -p 'x[$(CODE)]'",
  ": & wait -p 'x[$(CODE)]' $!",
  'for ((a[$(CODE)]=1;0;)); do :; done',
  "b='x[$(CODE)]'; for ((i=b;0;)); do :; done",
  "b='x[$(CODE)]'; for ((;b;)); do :; done",
  "shopt -s expand_aliases; alias x='CODE'; eval x",
  "command let 'x[$(CODE)]'",
  "builtin let 'x[$(CODE)]'",
  "command declare 'x[$(CODE)]=1'",
  "declare 'x[$(CODE)]=1'",
  'declare "x[\\$(CODE)]=1"',
  "declare -a 'x[$(CODE)]=1'",
  "declare -a 'x=([$(CODE)]=1)'",
  "declare -a x='([$(CODE)]=1)'",
  "declare -a x='($(CODE))'",
  "declare -A x='([a]=$(CODE))'",
  "declare -a x='(a)'; v='($(CODE))'; declare -a x=\"$v\"",
  "declare -a x; declare x='($(CODE))'",
  "export -a x='($(CODE))'",
  "readonly -a x='($(CODE))'",
  "f(){ local -a x='($(CODE))'; }; f",
  "f(){ local 'x[$(CODE)]=1'; }; f",
  "typeset 'x[$(CODE)]=1'",
  "declare -x 'x[$(CODE)]=1'",
  "declare -r 'x[$(CODE)]=1'",
  "declare -g 'x[$(CODE)]=1'",
  "k='x[$(CODE)]'; a=([$k]=1)",
  "k='x[$(CODE)]'; a=([k]=1)",
  "k='x[$(CODE)]'; a[k]=1",
  "k='x[$(CODE)]'; a[$k]=1",
  "k='x[$(CODE)]'; a[$k]+=1",
  'a=([$(CODE)]=1)',
  'a[$(CODE)]=1',
  "k='x[$(CODE)]'; echo $(( k ? 1 : 2 ))",
  "k='x[$(CODE)]'; echo $(( y[k] ))",
  "k='x[`CODE`]'; echo $(( k ))",
  "echo 'x[$(CODE)]' > f; read k < f; echo $((k))",
  "set -- 'x[$(CODE)]'; echo $(($1))",
  "f(){ echo $(($1-1)); }; f 'x[$(CODE)]'",
  "x=abc; a='x[$(CODE)]'; echo ${x/a/$((a))}",
  'exec {x[$(CODE)]}>f',
  "a='x[$(CODE)]'; exec {y[a]}>f",
  "a='x[$(CODE)]'; echo >&$((a))",
  "a='x[$(CODE)]'; echo ${y[a]:-d}",
  "a='x[$(CODE)]'; echo ${y[a]/x/y}",
  "a='x[$(CODE)]'; y=(1 2); echo ${!y[a]}",
  "a='x[$(CODE)]'; echo ${y[a]@Q}",
  "a='x[$(CODE)]'; : ${y[a]=5}",
  'a=\'x[$(CODE)]\'; y=(1 2 3); echo "${y[@]:0:a}"',
  "a='x[$(CODE)]'; echo ${FUNCNAME[a]}",
  "a='x[$(CODE)]'; echo $((a,1))",
  "a='x[$(CODE)]'; echo $((~a)) ",
  "a='x[$(CODE)]'; echo $((-a))",
  "a='x[$(CODE)]'; while ((a)); do break; done",
  "a='x[$(CODE)]'; if ((a)); then :; fi",
  "a='x[$(CODE)]'; export a; bash -c 'echo $((a))'",
  "a='x[$(CODE)]' bash -c 'echo $((a))'",
  "env a='x[$(CODE)]' bash -c 'echo $((a))'",
  "bash -c 'echo $(($1))' _ 'x[$(CODE)]'",
  "echo 'x[$(CODE)]' | while read n; do echo $((n)); done",
  "echo 'x[$(CODE)]' | { read n; [[ $n -gt 3 ]]; }",
  "mapfile -t n <<< 'x[$(CODE)]'; echo $((n[0]))",
  "mapfile -t n <<< 'x[$(CODE)]'; echo $((n))",
  "n=('x[$(CODE)]'); echo $((n[0]+1))",
  "n=('x[$(CODE)]'); i=0; echo $((n[i]))",
  "declare -A n=([k]='x[$(CODE)]'); echo $((n[k]))",
  "x=$'a[$(CODE)]'; echo $((x))",
  "p='a[$('; q='CODE)]'; echo $(($p$q))",
  "p='a[$('; q='CODE)]'; r=$p$q; echo $((r))",
  "exec 5<<< 'x[$(CODE)]'; read -u 5 n; ((n))",
  'time ((a[$(CODE)]))',
  '! ((a[$(CODE)]))',
  "IFS= read -r n < <(printf 'x[$(CODE)]'); ((n))",
  "a=$(printf 'x[$(CODE)]'); ((a))",
  "a=\"$(echo 'x[$''(CODE)]')\"; ((a))",
  "[ 1 -eq 1 -a -v 'x[$(CODE)]' ]",
  "alias 'x=CODE'; shopt -s expand_aliases; eval 'x'",
  'shopt -s expand_aliases; eval \'alias y="CODE"\'; eval y',
  'bash -O expand_aliases -c $\'alias x="CODE"\\nx\'',
  "declare -it x='y[$(CODE)]'",
  "declare -xi x='y[$(CODE)]'",
  "declare -i 'x[0]=y[$(CODE)]'",
  "declare -i x=1+'y[$(CODE)]'",
  'set -- -i; declare "$1" x=\'y[$(CODE)]\'',
  "o=-i; declare $o x='y[$(CODE)]'",
  "d=declare; $d -i x='y[$(CODE)]'",
  "builtin declare -i x='y[$(CODE)]'",
  'a=\'x["$(CODE)"]\'; ((a))',
  "a='1?x[$(CODE)]:0'; ((a))",
  "a='b'; b='x[$(CODE)]'; ((a))",
  "trap 'echo $((n))' EXIT; n='x[$(CODE)]'",
  "declare -n p=x; p='y[$(CODE)]'; ((x))",
  "declare -n r=a; r='x[$(CODE)]'; echo $((a))",
  "p='x[$('; q='CODE)]'; echo $(( $p $q ))",
  "a='x['; p='$'; echo $(( ${a}$p(CODE)] ))",
  "y=(1); a='x[$(CODE)]'; echo ${#y[a]}",
  "y=(1 2); a='x[$(CODE)]'; echo ${y[@]:0:a}",
  "k='x[$(CODE)]'; declare a[k]=1",
  'k=\'x[$(CODE)]\'; declare "a[k]=1"',
  'k=\'x[$(CODE)]\'; read "a[k]" <<< 1',
  "k='x[$(CODE)]'; printf -va[k] 1",
  "k='x[$(CODE)]'; a=(1); unset a[k]",
  "k='x[$(CODE)]'; declare -ia a=(k)",
  "declare -ia a=('x[$(CODE)]')",
  "declare -i a b='x[$(CODE)]'",
  "f(){ declare -gi a; }; f; a='x[$(CODE)]'",
  "BASH_ENV=e; export BASH_ENV; echo 'CODE' > e; bash -c :",
  'a=\'x[$(CODE)]\'; echo "${z:-$((a))}"',
  "a='x[$(CODE)]'; cat <<< $((a))",
  "a='x[$(CODE)]'; case $((a)) in 0) ;; esac",
  "a='x[$(CODE)]'; [[ 1 -eq 1 && a -eq 0 ]]",
  "a='x[$(CODE)]'; [[ ! a -ne 0 ]]",
  "a='x[$(CODE)]'; [[ (a -ge 0) ]]",
  "a='x[$(CODE)]'; until ((!a)); do break; done",
  "a='x[$(CODE)]'; coproc ((a)); wait",
  "a='x[$(CODE)]'; f(){ ((a)); }; f",
  "a='x[$(CODE)]'; (((a)))",
  "a='x[$(CODE)]'; ( ((a)) )",
  "a='x[$(CODE)]'; ((a)) & wait",
  'a=\'x[$(CODE)]\'; bash -c "echo \\$(($a))"',
  "a='x[$(CODE)]'; eval '((a))'",
  "printf 'x[$(CODE)]' > n.txt; n=$(<n.txt); ((n))",
  "printf 'x[$(CODE)]' > n.txt; n=$(cat n.txt); ((n))",
  "readarray -t n < <(echo 'x[$(CODE)]'); ((n[0]))",
  "IFS=, read -r a b <<< '1,x[$(CODE)]'; ((b))",
  "set -- 1 'x[$(CODE)]'; shift; (($1))",
  "set -- 'x[$(CODE)]'; for n; do ((n)); done",
  "a='x[$(CODE)]'; echo ${a:+$((a))}",
  "a='x[$(CODE)]'; echo $((${a}))",
  "a='x[$(CODE)]'; echo $((${a:-0}))",
  "a='x[$(CODE)]'; echo $((${a%z}))",
  "a='x[$(CODE)]'; ((${a@E}))",
  "x=x; y='[$(CODE)]'; (($x$y))",
  "compgen -W '${x[$(CODE)]}'",
  "complete -W '$(CODE)' x; compgen -W '`CODE`'",
  "PS4='`CODE`'; set -x; :",
  'x=\'`CODE`\'; echo "${x@P}"',
  'x=\'${y[$(CODE)]}\'; echo "${x@P}"',
  "declare -x a='x[$(CODE)]'; bash -c '((a))'",
  "export a='x[$(CODE)]'; bash -c 'let a'",
  "a='x[$(CODE)]' bash -c '[[ a -eq 1 ]]'",
  'exec {x[$(CODE)]}>&1',
  "declare -A x='([$(CODE)]=1)'",
  'x=\'y[$(CODE)]\'; unset -v "$x"; y=1; unset -v "$x"',
  'ulimit -n $((x[$(CODE)]))',
  'kill -0 $((x[$(CODE)]))',
  "local_(){ local -n r=$1; r=1; }; local_ 'a[$(CODE)]'",
  "ENV=e; echo 'CODE' > e; export ENV; sh -i </dev/null",
];

/** Code that stands in the line as code, and is read there. */
const WRITTEN_OUT = [
  "mapfile -C 'CODE' -c 1 x <<< a",
  "readarray -C 'CODE;:' -c 1 x <<< a",
  'declare -A m; m[$(CODE)]=x',
  'ls(){ CODE; }; export -f ls; bash -c ls',
  "trap 'CODE' EXIT",
  "trap 'CODE' DEBUG; :",
  "trap 'CODE' ERR; false",
  "trap 'CODE' RETURN; f(){ :; }; set -T; f",
  "trap 'CODE' USR1; kill -USR1 $$",
  "eval 'CODE'",
  "source /dev/stdin <<< 'CODE'",
  '. <(echo CODE)',
  'coproc CODE; wait',
  "compgen -C 'CODE'",
  'case $(CODE) in x) ;; esac',
  'case x in $(CODE)) ;; esac',
  'jobs -x CODE',
  'echo {1..$(CODE)}',
  '[[ x =~ $(CODE) ]]',
  'declare -f x; x() { CODE; }; declare -F x; x',
  'command_not_found_handle(){ CODE; }; nosuchprogramx',
  'f(){ CODE; }; trap f EXIT',
  "sh <<< 'CODE'",
  "bash -s <<< 'CODE'",
  "exec bash -c 'CODE'",
  'echo ${x:=$(CODE)}',
  'echo ${x?$(CODE)}',
];

/** Bash executes nothing here: the text is compared, copied or refused. */
const NOT_EXECUTED = [
  "a='x[$(CODE)]'; let a=1",
  "a='x[$(CODE)]'; ((a=1))",
  'a=\'x[$(CODE)]\'; [ "$a" -eq 1 ]',
  'a=\'x[$(CODE)]\'; test "$a" -eq 1',
  "a='x[$(CODE)]'; [[ -v a ]]",
  "[[ -R 'x[$(CODE)]' ]]",
  "declare -A m; m['$(CODE)']=x",
  "declare -A m; k='$(CODE)'; m[$k]=x; echo ${m[$k]}",
  "k='$(CODE)'; echo $(( k ))",
  "shift 'x[$(CODE)]'",
  "exit 'x[$(CODE)]'",
  "printf '%d' 'x[$(CODE)]'",
  "cd 'x[$(CODE)]'",
  "x='$(CODE)'; echo ${x@A}",
  "declare +i x='y[$(CODE)]'",
  "read -p '${x[$(CODE)]}' y <<< a",
  "ulimit -n 'x[$(CODE)]'",
  "TIMEFORMAT='$(CODE)'; time :",
];

const withCode = (line: string, code: string): string => line.replaceAll('CODE', code);

/** What bash 5 itself does: the table is made of facts. */
const bash = spawnSync('bash', ['-c', 'echo $BASH_VERSINFO'], { encoding: 'utf8' });
const isBash5 = bash.status === 0 && Number(bash.stdout) >= 5;

/** Each line in a bash of its own, in a folder of its own; one driver starts them, which is much faster than Node is. */
const DRIVER = `
while IFS= read -r -d '' line; do
  mkdir run && cd run && MARKER=$PWD/marker HOME=$PWD bash -c "$line" > /dev/null 2>&1 < /dev/null
  if [ -e marker ]; then echo yes; else echo no; fi
  cd .. && rm -rf run
done`;

function executed(lines: readonly string[]): Map<string, boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'evaluated-'));
  try {
    const input = lines.map((line) => `${withCode(line, 'touch $MARKER')}\0`).join('');
    const env = { PATH: process.env.PATH };
    const answers = execFileSync('bash', ['-c', DRIVER], { cwd: folder, env, input, encoding: 'utf8' });
    const all = answers.trim().split('\n');
    return new Map(lines.map((line, index) => [line, all[index] === 'yes']));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An interactive shell would take the terminal of the person who runs the tests. */
const isInteractive = (line: string): boolean => /\bsh( --\w+)* -i\b/.test(line);

it.runIf(isBash5)(
  '[VA-6] bash itself executes what the tables say, and nothing else',
  () => {
    const lines = [...COMPUTED, ...WRITTEN_OUT].filter((line) => !isInteractive(line));
    const answers = executed([...lines, ...NOT_EXECUTED]);
    expect(lines.filter((line) => !answers.get(line))).toEqual([]);
    expect(NOT_EXECUTED.filter((line) => answers.get(line))).toEqual([]);
  },
  300_000,
); // some three hundred processes, also on a busy machine

const decide = (line: string): { line: string; decision: string; needsPerson: boolean } => {
  const { verdict, needsPerson } = validator.check(line);
  return { line, decision: verdict.decision, needsPerson };
};

describe('[VA-6] a value that bash takes for a number, an index or a name', () => {
  it.each([...COMPUTED, ...WRITTEN_OUT])('is refused where it is a catastrophe: %s', (line) => {
    for (const code of ['rm -rf /', 'sudo id']) {
      const written = withCode(line, code);
      expect(decide(written)).toEqual({ line: written, decision: 'REJECT', needsPerson: false });
    }
  });

  it.each(COMPUTED)('needs a person, whatever it is: %s', (line) => {
    const written = withCode(line, 'date');
    expect(decide(written)).toEqual({ line: written, decision: 'HIGH', needsPerson: true });
  });

  it.each(NOT_EXECUTED)('is not refused where bash executes nothing of it: %s', (line) => {
    expect(decide(withCode(line, 'date')).decision).toBe('HIGH');
  });
});

/** The same where nobody can read the value. */
const UNKNOWN_VALUES = [
  'read n; echo $((n))',
  'n=$(cat n); ((n++))',
  'while read -r n; do s=$((s+n)); done < numbers',
  'x=$(curl -s h); echo $((x))',
  '[[ $(cat n) -gt 3 ]]',
  'i=$(cat i); echo "${list[i]}"',
  'i=$(cat i); echo "${list:$i}"',
  'declare -i n=$(cat n)',
  'declare -i n; n=$(cat n)',
  'RANDOM=$(cat n)',
  'unset "$(cat name)"',
  'read -r name; printf -v "$name" x',
  'read -r name; export "$name=x"',
  'read -r name; echo "${!name}"',
  'read -r name; declare -n ref=$name',
  'p=$(cat p); echo "${p@P}"',
  'f(){ echo $(($1)); }; f "$(cat n)"',
];

/** Counters, lengths and literals: arithmetic that holds no text from elsewhere. */
const PLAIN = [
  'i=0; i=$((i+1))',
  'i=$((i+1))',
  'i=0; while ((i<3)); do echo $i; ((i++)); done',
  'for ((i=0;i<3;i++)); do echo $i; done',
  'x=abc; echo ${x:0:3}',
  'x=hello; for ((i=0;i<${#x};i++)); do echo "${x:$i:1}"; done',
  'arr=(a b c); for i in "${!arr[@]}"; do echo "$i ${arr[$i]}"; done',
  'arr=(a b c); unset "arr[1]"; unset arr[0]',
  'arr=(a b c); echo "${arr[$((RANDOM % ${#arr[@]}))]}"',
  'declare -A m; m[a]=1; for k in "${!m[@]}"; do echo "$k=${m[$k]}"; done',
  'n=$(wc -l < f); echo $((n+1))',
  'start=$(date +%s); make; echo $(( $(date +%s) - start ))',
  'for i in $(seq 1 3); do echo $((i*2)); done',
  'SECONDS=0; make; echo "${SECONDS}s"',
  'RANDOM=42; echo $RANDOM',
  'while getopts "ab:" o; do echo $o; done; shift $((OPTIND-1))',
  "PS4='+ ${BASH_SOURCE}:${LINENO}: '; set -x; make",
  'if (( $# < 2 )); then echo usage; fi',
  '[ "$(cat n)" -gt 3 ]',
  '[[ -v FOO ]] && unset FOO',
  'let i++ j=2',
  'declare -i n=3; local x; declare -r V=1.2',
  'env A=b C=d npm test',
  "declare -A m; k='x[$(date)]'; m[$k]=1; echo ${m[$k]}",
];

describe('[VA-6] no grant covers a line that computes what it runs', () => {
  it.each(UNKNOWN_VALUES)('says so: %s', (line) => {
    const rules = validator.check(line).verdict.reasons.map(({ rule }) => rule);
    expect({ ...decide(line), rules }).toEqual({
      line,
      decision: 'HIGH',
      needsPerson: true,
      rules: expect.arrayContaining(['SHW-21']),
    });
  });
  it.each(PLAIN)('but plain arithmetic may be granted: %s', (line) => {
    expect(decide(line)).toEqual({ line, decision: 'HIGH', needsPerson: false });
  });
});

/** Names that the line makes stand for something else, by a variable of bash. */
const REPLACED = [
  'BASH_CMDS[ls]=/bin/rm; ls -rf /',
  'BASH_CMDS=([ls]=/bin/rm); ls -rf /',
  'declare BASH_CMDS[ls]=/bin/rm; ls -rf /',
  "printf -v 'BASH_CMDS[ls]' /bin/rm; ls -rf /",
  "read 'BASH_CMDS[ls]' <<< /bin/rm; ls -rf /",
  'k=ls; BASH_CMDS[$k]=/usr/bin/sudo; ls id',
  'declare -n p=BASH_CMDS; p[ls]=/bin/rm; ls -rf /',
  "BASH_ALIASES[ll]='rm -rf'; ll /",
  "declare -A BASH_ALIASES=([ll]='rm -rf /')",
  "PROMPT_COMMAND=('rm -rf /')",
  "declare -n p=PROMPT_COMMAND; p='rm -rf /'",
  "env 'BASH_FUNC_ls()=() { rm -rf /; }' bash -c ls",
  "env -i 'BASH_FUNC_git%%=() { sudo id; }' PATH=/bin bash -c 'git status'",
  'env \'BASH_FUNC_ls%%=() { eval "$1"; }\' bash -c \'ls "rm -rf /"\'',
  'curl x > e; BASH_ENV=e bash -c :',
  'curl x > e; env BASH_ENV=e bash x.sh',
  "export BASH_ENV=e; echo 'rm -rf /' > e; bash -c :",
  "trap 'eval \"$n\"' EXIT; n='rm -rf /'",
  "trap '$c' EXIT; c='sudo id'",
  "alias x='((a))'; a='x[$(rm -rf /)]'; x",
  'declare -a x=\'(rm -rf /)\'; "${x[@]}"',
  "k='x[$(rm -rf /)]'; declare -a a='([k]=1)'",
  "x='rm -rf /'; ((x)); $x",
  "declare -n r=x; x='rm -rf /'; $r",
  // an index is only free of code while the array is surely associative
  "declare -A m; unset m; k='x[$(rm -rf /)]'; echo ${m[$k]}",
  "f(){ local -A m; }; f; k='x[$(rm -rf /)]'; echo ${m[$k]}",
  "declare -A m; bash -c 'echo ${m[$1]}' _ 'x[$(rm -rf /)]'",
];

describe('[VA-6] refuses what a variable makes bash run', () => {
  it.each(REPLACED)('%s', (line) => {
    expect(decide(line)).toEqual({ line, decision: 'REJECT', needsPerson: false });
  });
});
