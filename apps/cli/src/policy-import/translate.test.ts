import { isRefused, readPolicyFile, ToolCallPolicy } from '@countersign/policy';
import type { PolicyRule } from '@countersign/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readClaude } from './claude.ts';
import { readCodexConfig, readCodexRules } from './codex.ts';
import type { ForeignRule } from './foreign-rule.ts';
import { readGeminiPolicy, readGeminiSettings } from './gemini.ts';
import { readOpencode } from './opencode.ts';
import { type Translation, translateRules } from './translate.ts';
import { readVscode } from './vscode.ts';

const claude = (permissions: object) => readClaude(JSON.stringify({ permissions }), 'settings.json');
const table = (translations: readonly Translation[]) =>
  translations.map(({ foreign, fit, reason, rules }) => [
    foreign.text,
    fit,
    reason ?? '',
    rules
      .map(({ effect, tool, path, command }) => [effect, tool, path ?? command ?? ''].join(' '))
      .join(' | '),
  ]);
const translated = (rules: ForeignRule[]) => table(translateRules(rules, 'claude', []));
/** One line for each rule. */
const lines = (rules: ForeignRule[]) =>
  `\n${translated(rules)
    .map((row) => row.join(' · '))
    .join('\n')}\n`;

describe('rules of Claude Code', () => {
  it('that allow become exact, narrower, or impossible', () => {
    const allow = [
      'Bash(npm test)',
      'Bash(npm run test:*)',
      'Bash(npm run test *)',
      'Bash(npm run test*)',
      'Bash(git * main)',
      'Bash(git commit -m "x")',
      'Bash(npm test && npm run build)',
      'Bash(NODE_ENV=test npm test:*)',
      'Bash(* --version)',
      'Bash(*)',
      'Bash',
      'Bash(git push origin main)',
      'Bash(sudo apt install x)',
      'Read(./.env)',
      'Read(src/**)',
      'Read(README.md)',
      'Read(~/.zshrc)',
      'Edit(docs/**)',
      'Edit(src/a.ts)',
      'Edit(.env)',
      'Edit(deploy.sh)',
      'Write(src/**)',
      'Write',
      'Edit',
      'WebFetch(domain:example.org)',
      'mcp__github__get_issue',
      'mcp__github',
      'Agent(Explore)',
    ];
    expect(lines(claude({ allow }))).toMatchInlineSnapshot(`
      "
      Bash(npm test) · exact ·  · allow * npm test
      Bash(npm run test:*) · narrower · high_asks · allow * npm run test *
      Bash(npm run test *) · narrower · high_asks · allow * npm run test *
      Bash(npm run test*) · narrower · high_asks · allow * npm run test* *
      Bash(git * main) · impossible · high_here · 
      Bash(git commit -m "x") · impossible · shell_syntax · 
      Bash(npm test && npm run build) · impossible · shell_syntax · 
      Bash(NODE_ENV=test npm test:*) · impossible · variable · 
      Bash(* --version) · impossible · any_program · 
      Bash(*) · impossible · everything · 
      Bash · impossible · everything · 
      Bash(git push origin main) · impossible · high_here · 
      Bash(sudo apt install x) · impossible · refused_here · 
      Read(./.env) · impossible · secret · 
      Read(src/**) · narrower · reads_not_secrets · 
      Read(README.md) · exact · reads_anyway · 
      Read(~/.zshrc) · impossible · outside · 
      Edit(docs/**) · narrower · high_asks · allow {write_file,edit_file} docs/**
      Edit(src/a.ts) · exact ·  · allow {write_file,edit_file} src/a.ts
      Edit(.env) · impossible · secret · 
      Edit(deploy.sh) · impossible · high_here · 
      Write(src/**) · impossible · not_consulted · 
      Write · narrower · high_asks · allow write_file **
      Edit · narrower · high_asks · allow edit_file **
      WebFetch(domain:example.org) · impossible · no_web · 
      mcp__github__get_issue · exact · same_server · allow github__get_issue 
      mcp__github · exact · same_server · allow github__* 
      Agent(Explore) · impossible · no_such_tool · 
      "
    `);
  });

  it('that deny or ask stay as strict', () => {
    const deny = [
      'Bash(rm:*)',
      'Bash(curl *)',
      'Read(./.env)',
      'Read(secrets)',
      'Edit(.github/**)',
      'Read(~/.ssh/**)',
      'Bash(git * --force)',
      'Bash',
      'WebFetch',
      'mcp__github__*',
    ];
    expect(lines(claude({ deny, ask: ['Bash(git push:*)', 'Edit(package.json)'] }))).toMatchInlineSnapshot(`
      "
      Bash(rm:*) · exact ·  · deny * rm *
      Bash(curl *) · exact ·  · deny * curl *
      Read(./.env) · exact ·  · deny * {./.env,./.env/**}
      Read(secrets) · exact ·  · deny * {**/secrets,**/secrets/**}
      Edit(.github/**) · exact ·  · deny {write_file,edit_file,create_directory,copy_file,move_file,delete_file,execute_command,shell_exec,shell_background} .github/**
      Read(~/.ssh/**) · impossible · outside · 
      Bash(git * --force) · narrower · few_words · deny * git * --force | deny * git * * --force | deny * git * * * --force | deny * git * * * * --force
      Bash · exact ·  · deny {execute_command,shell_exec,shell_background} 
      WebFetch · impossible · no_web · 
      mcp__github__* · exact · same_server · deny github__* 
      Bash(git push:*) · exact ·  · ask * git push *
      Edit(package.json) · exact ·  · ask {write_file,edit_file,create_directory,copy_file,move_file,delete_file,execute_command,shell_exec,shell_background} {**/package.json,**/package.json/**}
      "
    `);
  });

  it('that deny are as strict as they were', () => {
    const deny = [
      'Read(./notes.md)',
      'Read(secrets)',
      'Edit(docs/**)',
      'Bash(git * --force)',
      'Bash(rm -rf *)',
    ];
    const rules = translateRules(claude({ deny }), 'claude', []).flatMap((each) => each.rules);
    const reading = readPolicyFile(JSON.stringify({ version: 1, rules }), 'person');
    const policy = new ToolCallPolicy({ root: '/workspace', policies: reading.ok ? [reading.policy] : [] });
    const code = (tool: string, args: object) => {
      const { verdict } = policy.decide(tool, args);
      return isRefused(verdict) ? verdict.code : verdict.decision;
    };
    const denied = [
      code('read_file', { path: 'notes.md' }),
      code('shell_exec', { command: 'cat notes.md' }),
      code('read_file', { path: 'a/secrets/key.txt' }),
      code('write_file', { path: 'docs/a/b.md', content: '' }),
      code('move_file', { source: 'docs/a.md', dest: 'a.md' }),
      code('shell_exec', { command: 'echo x > docs/a.md' }),
      code('shell_exec', { command: 'git push origin main --force' }),
      code('shell_exec', { command: 'ls; X=1 rm -rf build' }),
    ];
    expect(denied).toEqual(denied.map(() => 'DENIED_BY_POLICY'));
    expect(code('read_file', { path: 'a/notes.md' })).toBe('LOW');
    expect(code('read_file', { path: 'docs/a.md' })).toBe('LOW');
  });

  it('tells modes and folders too, and names rules by their source', () => {
    const rules = readClaude(
      '{ // mine\n "permissions": { "allow": ["Bash(npm test)",], "defaultMode": "acceptEdits", "additionalDirectories": ["../x"] } }',
      'settings.json',
    );
    expect(translated(rules).map(([text, fit, reason]) => [text, fit, reason])).toEqual([
      ['Bash(npm test)', 'exact', ''],
      ['defaultMode: acceptEdits', 'impossible', 'mode'],
      ['additionalDirectories: ../x', 'impossible', 'outside'],
    ]);
    const [first] = translateRules(rules, 'claude', [
      { id: 'claude-allow-npm-test', effect: 'deny', tool: '*' },
    ]);
    expect(first?.rules).toEqual([
      {
        ...{ id: 'claude-allow-npm-test-2', effect: 'allow', tool: '*', command: 'npm test' },
        why: 'imported from claude: Bash(npm test)',
      },
    ]);
  });
});

