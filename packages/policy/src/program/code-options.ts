import { wordList } from '../word-list.ts';
import { HIDDEN } from './marks.ts';
import { decodedUrl } from './node.ts';
import { valuesAnywhere } from './options.ts';

/**
 * Options of ordinary programs whose value is executed: `tar --to-command`, `rsync -e`. Values are judged as shell
 * lines. Each example holds `rm -rf /`; a test sees that every one is refused.
 */
interface CodeOption {
  readonly programs: readonly string[];
  /** With dashes. A short one may have its value glued on; a long one may have it after `=`. */
  readonly options: readonly string[];
  /** What stands before the code inside the value. */
  readonly prefix?: RegExp;
  /** Its words are separated by commas. */
  readonly commas?: true;
  readonly matches: readonly string[];
}

export const codeOptions: readonly CodeOption[] = [
  {
    programs: ['tar', 'gtar', 'bsdtar'],
    options: wordList(`--checkpoint-action --to-command -I --use-compress-program --rsh-command -F
      --info-script --new-volume-script`),
    prefix: /^exec=/,
    matches: [
      "tar cf x y --checkpoint=1 --checkpoint-action=exec='rm -rf /'",
      "tar xf a --to-command='rm -rf /'",
      "tar -I 'rm -rf /' -cf x y",
      "tar xf a --to-com='rm -rf /'",
      "tar cf x y --use-comp 'rm -rf /'",
    ],
  },
  { programs: ['rsync'], options: ['-e', '--rsh', '--rsync-path'], matches: ["rsync -e 'rm -rf /' a h:b"] },
  {
    programs: ['git'],
    options: wordList(`-x --exec --upload-pack --receive-pack --extcmd --tree-filter --index-filter
      --msg-filter --env-filter --commit-filter --parent-filter --tag-name-filter -O --open-files-in-pager -u
      --setup --sendmail-cmd --to-cmd --cc-cmd --header-cmd --smtp-server --access-hook --httpd`),
    matches: [
      "git rebase -x 'rm -rf /' main",
      "git filter-branch --tree-filter 'rm -rf /' HEAD",
      "git clone -u 'rm -rf /' a b",
      "git send-email --to-cmd='rm -rf /' x",
    ],
  },
  { programs: ['split', 'gsplit'], options: ['--filter'], matches: ["split --filter='rm -rf /' f"] },
  {
    programs: ['sort', 'gsort'],
    options: ['--compress-program'],
    matches: ["sort --compress-program='rm -rf /' f"],
  },
  { programs: ['man'], options: ['-P', '--pager', '-H'], matches: ["man -P 'rm -rf /' ls"] },
  {
    programs: ['ssh', 'scp', 'sftp'],
    options: ['-o'],
    prefix: /^(ProxyCommand|LocalCommand|KnownHostsCommand)\s*=?\s*/i,
    matches: ["ssh -o ProxyCommand='rm -rf /' h", "ssh -oProxyCommand='rm -rf /' h"],
  },
  {
    programs: wordList('vi vim nvim ex view emacs'),
    options: wordList('-c -sc --cmd +'),
    prefix: /^[:!]*\s*(silent\s*)?!?\s*/,
    matches: [
      "vim -c ':!rm -rf /'",
      "ex -c '!rm -rf /' f",
      "ex -sc '!rm -rf /' f",
      `vim -c ':call system("rm -rf /")'`,
    ],
  },
  { programs: ['zip'], options: ['-TT', '--unzip-command'], matches: ["zip -T -TT 'rm -rf /' a b"] },
  {
    programs: ['make', 'gmake'],
    options: ['--eval', '-E'],
    prefix: /^[^;]*;/,
    matches: ["make --eval='x:;rm -rf /'", "make -E 'x:;rm -rf /' x"],
  },
  { programs: ['less', 'more'], options: ['+'], prefix: /^[+!]*/, matches: ["less '+!rm -rf /' f"] },
  {
    programs: ['gdb', 'lldb'],
    options: wordList('-ex -iex --eval-command --init-eval-command -o -O --one-line'),
    prefix: /^(!|(platform\s+)?shell\s+)\s*/,
    matches: [
      "gdb -ex 'shell rm -rf /'",
      "gdb --eval-command='!rm -rf /'",
      "lldb -o 'platform shell rm -rf /'",
    ],
  },
  {
    programs: ['emacs', 'erl', 'swipl'],
    options: wordList('-eval -execute -g -t'),
    matches: ['erl -eval \'os:cmd("rm -rf /").\'', 'swipl -g \'shell("rm -rf /")\''],
  },
  { programs: ['npm', 'pnpm'], options: ['--script-shell'], matches: ["npm test --script-shell='rm -rf /'"] },
  {
    programs: ['pnpm'],
    options: ['-c', '--shell-mode'],
    prefix: /^exec /,
    matches: ["pnpm -c 'exec rm -rf /'"],
  },
  {
    programs: wordList('gcc g++ cc c++ clang'),
    options: ['-wrapper'],
    commas: true,
    matches: ['gcc -wrapper rm,-rf,/ x.c'],
  },
  {
    programs: ['node', 'nodejs'],
    options: wordList(
      `--import --loader --experimental-loader --require --test-reporter --test-global-setup`,
    ),
    prefix: /^data:[^,]*,/i,
    matches: [
      `node --import='data:text/javascript,process.getBuiltinModule("child_process").execSync("rm -rf /")' x.js`,
      `node --test --test-reporter 'data:text/javascript,import{execSync}from"child_process";execSync("rm -rf /")'`,
      'node --import "data:text/javascript,import{execSync}from%22child_process%22;execSync(%22rm%20-rf%20/%22)" x.js',
    ],
  },
  { programs: ['tcpdump'], options: ['-z'], matches: ["tcpdump -z 'rm -rf /' -G 1"] },
  {
    programs: ['fzf'],
    options: ['--preview', '--bind'],
    prefix: /^[\w-]+:\w+[(:]/,
    matches: ["fzf --preview 'rm -rf /'", "fzf --bind 'enter:execute(rm -rf /)'"],
  },
  {
    programs: ['fd', 'fdfind'],
    options: wordList('-x -X --exec --exec-batch'),
    matches: ["fd -x 'rm -rf /'"],
  },
];

/** The lines that a program's options make it execute. */
export function codeInOptions(name: string, args: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (const { programs, options, prefix, commas } of codeOptions) {
    if (!programs.includes(name)) continue;
    for (const value of valuesAnywhere(args, options, { abbreviations: true })) {
      const code = value.replace(prefix ?? '', '').replace(/\)$/, '');
      found.push(commas ? code.replaceAll(',', ' ') : code);
      if (/^data:/i.test(value)) found.push(/;base64,/i.test(value) ? HIDDEN : decodedUrl(code));
    }
  }
  return found;
}
