import { unquoted } from '../program/marks.ts';
import { catastrophes } from './catastrophes.ts';
import type { ShellRun } from './shell-run.ts';
import { mayBeDisk, protectionOf, resolvePlaces } from './word-paths.ts';

/** Names by which other languages start programs. */
const STARTS_PROGRAMS =
  /\b(system|exec\w*|popen\d?|spawn\w*|subprocess|check_call|check_output|child_process|shell_exec|passthru|proc_open|qx|getoutput|Command|callCommand|Popen|run|sh|shell|cmd|sys\.process|call-process|start-process|IO\.popen|Open3|ProcessBuilder)\b|`|%x/;
const REMOVES =
  /\b(rmtree|rmSync|rmdirSync|rm_rf|rm_r|remove_entry|remove_tree|rimraf|removeSync|remove_dir_all|rmdir|unlink\w*|rm|FileUtils|emptyDirSync|removedirs|delete-directory|trash)\b/;
const NETWORK =
  /\b(urllib\d?|requests|urlopen|httpx|http\.client|fetch|LWP|Net::HTTP|open-uri|URI\.open|getprint|getstore|https?\.get|axios|file_get_contents|HTTP::Tiny|curl|wget)\b/;
const EXECUTES_TEXT =
  /\beval\b|\b(exec|Function|compile|vm\.run\w*|instance_eval|assert)\b\s*[( ]|\bload\s*\(\s*io\b|\b(system|execSync|popen)\s*\(?\s*`/;