it('rules of Codex: prefixes of words, with alternatives; modes and trusted folders are reported', () => {
  const text = `
# made by hand
prefix_rule(pattern = ["git", ["status", "log"]], decision = "allow", match = ["git status"], not_match = [["git", "push"]])
prefix_rule(
    pattern = ["gh", "pr", "view"],  # no decision: allow
)
prefix_rule(pattern=["git", "push"], decision="prompt", justification="ask \\"me\\"")
prefix_rule(pattern=["rm"], decision="forbidden")
prefix_rule(pattern=["node", "-e", "1 + 1"], decision="allow")
host_executable(name = "git", paths = ["/usr/bin/git"])
`;
  expect(lines(readCodexRules(text, 'default.rules'))).toMatchInlineSnapshot(`
    "
    prefix_rule git [status|log] · narrower · high_asks · allow * git {status,log} *
    prefix_rule gh pr view · narrower · high_asks · allow * gh pr view *
    prefix_rule git push · exact ·  · ask * git push *
    prefix_rule rm · exact ·  · deny * rm *
    prefix_rule node -e 1 + 1 · impossible · spaces · 
    host_executable(name = "git", paths = ["/usr/bin/git"]) · impossible · not_understood · 
    "
  `);
  const config = `
approval_policy = "never"
sandbox_mode = 'workspace-write'
[projects."/home/ada/shop"]
trust_level = "trusted"
[sandbox_workspace_write]
network_access = true
writable_roots = ["/opt/x"]
[mcp_servers.docs]
command = "npx"
args = ["-y", "x"]
env = { A = "b" }
`;
  expect(
    translated(readCodexConfig(config, 'config.toml')).map(([text, , reason]) => [text, reason]),
  ).toEqual([
    ['approval_policy = "never"', 'mode'],
    ['sandbox_mode = "workspace-write"', 'mode'],
    ['[projects."/home/ada/shop"] trust_level = "trusted"', 'trusted'],
    ['network_access = true', 'network'],
    ['writable_roots: /opt/x', 'outside'],
  ]);
});

