import rules from './rules.json' with { type: 'json' };

/**
 * Why a call has its risk or was refused, by the id of the rule or of the place. Problems that errors quote have ids of
 * their own. A test checks that each sentence occurs in packages/policy or packages/tool-runner.
 */
export const englishReasons = {
  /** tooling/rule-sentences.ts writes rules.json from the tables of packages/policy. */
  ...rules,

  // Reading
  'READ-1': 'only reads a file of the workspace',
  'reads-by-language-server': 'only asks a language server about a file of the workspace',
  'READ-2': 'only lists a directory of the workspace',
  searches: 'only searches in the workspace',
  'GIT-1': 'only reads from the git repository',
  'GIT-3': 'only lists branches',
  'SHELL-1': "concerns a background job of the session's own",
  'READ-4': 'the pattern picks sensitive files',
  'bad-expression': 'the regular expression cannot be used: {problem}',
  'READ-3': 'the pattern cannot be used: {problem}',

  // Files
  'DELETE-1': 'deletes a file',
  'DIR-1': 'creates a directory in the workspace',
  'PATH-5': 'has several names (hard links), so it may also be a file outside the workspace',
  'PATH-6': 'is a sensitive file ({kind}) that your own policy makes available',
  'sensitive-file': '"{path}" is a sensitive file: {kind}',
  'path-problem': '"{path}": {problem}',
  'leads-outside-workspace': 'leads outside the workspace',
  'PATH-4': '"{path}" is a device, pipe or socket',
  'path-executable': '"{path}" is an executable binary by its extension',
  'SH-16': '"{path}" holds secrets of this machine',
  'PATH-7': 'there is nothing there',
  'not-directory': 'is not a directory',
  'SIZE-1': 'the file is larger than {limit} bytes',
  'SIZE-2': 'the content is larger than {limit} bytes',
  'SIZE-3': 'it asks for more than {limit} seconds',

  // Places that execute later
  'changes-place': 'changes a {place}',

  // Sensitive files
  'pattern-picks-such-files': 'a pattern that picks such files',
  'device-pipe-or-socket': 'device, pipe or socket',

  // Git tools
  'GIT-2': 'makes a commit',
  'GIT-4': 'creates a branch',
  'GIT-5': 'publishes commits to another machine, which cannot be undone from here',

  // Commands
  'NET-1': 'asks for network access',
  'NET-2': 'asks for network access to any host',
  'NET-3': 'a running command wants to reach a host that its card did not name',
  'SENS-8': 'could read secrets',
  'CMD-PROGRAM': '"{program}" is not one of the programs that may run without a shell',
  'no-program-can-receive': 'no program can receive it',
  'CMD-ARGS-2': 'has {argument}: {problem}',
  'CMD-ARGS-3': 'is longer than any command needs to be',

  // The person's own tools
  'CUSTOM-1':
    'a tool of your server "{server}": its own program decides what it touches, so neither paths nor commands in the parameters are checked',
  'CUSTOM-2': 'it says of itself that it may destroy something',
  'CUSTOM-4': 'it says of itself that it needs your approval',
  'CUSTOM-3': 'it says of itself that it only reads; nobody has checked that',
  'tool-need-not-ask': 'your tool configuration says that it need not ask',

  // Shell lines
  'writes-place': 'writes to a {place}',
  SHELL: 'runs a shell line, which can do anything your account can do',
  'does-not-parse': 'does not parse: {problem}',
  'cannot-be-checked': 'cannot be checked: {problem}',
  'command-not-usable': 'the command is not usable: {problem}',
  'command-too-long': 'the command is too long to be checked',

  // Catastrophes
  'fork-bomb-operand':
    'it starts copies of itself without end until the machine stops answering (a fork bomb) ({operand})',
  'problem-operand': '{problem} ({operand})',

  // Policies, the runner's own verdict
  'own-policy-allows': 'your own policy allows this without asking',
  'own-policy-asks': 'your own policy wants this to be asked',
  'workspace-policy-asks': "the workspace's policy wants this to be asked",
  'chose-always': 'you chose "always" on an approval card',
  'may-show-what-rule': 'may show what rule "{rule}" denies: {path}',
  'denied-by-policy': 'denied by the {owner} policy: {why}',
  'rule-denies-this': 'rule {rule} denies this',
  'owner-person': "person's own",
  'owner-workspace': "workspace's",
  'owner-machine': "machine's",
  'SERVER-1': 'the server takes it for {risk}',
  'ISO-2':
    'very many files of the workspace have several names (hard links), so it may show files outside the workspace',
  'ISO-1': 'this machine cannot isolate programs, so each one is asked about',
  'more-reasons-to-fetch': 'and {rest} more reasons; fetch the approval to see them',
  MORE: 'and {rest} more reasons',
  'more-than-bytes': 'it has more than {limit} bytes',
  'name-too-long': 'a name in it is longer than {limit} bytes',
  'preview-not-taken': 'the server did not take the preview: {problem}',

  // Problems that errors quote
  'path-empty': 'it is empty',
  'path-nul': 'it contains a NUL character',
  'path-not-unicode': 'it is not valid Unicode',
  'path-backslash': 'it contains a backslash; components are separated by /',
  'path-drive-letter': 'it starts with a drive letter',
  'path-data-stream': 'it names an alternate data stream',
  'leads-outside-folder': 'it leads outside the folder',
  'path-link-loop': 'its links never end',
  'GIT-6': 'git would read it as a pattern or an option; name plain files',
  'approval-too-old': 'the approval is older than 10 minutes',
  'not-as-shown': 'the files or the command are not those that were shown',
  'rule-changed': 'the rule was changed or taken out of your policy',
  'policy-changed': 'your policy has changed since, and wants this to be asked',
  'grant-revoked': 'the grant was revoked',
  'scope-not-offered': 'it is not one of the offered scopes',
  'no-copy-kept': 'no copy is kept of what was there before',
  'undone-already': 'it was undone already',
  'changed-no-file': 'it changed no file',
  'only-file-tools-undoable': 'only what file tools and commands in a layer changed can be undone',
  'token-expired': 'it has expired',
  'token-revoked': 'it was revoked',
  'token-not-ours': 'it is not one of ours',
  'runner-stopping': 'it is stopping',
  'free-space-on-disk': 'Free space on the disk of the database file',
  'free-space-or-what': 'Free space, or what else it lacks, on the machine of the PostgreSQL server',
  'signature-rewritten': 'its signature is not written as it was made',
  'shutting-down': 'it is shutting down',
  'bubblewrap-not-installed': 'bubblewrap is not installed',
  'prlimit-missing': 'prlimit (of util-linux) is not installed',
  'use-tool-instead': 'Use the tool {tool} instead.',
  'name-program-without-path': 'Name the program without a path: {program}.',
  'program-and-args':
    'Give the program alone as command and each argument as an entry of args; for a shell line use shell_exec.',
  'allowed-programs':
    'Allowed are {programs}; if it must be another program, use shell_exec, which asks the person.',
  'exit-code': 'exit code {code}',
};
