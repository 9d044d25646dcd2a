/** Lines that cannot do their work without network. */
export const ONLINE = [
  'curl x',
  'wget x',
  'ssh h',
  'git push',
  'git -C src push',
  'git --git-dir x fetch',
  'git fetch',
  'npm ci',
  'npm --prefix app install',
  'npm isntall',
  'pip install x',
  'echo > /dev/tcp/h/1',
  'sh -c "curl x"',
  'rsync a h:b',
  'apt update',
];

/** Lines that need no network. */
export const OFFLINE = [
  'ls',
  'npm test',
  'git status',
  'git -C push status',
  'echo curl',
  'rsync a b',
  '"$X" a',
  'git commit -m "git push"',
];