it('rules of Gemini CLI: settings and policies', () => {
  const settings = {
    tools: {
      core: ['read_file'],
      allowed: ['run_shell_command(git status)', 'run_shell_command', 'write_file', 'docs__search'],
      exclude: ['run_shell_command(rm -rf)', 'web_fetch', 'replace'],
    },
    general: { defaultApprovalMode: 'auto_edit' },
  };
  expect(lines(readGeminiSettings(JSON.stringify(settings), 'settings.json'))).toMatchInlineSnapshot(`
    "
    run_shell_command(rm -rf) · exact ·  · deny * rm -rf* *
    web_fetch · impossible · no_web · 
    replace · exact ·  · deny {write_file,edit_file,create_directory,copy_file,move_file,delete_file,execute_command,shell_exec,shell_background} 
    run_shell_command(git status) · narrower · high_asks · allow * git status *
    run_shell_command · impossible · everything · 
    write_file · narrower · high_asks · allow write_file **
    docs__search · exact · same_server · allow docs__search 
    core: read_file · impossible · tool_list · 
    defaultApprovalMode: auto_edit · impossible · mode · 
    "
  `);
  const policy = `
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git status", "npm test"]
decision = "allow"
priority = 100

[[rule]]
toolName = ["write_file", "replace"]
decision = "ask_user"
priority = 10

[[rule]]
mcpName = "github"
toolName = "*"
decision = "deny"
priority = 200
deny_message = """
no
"""

[[rule]]
toolName = "run_shell_command"
commandRegex = "^git (log|show)"
decision = "allow"

[[rule]]
toolName = "write_file"
decision = "allow"
modes = ["yolo"]
`;
  expect(lines(readGeminiPolicy(policy, 'mine.toml'))).toMatchInlineSnapshot(`
    "
    run_shell_command commandPrefix "git status" · narrower · high_asks · allow * git status *
    run_shell_command commandPrefix "npm test" · narrower · high_asks · allow * npm test *
    write_file · exact ·  · ask {write_file,edit_file,create_directory,copy_file,move_file,delete_file,execute_command,shell_exec,shell_background} 
    replace · exact ·  · ask {write_file,edit_file,create_directory,copy_file,move_file,delete_file,execute_command,shell_exec,shell_background} 
    github * · exact · same_server · deny github__* 
    run_shell_command · impossible · regular_expression · 
    write_file · impossible · only_in_mode · 
    "
  `);
});

