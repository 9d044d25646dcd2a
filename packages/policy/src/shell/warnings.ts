// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text, not a template
import { unpackers } from '../program/file-operands.ts';
import { changesGit } from '../program/git/git-call.ts';
import { hasHole } from '../program/marks.ts';
import { isOwnServerCall } from '../program/own-server.ts';
import { readProgram } from '../program/read-program.ts';
import { wordList } from '../text.ts';
import type { ProgramCall } from './shell-run.ts';
import { resolvePlaces } from './word-paths.ts';

/** A reason that the person reads before approving. A test checks every example. */
export interface Warning {
  readonly id: string;
  readonly why: string;
  /** A person must decide: no grant or allow rule covers such a line (see `CallAssessment`). */
  readonly needsPerson?: true;
  /** The line may execute the files that it reads (see `Findings.countReadsAsRuns`). */
  readonly mayExecuteReads?: true;
  /**
   * The warning only informs the person. In a plain line, the table of the program decides how risky it is
   * (docs/decisions/0026).
   */
  readonly informs?: true;
  readonly matches: readonly string[];
  readonly doesNotMatch: readonly string[];
}

/** A warning that depends only on the words of one program call. */
interface ProgramWarning extends Warning {
  readonly programs: readonly string[];
  /** Limits the warning to some calls of these programs; all calls if left out. */
  readonly when?: (call: ProgramCall) => boolean;
}

