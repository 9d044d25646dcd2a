import { PlaceTable } from './named-place.ts';

/** VA-3: places whose content another program executes later. Writing there is HIGH at least. */
export const executingPlaces = new PlaceTable([
  {
    id: 'LATER-1',
    kind: 'part of the git repository itself, which git executes or obeys later',
    names: ['.gitconfig', '.gitmodules', '.gitattributes'],
    directories: ['.git'],
    matches: ['.git/hooks/post-commit', '.git/config', 'sub/.git/info/attributes', '.git', '.gitmodules'],
    doesNotMatch: ['.gitignore', 'git/hooks/x.md', '.github/README.md'],
  },
  {
    id: 'LATER-2',
    kind: 'configuration of an automatic build, which runs with its own rights',
    names: ['.gitlab-ci.yml', '.travis.yml', 'azure-pipelines.yml', 'jenkinsfile', '.drone.yml'],
    directories: ['.circleci', '.buildkite', '.woodpecker'],
    namePattern: /^\.pre-commit-config\.ya?ml$|^\.?lefthook(-local)?\.(ya?ml|toml|json)$/,
    matches: ['.gitlab-ci.yml', '.circleci/config.yml', '.pre-commit-config.yaml', 'lefthook.yml'],
    doesNotMatch: ['docs/ci.md', 'pipelines.yml'],
  },
  {
    id: 'LATER-3',
    kind: 'GitHub workflow or action, which runs with its own rights',
    runs: ['.github/workflows', '.github/actions'],
    matches: ['.github/workflows', '.github/workflows/ci.yml', 'x/.github/actions/a/action.yml'],
    doesNotMatch: ['.github/ISSUE_TEMPLATE.md', 'github/workflows/ci.yml'],
  },
  {
    id: 'LATER-4',
    kind: 'editor or agent configuration, which can start programs when the folder is opened',
    names: ['.mcp.json', 'mcp.json', '.vimrc', '.exrc', '.nvimrc', '.nvim.lua', '.dir-locals.el', '.dir-locals-2.el'],
    directories: ['.vscode', '.idea', '.zed', '.cursor', '.claude', '.devcontainer', '.fleet'],
    namePattern: /\.code-workspace$/,
    matches: ['.vscode/launch.json', '.idea/runConfigurations/a.xml', '.mcp.json', 'a.code-workspace', '.dir-locals.el'],
    doesNotMatch: ['vscode/settings.json', 'docs/mcp.md'],
  },
  {
    id: 'LATER-5',
    kind: 'hook that runs on the next commit or install',
    directories: ['.husky', '.githooks'],
    matches: ['.husky/pre-commit', '.githooks/pre-push'],
    doesNotMatch: ['husky.md', 'src/hooks/use-x.ts'],
  },
  {
    id: 'LATER-6',
    kind: 'shell start-up file, which runs when a shell or directory is opened',
    names: [
      '.envrc', '.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.bash_aliases', '.profile', '.zshrc',
      '.zshenv', '.zprofile', '.zlogin', '.zlogout', '.kshrc', '.cshrc', '.tcshrc', '.login', '.inputrc',
      'config.fish', '.xinitrc', '.xprofile', '.xsession',
    ],
    directories: ['autostart'],
    runs: ['.config/fish', '.config/systemd'],
    matches: ['.envrc', 'home/.bashrc', '.zshenv', '.config/fish/functions/ls.fish'],
    doesNotMatch: ['bashrc.md', 'src/profile.ts', 'config/systemd/README.md'],
  },
  {
    id: 'LATER-7',
    kind: 'package manager or interpreter start-up configuration, which decides what runs',
    names: [
      '.yarnrc', '.yarnrc.yml', '.pnpmrc', '.pnpmfile.cjs', '.pnpmfile.mjs', 'bunfig.toml', 'pip.conf', 'pip.ini', '.condarc',
      '.pip', '.noderc', 'sitecustomize.py', 'usercustomize.py', '.pythonrc', '.gemrc', '.pydistutils.cfg',
    ],
    runs: ['.cargo/config', '.cargo/config.toml'],
    namePattern: /\.pth$/,
    matches: ['.yarnrc.yml', 'sitecustomize.py', 'lib/x.pth', '.cargo/config.toml'],
    doesNotMatch: ['yarn.lock', 'pip.md', 'site.py'],
  },
  {
    id: 'LATER-8',
    kind: "Countersign's policy for this workspace",
    directories: ['.countersign'],
    matches: ['.countersign/policy.json', '.countersign/tools.json', '.countersign'],
    doesNotMatch: ['countersign/policy.json', 'docs/countersign.md'],
  },
]);