it('rules of opencode: the last that matches counts there, the strictest here', () => {
  const config = {
    permission: {
      bash: { '*': 'ask', 'git *': 'allow', 'npm run build': 'allow', 'rm *': 'deny' },
      edit: { '*': 'deny', 'packages/web/*.mdx': 'allow' },
      read: { '*.env': 'deny' },
      webfetch: 'deny',
      external_directory: 'ask',
    },
    tools: { bash: true, write: false },
    agent: { plan: { permission: { edit: 'deny' } } },
  };
  expect(lines(readOpencode(JSON.stringify(config), 'opencode.json'))).toMatchInlineSnapshot(`
    "
    bash: *: ask · exact · asks_anyway · 
    bash: git *: allow · narrower · high_asks · allow * git *
    bash: npm run build: allow · exact ·  · allow * npm run build
    bash: rm *: deny · exact ·  · deny * rm *
    edit: *: deny · impossible · denial_with_exceptions · 
    edit: packages/web/*.mdx: allow · narrower · high_asks · allow {write_file,edit_file} packages/web/**/*.mdx
    read: *.env: deny · exact ·  · deny * {**/*.env,**/*.env/**}
    webfetch: deny · impossible · no_web · 
    external_directory: ask · impossible · outside · 
    write: deny · exact ·  · deny {write_file,edit_file,create_directory,copy_file,move_file,delete_file,execute_command,shell_exec,shell_background} 
    agent.plan.permission · impossible · only_in_mode · 
    "
  `);
});

it.each([
  [{ bash: { 'git *': 'allow', '*': 'ask' } }, []],
  [{ bash: { 'git *': 'allow', '*': 'deny' } }, ['deny {execute_command,shell_exec,shell_background} ']],
  [
    { edit: { 'docs/**': 'allow', '*': 'deny', 'src/a.ts': 'allow' } },
    ['allow {write_file,edit_file} src/a.ts'],
  ],
  [{ bash: { '*': 'ask', 'git *': 'allow' } }, ['allow * git *']],
])('an opencode rule for everything overrides the rules before it: %j', (permission, expected) => {
  const found = translated(readOpencode(JSON.stringify({ permission }), 'opencode.json'));
  expect(found.map(([, , , rules]) => rules).filter((rules) => rules !== '')).toEqual(expected);
});

it('brackets and braces keep their meaning: opencode has only * and ?, Claude Code no braces', () => {
  const permission = { edit: { 'app/[id]/{a,b}.tsx': 'allow', 'app/[slug].ts': 'deny' } };
  expect(lines(readOpencode(JSON.stringify({ permission }), 'opencode.json'))).toMatchInlineSnapshot(`
    "
    edit: app/[id]/{a,b}.tsx: allow · narrower · high_asks · allow {write_file,edit_file} app/\\[id\\]/\\{a,b\\}.tsx
    edit: app/[slug].ts: deny · exact ·  · deny {write_file,edit_file,create_directory,copy_file,move_file,delete_file,execute_command,shell_exec,shell_background} {app/\\[slug\\].ts,app/\\[slug\\].ts/**}
    "
  `);
  expect(
    lines(claude({ allow: ['Edit(src/{a,b}.ts)'], deny: ['Edit(src/{a,b}.ts)'] })),
  ).toMatchInlineSnapshot(`
    "
    Edit(src/{a,b}.ts) · exact ·  · deny {write_file,edit_file,create_directory,copy_file,move_file,delete_file,execute_command,shell_exec,shell_background} src/{a,b}.ts
    Edit(src/{a,b}.ts) · narrower · high_asks · allow {write_file,edit_file} src/\\{a,b\\}.ts
    "
  `);
});

