/**
 * Sentences of runner, client and server about the machine, its settings and the connection, by name. A test checks that
 * each sentence occurs in our sources.
 */
export const englishMachine = {
  // Progress of a call
  'entries-looked-at-found': '{visited} entries looked at, {found} found',
  'files-found-so-far': '{found} files found so far',
  'mb-read': '{done} of {total} MB read',
  'mb-written': '{done} of {total} MB written',

  // Isolation, as `countersign doctor` shows it
  'isolation-needs-linux-this': 'isolation needs Linux, and this is {platform}',
  'run-runner-linux-virtual': 'Run the runner in a Linux virtual machine or container.',
  'prlimit-not-installed': 'prlimit is not installed',
  'commands-have-no-rights': "commands have no rights beyond the person's own",
  'commands-see-no-other': 'commands see no other process',
  'commands-have-no-network': 'commands have no network unless it was granted',
  'sensitive-files-are-hidden': 'sensitive files are hidden from commands that run unasked',
  'no-system-call-table': 'there is no table of system calls for {arch}: they are not filtered',
  'nothing-namespaces-hold-without': 'Nothing; namespaces hold without it.',
  'dangerous-system-calls-are': 'dangerous system calls are refused',
  'memory-processor-time-files': 'memory, processor time, files and processes of commands are limited',
  'conversation-shares': 'the commands of a conversation share a /tmp and a loopback, and no others',
  'nsenter-not-installed': 'nsenter is not installed',
  'nsenter-does-not-work': 'nsenter does not work here ({problem})',
  'place-cannot-be-made': 'a place of its own cannot be made ({problem})',
  'layers-land': 'what a command writes lands in the workspace when it has ended',
  'layers-need': 'layers need {program}, which is not installed',
  'overlay-not-mounted': 'an overlay cannot be mounted ({problem})',
  'layer-not-held': 'the file system of "{path}" cannot hold a layer',
  'path-not-for-overlay': 'the path "{path}" has a colon, a comma or a backslash in it',
  'mounted-in-workspace': 'another file system is mounted in the workspace, at "{path}"',
  'without-layers':
    'Without layers commands write in the workspace itself: what they did cannot be undone, and they cannot write where files execute later.',
  'without-isolation-commands-would':
    'Without isolation, commands that would run unasked ask first, and the others do not run unless the operator allows it.',
  'commands-with-network-reach':
    'Commands with network reach the hosts on their card through a proxy of the runner, never this machine itself. Programs that know no proxy, such as ssh, have no network.',
  'this-runner-root-kernel': 'This runner is root: the kernel does not limit how many processes root starts.',
  'install-package-system': 'Install the package {name} of your system.',
  'ubuntu-keeps-programs-from':
    'Ubuntu keeps programs from making user namespaces: give bwrap an AppArmor profile with "userns,", or run sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0',
  'allow-user-namespaces-sudo':
    'Allow user namespaces (sudo sysctl user.max_user_namespaces=10000, and kernel.unprivileged_userns_clone=1 where that exists); in a container, start it with a seccomp profile that allows them.',
  'no-layer-here': 'a command cannot run in a layer here, because {problem}',
  'files-of-others-in-layer':
    'A file of another user, or of a group that is not your main one, cannot be changed in a layer ("Value too large for defined data type").',
  'nothing-to-undo-here': 'nothing that was changed here can be undone',
  'bubblewrap-does-not-work': 'bubblewrap does not work here ({problem})',

  'folder-for-commands-refused': 'runner.json lets commands read "{path}", but {problem}',
  'folder-holds-home': 'it contains your home folder',
  'folder-holds-others': "it contains other people's folders",
  'folder-of-system': 'it belongs to the system',
  'folder-of-secrets': 'it contains or lies in {path}, which is sensitive',
  'folder-sensitive': 'it is sensitive: {kind}',
  'folder-badly-named': 'its name is not UTF-8, or has a colon in it',
  'folder-not-searched': 'it cannot be searched for secrets: {problem}',
  'too-many-to-hide':
    'the folders that runner.json lets commands read have {count} files to hide, more than {limit}',

  // The workspace and the person's own files
  'workspace-holds-ours': 'it contains what Countersign itself keeps ({path}); open a folder below it',
  'may-not-read': 'you may not read it',
  'may-not-read-open': 'you may not read it. Open a folder of your own, or have its permissions changed',
  'workspace-has-runner': 'this workspace has a runner already: {holder}. Use that one, or stop it first',
  'process-since': '{opener}, process {pid}, since {time}',
  'terminal-on': 'terminal on {machine}',
  'ceiling-not-valid': '{path} is not valid; it looks like {"version": 1, "decide_here": ["HIGH"]}',
  'not-regular-file': 'it is not a regular file',
  'path-not-regular-file': '{path} is not a regular file',
  'path-more-than-bytes': '{path} has more than {limit} bytes',
  'path-not-yours': '{path} does not belong to you',
  'path-open-to-others': '{path} can be written by others; run chmod go-w on it',
  'path-in-open-folder': '{path} stands in a folder that others can write; run chmod go-w on that',
  'not-json': 'it is not JSON: {problem}',

  // Tool servers
  'have-not-allowed-yet': 'you have not allowed it yet',
  'changed-since-allowed': 'it has changed since you allowed it',
  'server-not-what-shown': 'The server "{name}" is not what was shown: it has changed',
  'own-configuration-name': 'your own configuration has that name',
  'name-must-be-letters': 'its name must be letters, digits and hyphens, at most 32',
  'needs-either-command-or': 'it needs either a command or a url',
  'cwd-must-be-folder': 'cwd must be a folder of the workspace',
  'url-no-http-address': 'its url is no http address',
  'url-password-use-header': 'its url has a password in it; use a header',
  'headers-would-travel-unencrypted': 'its headers would travel unencrypted; use https',
  'failed-times-left-alone': '{problem} (it failed {times} times and is left alone)',
  'connection-ended': 'the connection to it ended',
  'list-tools-too-long': 'its list of tools is too long',
  'not-running': 'it is not running',
  'does-not-read-what': 'it does not read what it is told',
  'what-writes-not-model': 'what it writes is not the Model Context Protocol',
  'floods-us-with-messages': 'it floods us with messages',
  'did-not-answer-time': 'it did not answer {question} in time',
  'answer-not-what-protocol': 'its answer to {question} is not what the protocol says',
  'first-question': 'the first question',

  // Typed calls
  'name-tool': 'Name a tool',
  'not-name-value': '"{word}" is not NAME=VALUE',
  'given-twice': '"{name}" is given twice',
  'not-closed': 'A {quote} is not closed',
  'line-too-long': 'the line is too long',
  'not-an-object': 'it is not an object',
  'id-no-text-or': 'its id is no text or number',
  'names-no-tool': 'it names no tool',

  // Wider approvals
  'saved-policy-counts-every':
    'It is saved in your policy and counts in every session, in all of your projects.',
  'agent-not-asked-again': 'The agent is not asked again in this session, except for HIGH calls.',

  // "Not found" by kind, as whole sentences: a placeholder for the kind could not be told from a file named "run"
  'there-no-approval-here': 'There is no approval here with that id.',
  'there-no-grant-here': 'There is no grant here with that id.',
  'there-no-project-here': 'There is no project here with that id.',
  'there-no-run-here': 'There is no run here with that id.',
  'there-no-runner-here': 'There is no runner here with that id.',
  'there-no-session-here': 'There is no session here with that id.',
  'there-no-token-here': 'There is no token here with that id.',
  'there-no-tool-call': 'There is no tool call here with that id.',
  'there-no-tool-server': 'There is no tool server here with that id.',

  // The log of decisions
  'row-cannot-be-read': 'The row cannot be read.',
  'row-put': 'The row was put in.',
  'row-missing': 'The row is missing.',
  'row-does-not-follow': 'The row does not follow the one before it.',
  'row-changed': 'The row was changed.',
  'log-cut-off': 'The end was cut off: there were {rows} rows.',
  'end-not-one-store': 'The end is not the one that the store wrote.',
  'chain-does-not-contain': 'The chain does not contain the head that the witness kept.',

  // Starting a server
  'unknown-option': "Unknown option '{option}'",
  'option-value-argument-missing': "Option '{option} <value>' argument missing",
  'option-does-not-take': "Option '{option}' does not take an argument",
  'configuration-not-valid': 'The configuration is not valid: {problems}',
  'database-use-by-another':
    'The database "{path}" is in use by another Countersign server. Stop that one first, or give this one a file of its own. To sign in to that one: countersign serve --link',
  'address-in-use': 'listen EADDRINUSE: address already in use {address}',

  // The connection
  'sign-code-unknown-used': 'the sign-in code is unknown, used or older than 60 s',
  'made-for-another-purpose': 'it was made for another purpose',
  'algorithm-not-accepted-here': 'its algorithm is not accepted here',
  'subject-not-usable': 'its subject is not usable',
  'names-key': 'it names a key',
  'authorization-header-none': 'the Authorization header has none',
  'server-did-not-answer': 'The server did not answer: {problem}. Try again in a moment.',
  'server-answered-with-status': 'The server answered with status {status}.',
  'server-ended': 'The server ended ({how}).',
  'server-makes-no-sign': 'The server makes no sign-in links.',
  'server-closed-stream-opened': 'The server closed the stream. It is opened again.',
  'this-undo-made-without': 'this undo is made without a server',
  'does-not-fit-digest':
    'it does not fit its digest, so it is not shown and cannot be approved. Reject the call, and look at the machine that executes it',

  // git with the person's login
  'remote-redirects':
    '"{remote}" redirects to another address, and only the address of the card is used; the person must correct it with git remote set-url ({said})',
  'remote-refused-login':
    '"{remote}" did not accept the login that the person\'s git has for it; the person must try it once: {command} ({said})',
  'remote-refused-without-login':
    '"{remote}" did not accept the login: {how}; the person must correct the address ({said})',
  'http-not-encrypted': "its http:// address is not encrypted, so the person's login is not sent there",
  'login-in-address': 'the login in its address is the one that is used',
  'git-settings-in-workspace':
    'your git configuration is inside the workspace ({file}), where a tool could change it, so your login is not used; the person must do this',
  'commits-not-shown':
    'the remote lacks {hidden} commits that the card did not show, because they count as published here; run git fetch --prune {remote} and push again',
  'push-not-taken': 'the remote did not take it: {problem}. It is never pushed by force',
  'push-fetch-first':
    '[rejected] (fetch first): the branch there has commits that are not here, so run git fetch {remote}',
  'hook-refused': 'the hook {hook} refused it: {said}',
  'url-hides-where': 'its URL contains characters that hide where it leads',
  'url-login-hides-where': 'the login in its URL hides where it leads',
  'url-host-unusable': 'the host of its URL is not usable',
};