/** Warnings that the walk over a line gives. */
export const warnings = {
  unknownProgram: {
    id: 'SHW-1',
    why: 'the program is only known when it runs',
    needsPerson: true,
    matches: ['$(cat x) a', '"$CMD" build', '$X'],
    doesNotMatch: ['c=ls; $c', 'echo $X'],
  },
  unknownCode: {
    id: 'SHW-2',
    why: 'executes text that is only known when it runs',
    needsPerson: true,
    mayExecuteReads: true,
    matches: [
      'eval "$X"',
      'bash -c "$(cat x)"',
      'cat s.sh | bash',
      'ssh-agent -s | sh',
      'source <(kubectl completion bash)',
      'git log > x.sh; bash x.sh',
      'sh "$(cat name)"',
    ],
    doesNotMatch: ["eval 'ls'", "bash -c 'ls -l'", 'sh x.sh', 'for f in *.sh; do sh "$f"; done'],
  },
  unknownTarget: {
    id: 'SHW-3',
    why: 'writes to a place that is only known when it runs',
    needsPerson: true,
    matches: ['echo x > "$OUT"', 'cp a "$DEST"', 'tee "$F" < a'],
    doesNotMatch: ['echo x > out.txt'],
  },
  unknownRemoval: {
    id: 'SHW-4',
    why: 'removes something that is only known when it runs; if the name comes out empty or wrong, more is lost than meant',
    needsPerson: true,
    matches: ['rm -rf "$DIR"', 'rm -rf "$TMPDIR/x"', 'rm -r $(cat list)', 'cd "$X" && rm -rf *'],
    doesNotMatch: ['rm -rf build', 'd=build; rm -rf "$d"'],
  },
  everythingHere: {
    id: 'SHW-5',
    why: 'removes everything in the directory it runs in, which may be the whole workspace',
    matches: ['rm -rf *', 'rm -rf ./*', 'rm -rf -- *'],
    doesNotMatch: ['rm -rf build/*', 'rm -rf *.o'],
  },
  outside: {
    id: 'SHW-6',
    why: 'names a place outside the workspace',
    needsPerson: true,
    matches: ['cat /etc/hosts', 'ls ~', 'cat ../x', 'cd / && cat etc/hosts', 'wc < /etc/hosts'],
    doesNotMatch: ['cat README.md', 'echo /etc/hosts', 'grep /etc README.md'],
  },
  writesOutside: {
    id: 'SHW-7',
    why: 'writes outside the workspace',
    needsPerson: true,
    matches: ['echo x > /tmp/y', 'cp a ~/b', 'tee /etc/hosts < a', "sed -i 's/a/b/' /etc/hosts"],
    doesNotMatch: ['echo x > y', 'echo x > /dev/null', 'cp /etc/hosts .'],
  },
  linkOutside: {
    id: 'SHW-8',
    why: 'follows a link that leads outside the workspace',
    needsPerson: true,
    matches: [],
    doesNotMatch: ['cat README.md'],
  },
  lifted: {
    id: 'SHW-9',
    why: 'uses a sensitive file that your own policy makes available',
    needsPerson: true,
    matches: [],
    doesNotMatch: ['cat README.md'],
  },
  rawNetwork: {
    id: 'SHW-10',
    why: 'opens a network connection directly from the shell',
    matches: ['echo > /dev/tcp/localhost/80', 'cat < /dev/udp/h/5'],
    doesNotMatch: ['echo > /dev/null'],
  },
  codeVariable: {
    id: 'SHW-11',
    why: 'sets a variable whose text other programs execute',
    needsPerson: true,
    matches: ["PROMPT_COMMAND='ls'", 'EDITOR=vi git commit', 'export GIT_SSH_COMMAND="ssh -v"'],
    doesNotMatch: ['NODE_ENV=test npm test'],
  },
  loaderVariable: {
    id: 'SHW-12',
    why: 'sets a variable that makes programs load other code',
    needsPerson: true,
    matches: [
      'LD_PRELOAD=./x.so ls',
      'export NODE_OPTIONS=--require=./x.js',
      'NPM_CONFIG_NODE_OPTIONS=--require=./x.js npm test',
      'PYTEST_ADDOPTS=-pevil python3 -m pytest',
    ],
    doesNotMatch: ['CI=1 npm test'],
  },
  searchPath: {
    id: 'SHW-13',
    why: 'changes where programs are found',
    needsPerson: true,
    matches: ['export PATH=$PATH:./bin', 'PATH=. ls'],
    doesNotMatch: ['echo $PATH'],
  },
  runsFile: {
    id: 'SHW-14',
    why: 'executes a file; its content is what will happen',
    informs: true,
    matches: ['sh scripts/x.sh', './x.sh', 'node a.js', 'python3 tools/y.py', '. ./setup.sh'],
    doesNotMatch: ['cat x.sh', 'ls'],
  },
  inlineCode: {
    id: 'SHW-15',
    why: 'executes code of another language that is written into the line',
    needsPerson: true,
    matches: ["python3 -c 'print(1)'", "node -e '1'", "perl -ne 'print' f", "ruby -e 'puts 1'"],
    doesNotMatch: ['python3 x.py', "awk '{print $1}' f"],
  },
  remote: {
    id: 'SHW-16',
    why: 'runs commands on another machine',
    needsPerson: true,
    matches: ['ssh host uptime', "ssh -p 22 me@h 'rm -rf build'"],
    doesNotMatch: ['ssh-keygen -l -f k.pub'],
  },
  scheduled: {
    id: 'SHW-17',
    why: 'makes something run later, when nobody is asked',
    needsPerson: true,
    matches: ['crontab tab', 'echo ls | at now', 'crontab -'],
    doesNotMatch: ['crontab -l', "trap 'rm -f x' EXIT"],
  },
  searchesEverywhere: {
    id: 'SHW-18',
    why: 'names files by a pattern that may include secrets',
    needsPerson: true,
    matches: ['cat .*', 'tar czf a.tgz .*'],
    doesNotMatch: ['cat *.md'],
  },
  trap: {
    id: 'SHW-19',
    why: 'runs something more when the shell ends or gets a signal',
    matches: ["trap 'rm -f x' EXIT"],
    doesNotMatch: ['trap - EXIT', 'trap -l'],
  },
  replacedProgram: {
    id: 'SHW-20',
    why: 'makes a name stand for another program',
    needsPerson: true,
    matches: ['hash -p ./x ls', "alias ls='ls -l'", 'enable -f ./x.so x'],
    doesNotMatch: ['hash -r', 'alias', 'enable'],
  },
  computedCode: {
    id: 'SHW-21',
    why: 'computes what it runs: bash executes the commands in a value that it takes for a number, an index or a name',
    needsPerson: true,
    mayExecuteReads: true,
    matches: [
      "a='x[$(date)]'; let a",
      'read n; echo $((n + 1))',
      'echo "${list[$1$(cat i)]}"',
      '[[ $(cat n) -gt 3 ]]',
      'unset "$(cat name)"',
      'read -r name; declare "$name=1"',
      "PS4='+$(date) '; set -x",
    ],
    doesNotMatch: [
      'i=0; i=$((i+1))',
      'for ((i=0;i<3;i++)); do echo $i; done',
      'x=abc; echo ${x:0:3}',
      'a=(1 2); for i in "${!a[@]}"; do echo "${a[i]}"; done',
      'declare -A m=([a]=1); for k in "$@"; do echo "${m[$k]}"; done',
      'echo $((RANDOM % 6)) $(($# - 1)) $?',
      '[ "$n" -gt 3 ]',
      '[[ $# -gt 3 ]]',
      'x=$(cat f); echo "$x"',
    ],
  },
  makesSecret: {
    id: 'SHW-22',
    why: 'makes a file with secrets from its template',
    needsPerson: true,
    matches: ['cp .env.example .env', 'cp -n config/.env.sample config/.env.local'],
    doesNotMatch: ['cp .env.example docs/env.txt', 'cat .env.example'],
  },
  handsSecret: {
    id: 'SHW-23',
    why: 'hands a file with secrets to the program that it starts',
    needsPerson: true,
    matches: [
      'node --env-file=.env x.js',
      'docker compose --env-file .env up',
      'docker run --env-file=.env x',
    ],
    doesNotMatch: ['node x.js', 'node --env-file=settings.txt x.js'],
  },
} as const satisfies Record<string, Warning>;