it('rules of VS Code: commands by their beginning, simple expressions, and globs of edits', () => {
  const settings = `{
  // comment
  "chat.tools.terminal.autoApprove": {
    "npm test": true,
    "rm": false,
    "mkdir": null,
    "/^git (status|show)\\\\b/": true,
    "/^npm run build$/": true,
    "/^git\\\\s+.*log/": true,
    "cargo": { "approve": true, "matchCommandLine": true },
  },
  "chat.tools.edits.autoApprove": { "**/*": true, "**/.vscode/*.json": false, "/etc/x": true },
  "chat.tools.global.autoApprove": true
}`;
  expect(lines(readVscode(settings, 'settings.json'))).toMatchInlineSnapshot(`
    "
    terminal: npm test: true · narrower · high_asks · allow * npm test *
    terminal: rm: false · exact ·  · ask * rm *
    terminal: /^git (status|show)\\b/: true · narrower · high_asks · allow * git status *
    terminal: /^git (status|show)\\b/: true · narrower · high_asks · allow * git show *
    terminal: /^npm run build$/: true · exact ·  · allow * npm run build
    terminal: /^git\\s+.*log/: true · impossible · regular_expression · 
    terminal: cargo: true · impossible · whole_line · 
    edits: **/*: true · narrower · high_asks · allow {write_file,edit_file} **/*
    edits: **/.vscode/*.json: false · exact ·  · ask {write_file,edit_file,create_directory,copy_file,move_file,delete_file,execute_command,shell_exec,shell_background} {**/.vscode/*.json,**/.vscode/*.json/**}
    edits: /etc/x: true · impossible · outside · 
    chat.tools.global.autoApprove: true · impossible · everything · 
    "
  `);
});

describe('a file that is not understood', () => {
  it.each([
    [readClaude, '{'],
    [readClaude, '[]'],
    [readClaude, '{"permissions": []}'],
    [readClaude, '{"permissions": {"allow": [1]}}'],
    [readClaude, '\u0000\u0001'],
    [readCodexRules, 'prefix_rule(pattern = ["git"'],
    [readCodexRules, 'prefix_rule(decision = "allow")'],
    [readCodexRules, 'prefix_rule(pattern = ["git"], decision = "maybe")'],
    [readCodexRules, 'for x in y: pass'],
    [readCodexConfig, 'a = '],
    [readCodexConfig, 'a = 1\na = 2'],
    [readCodexConfig, '[a'],
    [readGeminiPolicy, '[[rule]]\ndecision = "perhaps"'],
    [readGeminiPolicy, 'rule = 1'],
    [readGeminiSettings, '{"tools": {"allowed": "x"}}'],
    [readOpencode, '{"permission": {"bash": {"git *": "perhaps"}}}'],
    [readOpencode, '{"permission": 7}'],
    [readVscode, '{"chat.tools.terminal.autoApprove": {"x": 7}}'],
    [readVscode, '{"chat.tools.edits.autoApprove": {"x": "yes"}}'],
  ])('%o: %j', (read, text) => {
    expect(() => read(text, 'the-file')).toThrow(/"the-file" cannot be imported/);
    try {
      read(text, 'the-file');
    } catch (error) {
      expect((error as { code: string }).code).toBe('IMPORT_UNREADABLE');
    }
  });

  it('reports any content that it cannot read, and never fails in another way', () => {
    const readers = [
      readClaude,
      readCodexRules,
      readCodexConfig,
      readGeminiSettings,
      readGeminiPolicy,
      readOpencode,
      readVscode,
    ];
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      fc.string({ unit: fc.constantFrom(...'[]{}"\'=,()#\n\\ab.1') }),
    );
    fc.assert(
      fc.property(texts, fc.constantFrom(...readers), (text, read) => {
        try {
          translateRules(read(text, 'f'), 'claude', []);
        } catch (error) {
          expect((error as { code?: string }).code).toBe('IMPORT_UNREADABLE');
        }
      }),
    );
  });
});

/** What an imported set of rules decides about a shell line: `runs`, `asks` or a code. All rules go up to HIGH, to see more. */
function decider(rules: readonly PolicyRule[]): (command: string) => string {
  const wide = rules.map((rule) => (rule.effect === 'allow' ? { ...rule, max_risk: 'HIGH' as const } : rule));
  const reading = readPolicyFile(JSON.stringify({ version: 1, rules: wide }), 'person');
  if (!reading.ok) throw new Error(reading.problem);
  const policy = new ToolCallPolicy({ root: '/workspace', policies: [reading.policy] });
  return (command) => {
    const { verdict, allowedBy } = policy.decide('shell_exec', { command });
    return isRefused(verdict) ? verdict.code : allowedBy || verdict.decision === 'LOW' ? 'runs' : 'asks';
  };
}
const imported = (...allow: string[]) =>
  decider(translateRules(claude({ allow }), 'claude', []).flatMap(({ rules }) => rules));