/** PHP and deno execute code from a URL. */
const INCLUDES_ADDRESS = /\b(include|require|import|from)(_once)?\b[\s("']{0,9}https?:/;
/** Decodes text and executes it in one statement. */
const EXECUTES_DECODED =
  /\b(exec\w*|eval|system|popen|spawn\w*|run|Function)\b[^;\n]{0,120}(\b(b64decode|base64_decode|decode_base64|atob|fromhex|unhexlify)\b|\bBuffer\.from\([^;\n]{0,400}["'](base64|hex)["'])/;
const BECOMES_ROOT = /\bset(re|res|e)?[ug]id\s*\(?\s*0\b|\$[<>]\s*=\s*0\b/;
const SETS_SETUID_BIT = /\bchmod\w*\b[^;\n]{0,200}\b0?o?[4-7][0-7]{3}\b/;
const FORKS_IN_LOOP = /\bfork\b[\s()]*\b(while|until|for)\b|\b(while|until|for|loop)\b[^;}]{0,40}\bfork\b/;
const SOCKET = /\b(socket|TCPSocket|net\.connect|net\.Socket|createConnection|fsockopen|IO::Socket|Socket)\b/;
const SHELL_PATH = /(\/bin\/)?\b(ba|z|da|k)?sh\b['"\s]|pty\.spawn|cmd\.exe/;

/**
 * Judges code of another language, without parsing it. In code that starts programs, each string literal is judged as a
 * shell line and each list of literals as a program call. In code that removes files, a literal must not be a protected place.
 */
export function judgeInlineCode(run: ShellRun, code: string): void {
  const { findings } = run;
  const catastrophe = catastropheIn(code);
  if (catastrophe) {
    findings.refuse(catastrophe, code);
    return;
  }
  const literals = stringLiterals(code);
  for (const { text: literal } of literals) {
    if (literal === '' || literal.length > 4_096) continue;
    // perl opens a file with `open F, ">/dev/sda"` and a pipe with `open F, "|rm -rf /"`
    const text = literal.replace(/^\+?[<>]{1,2}\s*/, '');
    if (/\bopen\b/.test(code) && /^\s*\||\|\s*$/.test(literal))
      run.perhapsCode(literal.replace(/^\s*\||\|\s*$/g, ''));
    const path = unquoted(text).replace(/^~(?=\/|$)/, run.home);
    const places = /^[/~.]/.test(text) ? resolvePlaces(run, path) : [];
    if (REMOVES.test(code) && places.some((place) => protectionOf(run, place) !== undefined)) {
      findings.refuse(catastrophes.removal, text);
      return;
    }
    if (places.some(mayBeDisk) && /open|write|put_contents|copy|File|\bdd\b/.test(code)) {
      findings.refuse(catastrophes.device, text);
      return;
    }
  }
  if (
    REMOVES.test(code) &&
    /\b(expanduser|homedir|Path\.home|ENV\[.HOME|environ\[.HOME|env\.HOME|Dir\.home)\b[^/\w]{0,8}([)\],;]|$)/.test(
      code,
    ) &&
    !/join|\+|\//.test(code.replace(/https?:\/\//g, ''))
  ) {
    findings.refuse(catastrophes.removal, code);
    return;
  }
  if (!STARTS_PROGRAMS.test(code)) return;
  for (const [index, { text }] of literals.entries()) {
    if (!/\S/.test(text)) continue;
    run.perhapsCode(text);
    const joined = joinedFrom(code, literals, index, text);
    if (joined !== text) run.perhapsCode(joined);
    // code within code: `exec("os.system('…')")`
    if (/["'`]/.test(text) && STARTS_PROGRAMS.test(text)) judgeInlineCode(run, text);
  }
  for (const list of literalLists(code, literals)) run.perhaps(() => run.walker.call(run, list));
}

/** Finds a catastrophe in the code as a whole, regardless of what its string literals contain. */
function catastropheIn(code: string): (typeof catastrophes)[keyof typeof catastrophes] | undefined {
  if (SOCKET.test(code) && SHELL_PATH.test(code)) return catastrophes.remoteShell;
  if ((NETWORK.test(code) && EXECUTES_TEXT.test(code)) || INCLUDES_ADDRESS.test(code))
    return catastrophes.download;
  if (EXECUTES_DECODED.test(code)) return catastrophes.hidden;
  if (BECOMES_ROOT.test(code)) return catastrophes.privilege;
  if (SETS_SETUID_BIT.test(code)) return catastrophes.setuid;
  return FORKS_IN_LOOP.test(code) ? catastrophes.forkBomb : undefined;
}

/** Files that inline code loads and so executes: `require("./a.js")`, `import a`. */
export function importedFiles(code: string): readonly string[] {
  const named = [
    ...code.matchAll(/\b(?:require|import|include|load|source|dofile|do)\b[\s(]{0,9}["']([^"']{1,200})["']/g),
  ];
  const modules = [...code.matchAll(/\b(?:import|from)\s+([\w.]{1,100})/g)];
  return [
    ...named.map(([, path = '']) => path).filter((path) => !path.endsWith('.json')),
    ...modules.map(([, module = '']) => `${module.replaceAll('.', '/')}.py`),
  ].slice(0, 20);
}

/** Whether inline code may print something from the network. */
export const fetches = (code: string): boolean => NETWORK.test(code);

/** Expressions that read standard input. */
const READS_INPUT =
  /\b(stdin|STDIN|ARGF|gets|readline|readlines|input|slurp|io\.read)\b|\/dev\/(stdin|fd\/0)|\b(readFileSync|open|fdopen|createReadStream)\s*\(\s*0\b|<>|<STDIN>|php:\/\/stdin|\$_\b/;
/** Expressions that execute a value instead of a literal. `.exec(` is left out: regular expressions have it. */
const EXECUTES_VALUE =
  /(?<![.\w$])(exec|eval|compile|Function|instance_eval|assert)\b(?!\s*\{)\s*(?!["'])|\bload\s*\(\s*io\b|\bvm\.run\w*|\b(os\.system|os\.popen|execSync|popen|getoutput|shell_exec|passthru|IO\.popen)\s*\(\s*(?!["'])|\bsubprocess\.\w+\(\s*(?!["'[])|child_process['"]?\)?\.exec\(\s*(?!["'])|(?<![.\w])(system|qx)\b\s*\(?\s*(?!["'])[$\w<]|`[^`]*[$#]/;

/** Whether inline code executes its standard input. `isLoop`: the interpreter reads it line by line (`perl -n`). */
export function executesItsInput(code: string, { isLoop }: { isLoop: boolean }): boolean {
  return (isLoop || READS_INPUT.test(code)) && EXECUTES_VALUE.test(code);
}

/** Literals that inline code may print unchanged: after `print` and the like, or as the whole code. */
export function printedLiterals(code: string): readonly string[] {
  if (!/["'`]|q\w?\W/.test(code)) return [];
  const literals = stringLiterals(code);
  const printed: string[] = [];
  for (const [index, { start, text }] of literals.entries()) {
    const before = code.slice(Math.max(0, start - 40), start);
    if (!/\b(print\w*|puts|say|write\w*|log|echo|out|p)\s*\(?\s*$/i.test(before) && before.trim() !== '')
      continue;
    printed.push(`${joinedFrom(code, literals, index, text)}\n`);
    if (printed.length >= 8) break;
  }
  return printed;
}

/** A literal joined with the literals that directly follow it: `"rm" + " -rf"`, `"rm", "-rf"`. */
function joinedFrom(code: string, literals: readonly StringLiteral[], from: number, first: string): string {
  let text = first;
  for (let i = from + 1; i < literals.length; i++) {
    const literal = literals[i] as StringLiteral;
    const between = code.slice(literals[i - 1]?.end, literal.start);
    if (!/^\s{0,9}[+.,]?\s{0,9}$/.test(between)) break;
    text += (between.includes(',') ? ' ' : '') + literal.text;
  }
  return text;
}

interface StringLiteral {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** String literals of most languages, and `q{…}`, `qx(…)`, `%x[…]` of perl and ruby. At most 200; takes linear time. */
function stringLiterals(code: string): StringLiteral[] {
  const found: StringLiteral[] = [];
  for (let i = 0; i < code.length && found.length < 200; i++) {
    const c = code[i] as string;
    if (c === '"' || c === "'" || c === '`') {
      const triple = code.startsWith(c.repeat(3), i);
      const close = triple ? c.repeat(3) : c;
      let k = i + close.length;
      while (k < code.length && !code.startsWith(close, k)) k += code[k] === '\\' ? 2 : 1;
      found.push({ start: i, end: k + close.length, text: unescaped(code.slice(i + close.length, k)) });
      i = k + close.length - 1;
      continue;
    }
    const quoted = /^(?:q[qxw]?|%[xqQw]?)\s{0,2}([{([<|/!])/.exec(code.slice(i, i + 6));
    if (!quoted || /\w/.test(code[i - 1] ?? '')) continue;
    const open = quoted[1] as string;
    const start = i + quoted[0].length;
    const end = code.indexOf({ '{': '}', '(': ')', '[': ']', '<': '>' }[open] ?? open, start);
    if (end < 0) continue;
    found.push({ start: i, end: end + 1, text: code.slice(start, end) });
    i = end;
  }
  return found;
}

const unescaped = (text: string): string =>
  text
    .replace(/\\x([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/\\n/g, '\n')
    .replace(/\\(["'`\\/])/g, '$1');

/** Lists of literals, separated by commas, brackets and spaces: `['rm', '-rf', '/']`, `'rm', ['-rf', '/']`. */
function literalLists(code: string, literals: readonly StringLiteral[]): string[][] {
  const lists: string[][] = [];
  let list: string[] = [];
  for (const [index, literal] of literals.entries()) {
    const before = literals[index - 1];
    const between = before ? code.slice(before.end, literal.start) : '';
    const follows = between.length < 40 && /^[\s,[\](]*,[\s,[\](]*$/.test(between);
    if (!follows) {
      if (list.length > 1) lists.push(list);
      list = [];
    }
    list.push(literal.text);
  }
  if (list.length > 1) lists.push(list);
  return lists;
}