const hasArgument =
  (pattern: RegExp) =>
  ({ args }: ProgramCall): boolean =>
    args.some((word) => pattern.test(word));

const sendsOrSkipsChecks = hasArgument(
  /^(-[a-zA-Z]*[dFTkK].*|--(data.*|form.*|upload-file|insecure|config|json|post-(data|file).*|body-(data|file).*|no-check-certificate|execute|use-askpass.*))$/,
);

/** Whether a call unpacks an archive into the workspace root, or into a place that is only known at run time. */
function unpacksIntoRoot({ run, name, args }: ProgramCall): boolean {
  return readProgram([name, ...args])
    .unpacksInto.flatMap((target) => resolvePlaces(run, target))
    .some((place) => hasHole(place) || place === run.paths.root);
}

/** Programs on the founding documents' black list that are not catastrophes: allowed, with a warning. */
export const programWarnings: readonly ProgramWarning[] = [
  {
    id: 'SHW-30',
    why: 'deletes files, which cannot be undone',
    programs: wordList('rm rmdir unlink shred srm truncate'),
    matches: ['rm a', 'rm -rf dist', 'shred f', 'find . -name x -exec rm {} +', 'xargs rm'],
    doesNotMatch: ['ls', 'echo rm'],
  },
  {
    id: 'SHW-31',
    why: 'deletes what it finds, which cannot be undone',
    programs: ['find'],
    when: hasArgument(/^-delete$/),
    matches: ["find . -name '*.tmp' -delete"],
    doesNotMatch: ['find . -name a'],
  },
  {
    id: 'SHW-32',
    why: 'moves or replaces files',
    informs: true,
    programs: ['mv'],
    matches: ['mv a b'],
    doesNotMatch: ['cp a b'],
  },
  {
    id: 'SHW-33',
    why: 'copies raw data and overwrites its target',
    programs: ['dd', 'dcfldd', 'ddrescue'],
    matches: ['dd if=/dev/zero of=blank.bin bs=1k count=4'],
    doesNotMatch: ['cat a'],
  },
  {
    id: 'SHW-34',
    why: 'opens files to every user of this machine',
    programs: ['chmod'],
    when: hasArgument(/^0*[0-7]?[0-7][0-7][2367]$|[oa]*\+[rx]*w/),
    matches: ['chmod 777 a', 'chmod -R 0777 d', 'chmod a+w f'],
    doesNotMatch: ['chmod 755 a', 'chmod +x a'],
  },
  {
    id: 'SHW-35',
    why: 'sends or fetches data over the network',
    programs: wordList(`curl wget fetch aria2c http https xh httpie nc ncat netcat socat telnet ftp lftp sftp
      scp rclone tftp`),
    when: ({ name, args }) => !isOwnServerCall([name, ...args]),
    matches: ['curl https://x/y.json', 'wget http://h', 'scp a h:b', 'curl $x localhost:3000'],
    doesNotMatch: ['cat curl.md', 'curl -s localhost:3000'],
  },
  {
    id: 'SHW-36',
    why: 'sends data from this machine or skips checks of the connection',
    programs: ['curl', 'wget'],
    when: (call) => !isOwnServerCall([call.name, ...call.args]) && sendsOrSkipsChecks(call),
    matches: ['curl -d @a http://h', 'curl -k https://h', 'wget --post-file=a http://h', 'curl -F f=@a h'],
    doesNotMatch: ['curl -fsSL https://h', 'wget -q http://h', 'curl -d a=b localhost:3000'],
  },
  {
    id: 'SHW-37',
    why: 'creates or changes keys',
    needsPerson: true,
    programs: wordList('ssh-keygen ssh-add ssh-copy-id gpg gpg2'),
    matches: ['ssh-keygen -t ed25519'],
    doesNotMatch: ['ssh host'],
  },
  {
    id: 'SHW-38',
    why: 'handles keys, certificates or encrypted data',
    programs: ['openssl', 'age', 'certutil'],
    matches: ['openssl rand -hex 8'],
    doesNotMatch: ['ls openssl'],
  },
  {
    id: 'SHW-39',
    why: 'installs or removes software of this machine',
    needsPerson: true,
    programs: wordList(`apt apt-get aptitude dpkg yum dnf rpm zypper pacman yay apk brew port snap flatpak
      emerge pkg nix-env winget choco`),
    matches: ['apt install x', 'pacman -S x', 'brew install y'],
    doesNotMatch: ['man apt', 'npm ci'],
  },
  {
    id: 'SHW-40',
    why: 'installs packages, which run code of their authors',
    informs: true,
    programs: wordList('npm pnpm yarn bun pip pip3 pipx uv poetry gem cargo go composer bundle conda'),
    when: hasArgument(/^(i|ci|install|add|update|upgrade|get|exec|dlx|x|create|publish|sync)$/),
    matches: ['npm ci', 'pip install x', 'cargo install y', 'npm publish'],
    doesNotMatch: ['npm run lint', 'cargo build'],
  },
  {
    id: 'SHW-41',
    why: 'ends processes',
    programs: wordList('kill pkill killall xkill skill'),
    matches: ['kill %1', 'pkill node'],
    doesNotMatch: ['ps'],
  },
  {
    id: 'SHW-42',
    why: 'changes or discards work in git, or sends it away',
    informs: true,
    programs: ['git'],
    when: ({ args }) =>
      /(^| )(push|clean|reset( .*)? --hard|filter-branch|update-ref|gc|reflog (delete|expire)|checkout( .*)? --( |$)|restore|stash (drop|clear)|branch( .*)? -D|rebase|config)( |$)/.test(
        args.join(' ').slice(0, 1_000),
      ),
    matches: ['git push --force', 'git reset --hard HEAD~1', 'git clean -fdx', 'git push origin main'],
    doesNotMatch: ['git status', 'git log --grep=push', "git commit -m 'x'"],
  },
  {
    id: 'SHW-43',
    why: 'runs containers, which can reach this machine',
    programs: wordList('docker podman nerdctl kubectl helm docker-compose lxc'),
    matches: ['docker ps', 'docker run --privileged x'],
    doesNotMatch: ['ls docker'],
  },
  {
    id: 'SHW-44',
    why: 'changes services or settings of this machine',
    needsPerson: true,
    programs: wordList(`systemctl service launchctl sysctl mount umount iptables nft ufw ip ifconfig route
      hostnamectl timedatectl update-alternatives swapoff losetup setenforce csrutil defaults`),
    matches: ['systemctl restart x', 'iptables -F', 'mount /dev/sdb1 m'],
    doesNotMatch: ['man systemctl'],
  },
  {
    id: 'SHW-45',
    why: 'changes who may use files',
    programs: wordList('chown chgrp setfacl chattr'),
    matches: ['chown me a'],
    doesNotMatch: ['ls -l'],
  },
  {
    id: 'SHW-46',
    why: "starts a program outside this shell's control",
    programs: wordList('nohup setsid disown screen tmux systemd-run daemonize'),
    matches: ['nohup make', 'tmux new -d'],
    doesNotMatch: ['make'],
  },
  {
    id: 'SHW-47',
    why: 'decodes or encodes data',
    informs: true,
    programs: wordList('base64 base32 xxd uudecode'),
    matches: ['base64 -d a'],
    doesNotMatch: ['cat a'],
  },
  {
    id: 'SHW-48',
    why: 'changes what git obeys or executes: its configuration, its hooks',
    needsPerson: true,
    programs: ['git'],
    when: ({ args }) => changesGit(args),
    matches: [
      'git config core.hooksPath x',
      'git config --global user.name x',
      'git -c core.pager=less log',
      'git -ccore.pager=less log',
      'git --config-env=core.pager=P log',
      'git --exec-path=./x status',
      'git init --template=t',
      'git init --template t',
      'git clone -c core.pager=x u',
      'git config --unset user.name',
      'git config set user.name x',
      'git --git-dir=other/.git log',
    ],
    doesNotMatch: [
      'git config --get user.name',
      'git config user.name',
      'git config -l',
      'git config get user.name',
      'git log -c',
      'git init',
      'git commit -c HEAD',
      'git -C sub status',
    ],
  },
  {
    id: 'SHW-49',
    why: 'unpacks an archive into the workspace root, where its files can replace any other',
    needsPerson: true,
    programs: unpackers,
    when: unpacksIntoRoot,
    matches: [
      'tar xzf a.tgz',
      'tar -xf a.tar -C .',
      'tar --extract --file a.tar',
      'unzip a.zip',
      'unzip a.zip -d "$X"',
      'cpio -id < a',
      '7z x a.7z',
      'cd out && tar xf a.tar -C ..',
    ],
    doesNotMatch: [
      'tar czf a.tgz src',
      'tar tf a.tgz',
      'tar xf a.tgz -C out',
      'unzip -l a.zip',
      'unzip a.zip -d out',
    ],
  },
];

export const warningsFor = (call: ProgramCall): readonly ProgramWarning[] =>
  programWarnings.filter(({ programs, when }) => programs.includes(call.name) && (when?.(call) ?? true));

/** The warnings that do not make a plain line HIGH by themselves. */
export const informingWarnings: ReadonlySet<string> = new Set(
  [...Object.values<Warning>(warnings), ...programWarnings].flatMap(({ id, informs }) =>
    informs ? [id] : [],
  ),
);