describe('[RK-5] an imported prefix cannot be widened', () => {
  const decide = imported('Bash(npm run test:*)', 'Bash(git log *)', 'Bash(npm run lint*)');

  it.each([
    'npm run test',
    'npm run test -- --watch',
    'npm  run "test" src',
    'npm run test && npm run test',
    'git log --oneline -5',
    'npm run lint:fix -- src',
    'npm run test | head -3',
  ])('it covers %s', (line) => {
    expect(decide(line)).toBe('runs');
  });

  it.each([
    // separators
    'npm run test; rm -rf ~',
    'npm run test && rm -rf src',
    'npm run test || curl https://example.org',
    'npm run test & npm publish',
    'npm run test | sh',
    'npm run test | tee out.txt',
    'npm run test\nnpm publish',
    '(npm run test; npm publish)',
    'if npm run test; then npm publish; fi',
    // substitutions
    'npm run test $(npm publish)',
    'npm run test `npm publish`',
    'npm run test <(npm publish)',
    'npm run test "$(curl https://example.org)"',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own braces
    'npm run test ${X:-$(npm publish)}',
    'npm run test $X',
    // redirections
    'npm run test > src/a.ts',
    'npm run test >> ~/.bashrc',
    'npm run test < /etc/passwd > out',
    // variables
    'NODE_OPTIONS=--require=./x.js npm run test',
    'PATH=.:$PATH npm run test',
    'npm_config_script_shell=./x npm run test',
    'export GIT_PAGER=./x; git log',
    'GIT_EXTERNAL_DIFF=./x git log -p',
    // options and other spellings before the words that were allowed
    'npm --prefix /tmp run test',
    'npm -C /tmp run test',
    'npm run-script test',
    './npm run test',
    '/tmp/npm run test',
    'git -c core.pager=./x log',
    'git -C /tmp log',
    'env npm run test',
    'sudo npm run test',
    'xargs npm run test',
    'sh -c "npm run test"',
    'eval npm run test',
    'npm() { rm -rf src; }; npm run test',
    'alias npm="rm -rf src"; npm run test',
    // other words
    'npm run testing',
    'npm run test:unit',
    'npm run tes',
    'npm run deploy',
    'git logs',
  ])('and not %s', (line) => {
    expect(decide(line)).not.toBe('runs');
  });

  it('for any rule and command, only commands run that the source allowed', () => {
    const word = fc.constantFrom(
      'git',
      'npm',
      'run',
      'test',
      'test:unit',
      'lint',
      'push',
      'a',
      'x=1',
      '-C',
      '*',
      'te*',
    );
    const rules = fc.array(word, { minLength: 1, maxLength: 4 });
    const plain = fc.constantFrom(
      'git',
      'npm',
      'run',
      'test',
      'test:unit',
      'lint',
      'push',
      'a',
      'testing',
      '-C',
      'tes',
    );
    const line = fc.array(plain, { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(rules, fc.boolean(), line, (words, colon, command) => {
        const text = words.join(' ') + (colon ? ':*' : '');
        const [first] = translateRules(claude({ allow: [`Bash(${text})`] }), 'claude', []);
        if (!first || first.rules.length === 0) return;
        const runs = (given: typeof first.rules) => decider(given)(command.join(' ')) === 'runs';
        // Lines that only read run without any rule.
        if (runs(first.rules) && !runs([])) expect(command.join(' ')).toMatch(claudeMeans(text));
      }),
      { numRuns: 2_000 },
    );
  });
});

/** A pattern of Claude Code on the text of one command. */
function claudeMeans(text: string): RegExp {
  const plain = text.endsWith(':*') ? `${text.slice(0, -2)} *` : text;
  const escaped = plain.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  const open = escaped.endsWith(' *') ? `${escaped.slice(0, -2)}( .*)?` : escaped;
  return new RegExp(`^${open.replaceAll(/(?<!\.)\*(?!\))/g, '.*')}$`);
}
