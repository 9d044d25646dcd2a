import { expandBraces } from './shell/brace-expansion.ts';
import { wordList } from './text.ts';
import { PlaceTable } from './workspace-path.ts';

/** Expands braces in lists of names: `{.,}lefthook.{yml,yaml}` becomes four names. */
const spellings = (...lists: readonly string[]): string[] =>
  lists.flatMap(wordList).flatMap((text) => expandBraces(text, 200) ?? []);

/**
 * VA-3: places whose content another program executes later. Writing there is HIGH. By its documentation, a tool runs
 * these files, or lets them decide what it runs, without being told to. Build files (Makefile, package.json) and installed
 * packages are not listed: the person runs those by name.
 */
export const executingPlaces = new PlaceTable([
  {
    id: 'LATER-1',
    kind: 'part of the git repository itself, which git executes or obeys later',
    names: ['.gitconfig', '.gitmodules', '.gitattributes'],
    directories: ['.git'],
    subpaths: ['.config/git'],
    matches: ['.git/hooks/post-commit', '.git/config', 'sub/.git/info/attributes', '.git', '.gitmodules'],
    doesNotMatch: ['.gitignore', 'git/hooks/x.md', '.github/README.md'],
  },
  {
    id: 'LATER-2',
    kind: 'configuration of an automatic build, which runs with its own rights',
    names: spellings(
      `azure-pipelines.{yml,yaml} .vsts-ci.{yml,yaml} bitbucket-pipelines.{yml,yaml} .travis.{yml,yaml}
        {.,}appveyor.{yml,yaml} jenkinsfile .drone.{yml,yaml,star,jsonnet} .cirrus.{yml,yaml,star}
        .woodpecker.{yml,yaml} {.,}buildkite.{yml,yaml,json}`,
      '.build.{yml,yaml}', // sourcehut
      `{.,}circle.yml wercker.yml codeship-{steps,services}.{yml,json} codefresh.yml bitrise.yml codemagic.yaml
        screwdriver.yaml shippable.yml {.,}zuul.{yml,yaml} .prow.yaml`,
      'buildspec.{yml,yaml}', // AWS CodeBuild
      'cloudbuild.{yml,yaml,json}', // Google Cloud Build
    ),
    directories: wordList(`.circleci .buildkite .woodpecker .semaphore .teamcity .tekton .builds .harness
      .codefresh .zuul.d .azure-pipelines .azuredevops`),
    subpaths: ['.gitlab/ci'],
    namePattern: /^\.gitlab-ci[\w.-]*\.ya?ml$|^azure-pipelines[\w.-]*\.ya?ml$|^jenkinsfile[.-][\w-]+$/,
    exceptions: /\.(md|rst|txt|html)$/,
    matches: wordList(`.gitlab-ci.yml .gitlab-ci.deploy.yml .circleci/config.yml .cirrus.yml .cirrus.star
      .woodpecker.yml .woodpecker.yaml .woodpecker/test.yaml .semaphore/semaphore.yml .teamcity/settings.kts
      .tekton/push.yaml .builds/arch.yml Jenkinsfile.release azure-pipelines-nightly.yml app/buildspec.yml`),
    doesNotMatch: wordList(`docs/ci.md pipelines.yml docs/semaphore.md src/semaphore/lock.ts woodpecker.md
      src/cirrus.ts Jenkinsfile.md src/builds/list.ts azure-pipelines.md`),
  },
  {
    id: 'LATER-3',
    kind: 'workflow or action of a code host, which runs with its own rights',
    subpaths: spellings('.{github,gitea,forgejo}/{workflows,actions}', '.github/hooks'),
    matches: ['.github/workflows', '.github/workflows/ci.yml', 'x/.github/actions/a/action.yml'],
    doesNotMatch: ['.github/ISSUE_TEMPLATE.md', 'github/workflows/ci.yml'],
  },
  {
    id: 'LATER-4',
    kind: 'editor or agent configuration, which can start programs when the folder is opened',
    names: spellings(
      `{.,}mcp.json {.,_,.g}vimrc {.,_}exrc .nvimrc .nvim.lua .lazy.lua .lvimrc .local.vimrc .emacs{,.el}
        .dir-locals{,-2}.el {tasks,launch}.vs.json .kateproject{,.local,.build} .devcontainer.json
        {.,}devfile.yaml .gitpod.{yml,yaml,dockerfile} .stackblitzrc .replit .aider.conf.yml
        opencode.{json,jsonc} {.,}crush.json .claude.json`,
    ),
    // `.bsp` lists build servers, which Metals and IntelliJ start.
    directories:
      wordList(`.vscode .vs .idea .run .zed .nova .fleet .helix .theia .externaltoolbuilders .vim .nvim
      .devcontainer .codesandbox .idx .cursor .claude .codex .gemini .qwen .opencode .continue .kiro
      .amazonq .roo .kilocode .cline .clinerules .windsurf .junie .openhands .bsp`),
    subpaths: spellings('.config/{nvim,emacs,helix,zed}'),
    namePattern: /\.(code-workspace|sublime-project)$/,
    matches: wordList(`.vscode/launch.json .idea/runConfigurations/a.xml .mcp.json a.code-workspace
      .dir-locals.el .devcontainer.json .helix/languages.toml opencode.json .continue/mcpServers/x.yaml
      .aider.conf.yml .vs/tasks.vs.json tasks.vs.json .nova/Tasks/build.json app.sublime-project .gitpod.yml
      .run/app.run.xml .bsp/sbt.json`),
    doesNotMatch: wordList(`vscode/settings.json src/opencode.ts docs/mcp.md devcontainer.json.md
      src/vs/editor.ts run/x.xml tasks.json`),
  },
  {
    id: 'LATER-5',
    kind: 'hook that runs on the next commit or install',
    names: spellings(
      `.pre-commit-{config,hooks}.{yml,yaml} prek.toml {.,}lefthook{,-local}.{yml,yaml,toml,json,jsonc}
        {.,}simple-git-hooks.{js,cjs,mjs,ts,json} .overcommit.yml .huskyrc{,.js,.cjs,.json,.yml,.yaml}
        husky.config.{js,cjs} .lintstagedrc{,.json,.yml,.yaml,.js,.cjs,.mjs,.ts}
        lint-staged.config.{js,cjs,mjs,ts} {.,}nano-staged.{js,cjs,mjs,json} captainhook.json
        grumphp.{yml,yaml}{,.dist} {.,}rusty-hook.toml {.,}hk.pkl`,
    ),
    directories: wordList('.husky .githooks .git-hooks .lefthook .lefthook-local .cargo-husky .trunk'),
    matches: wordList(`.husky/pre-commit .githooks/pre-push .git-hooks/pre_commit/x.rb .pre-commit-config.yaml
      lefthook.yml .config/lefthook-local.json .simple-git-hooks.json simple-git-hooks.mjs .overcommit.yml
      .lintstagedrc.json captainhook.json`),
    doesNotMatch: wordList(`husky.md src/hooks/use-x.ts docs/overcommit.md src/simple-git-hooks.test.ts
      lefthook.md githooks/x.ts`),
  },
  {
    id: 'LATER-6',
    kind: 'shell start-up file, which runs when a shell or directory is opened',
    names: spellings(
      `.envrc{,.local} .direnvrc .autoenv{,.zsh,.leave} .autoenv_leave.zsh devbox.json
        devenv{,.local}.{nix,yaml} .bash{rc,_profile,_login,_logout,_aliases,_completion} .profile
        .z{shrc,shenv,profile,login,logout} .{k,c,tc,mk}shrc .{yash,xonsh}rc .shrc .log{in,out} .inputrc
        config.fish {microsoft.powershell_,}profile.ps1 .x{initrc,profile,session,sessionrc} .pam_environment
        .screenrc .tmux.conf .tmuxinator.{yml,yaml} .tmuxp.{yml,yaml,json} .asdfrc`,
    ),
    directories: wordList(`autostart launchagents launchdaemons .bashrc.d .zshrc.d .oh-my-zsh .shadowenv.d
      .mise .mise-tasks mise-tasks`),
    subpaths: spellings(
      `.config/{fish,nushell,elvish,xonsh,powershell,direnv,mise,tmux,systemd,environment.d}
        mise/{config.toml,conf.d,tasks}`,
    ),
    namePattern: /^\.?(mise|rtx)(\.[\w-]+)*\.toml$/,
    matches: wordList(`.envrc home/.bashrc .zshenv .config/fish/functions/ls.fish .mise.toml mise.local.toml
      .rtx.toml .config/mise/config.toml mise/config.toml .mise/tasks/build .autoenv devbox.json .kshrc .tcshrc`),
    doesNotMatch: wordList(`bashrc.md src/profile.ts config/systemd/README.md src/mise.ts promise.toml
      .tool-versions mise/README.md`),
  },
  {
    id: 'LATER-7',
    kind: 'package manager or interpreter start-up configuration, which decides what runs',
    names: spellings(
      `.yarnrc{,.yml} .pnpmrc {.,}pnpmfile.{js,cjs,mjs} bunfig.toml pip.{conf,ini} uv.toml .condarc .pip
        .noderc {site,user}customize.py .pythonrc{,.py} .gemrc .pydistutils.cfg nuget.config`,
      // Build tools: options for Java or for every command, and the version of the tool to run.
      `{.,user.}bazelrc .bazeliskrc .bazelversion .buckconfig{,.local} .{sbt,jvm}opts .mill-{,jvm-}opts
        {.,}ansible.cfg {.,}latexmkrc .reviewboardrc .arcconfig`,
      // Files that interpreters, servers and debuggers load from their working folder.
      `.pdbrc{,.py} ipython_config.py .r{profile,environ} .irbrc .pryrc .{rdbg,byebug}rc{,.rb} .perldb
        .psysh.php .user.ini .htaccess .juliarc.jl .ghci .ocamlinit .octaverc .gnuplot .gdbinit .lldbinit
        .{sqlite,psql,duckdb}rc .mong{orc,oshrc}.js .{curl,wget}rc`,
    ),
    directories: ['.mvn', '.ipython', '.jupyter', '.buckconfig.d'],
    subpaths: spellings(
      `.cargo/config{,.toml} .yarn/{releases,plugins} .bundle/{config,plugin}
        .gradle/{init.d,init.gradle,init.gradle.kts,gradle.properties} gradle/wrapper .julia/config`,
    ),
    namePattern: /\.pth$|^jupyter_\w*config\.(py|json)$/,
    matches: wordList(`.yarnrc.yml sitecustomize.py lib/x.pth .cargo/config.toml .pdbrc sub/.Rprofile
      .mvn/extensions.xml .mvn/jvm.config app/.mvn/wrapper/maven-wrapper.properties
      gradle/wrapper/gradle-wrapper.properties .bundle/config .bazelrc .latexmkrc jupyter_server_config.py`),
    doesNotMatch: wordList(`yarn.lock pip.md site.py gdbinit.md src/mvn.ts mvn/README.md
      gradle/libs.versions.toml .gradle/caches/x.bin .bundle/cache/x`),
  },
  {
    id: 'LATER-8',
    kind: "Countersign's policy for this workspace",
    directories: ['.countersign'],
    matches: ['.countersign/policy.json', '.countersign/tools.json', '.countersign'],
    doesNotMatch: ['countersign/policy.json', 'docs/countersign.md'],
  },
  {
    id: 'LATER-9',
    kind: 'part of a Mercurial, Sapling or Jujutsu repository, which that program executes or obeys later',
    names: ['.hgrc', 'mercurial.ini', '.hgsub', '.jjconfig.toml'],
    directories: ['.hg', '.sl', '.jj', '.hg-autohooks', 'hg-autohooks'],
    subpaths: spellings('.config/{hg,jj,sapling}'),
    matches: wordList('.hg/hgrc .hg/hgrc-not-shared sub/.hg/hgrc .sl/config .jj/repo/config.toml .hgrc'),
    doesNotMatch: ['.hgignore', 'hg/hgrc.md', 'src/hg.ts', '.hgtags'],
  },
]);
