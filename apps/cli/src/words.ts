/**
 * What the terminal says, in English and Russian. Both languages have the same shape, so a sentence that is missing in
 * one of them does not compile. What comes from server and runner (reasons, titles, errors) is said with the words of
 * the web page where it has some, and shown as it came otherwise.
 */
import { scopeLabel, titleOf } from '@countersign/approvals';
import type { OfferedScope } from '@countersign/protocol';
import { languageOf, requestWords } from '@countersign/ui/request-words';
import { englishHelp } from './help/english-help.ts';
import { russianHelp } from './help/russian-help.ts';
import { englishPolicy, russianPolicy } from './policy-words.ts';

type Titled = Parameters<typeof titleOf>[0];

const english = {
  help: englishHelp,
  policy: englishPolicy,
  /** What server and runner say. */
  said: (text: string): string => text,
  /** One sentence about a request. */
  title: ({ description }: Titled): string => description,
  /** What a wider approval covers. */
  scope: ({ label }: OfferedScope): string => label,
  error: 'error',
  risk: { LOW: 'LOW', MEDIUM: 'MEDIUM', HIGH: 'HIGH' },
  card: {
    left: (time: string) => `${time} left`,
    timeIsOver: 'time is over',
    revision: (n: number) => `revision ${n}`,
    why: 'Why',
    said: 'Said',
    elsewhere: 'In another conversation:',
    step: (n: number) => `step ${n}`,
    parameters: 'Parameters',
    previewComing: 'The preview is being made where the files are …',
    noPreview:
      'There is no preview yet. A runner makes it where the files are; to start one: countersign connect',
    unavailable: (reason: string) => `There is no preview: ${reason}`,
    network: 'It gets network.',
    noNetwork: 'It gets no network.',
    irreversible: 'It cannot be undone.',
    runs: 'Runs',
    inFolder: 'In',
    executes: 'Executes',
    unknownWord: '⟨known only when it runs⟩',
    hooks: 'Hooks',
    message: 'Message',
    pushes: (branch: string, remote: string) => `${branch} to ${remote}`,
    commits: (n: number) => `${n} ${n === 1 ? 'commit' : 'commits'}`,
    operation: { created: 'new file', modified: 'changed', deleted: 'deleted', moved: 'moved' } as Record<
      string,
      string
    >,
    bytes: (before: number | null, after: number | null) =>
      before === null ? `${after ?? 0} bytes` : `${before} → ${after ?? 0} bytes`,
    unsaved: 'based on an unsaved buffer',
    sameContent: '(the content stays the same)',
    cut: '(the diff was cut for its size)',
    deletes: (path: string, size: number) => `Deletes ${path} (${size} bytes). It begins with:`,
    emptyFile: '(the file is empty)',
    makesFolder: (path: string) => `Makes the folder ${path}`,
    customTool: (server: string) => `A tool of ${server}`,
    itsProgram: "This tool's own program decides what it touches.",
    saysReadOnly: 'It says that it only reads.',
    saysDestructive: 'It says that it may destroy something.',
    window: (from: number, to: number, of: number) => `lines ${from}–${to} of ${of}`,
    scrollKeys: '↑ ↓ scroll · v print all',
    more: (n: number) => `${n} more ${n === 1 ? 'waits' : 'wait'} · l list`,
  },
  keys: {
    look: [
      ['y', 'approve'],
      ['n', 'reject'],
      ['a', 'wider'],
      ['e', 'edit'],
      ['?', 'help'],
    ] as [string, string][],
    help: [
      'y  approve this one; a HIGH one asks a second time',
      'n  reject; you may tell the agent what to do instead',
      'a  approve more than this one: a class of calls, or the session',
      'e  change the parameters, then approve',
      'l  list what waits, and choose another',
      '↑ ↓ space  scroll the preview · v  print all of it above',
      'A key counts once the card has been here for half a second. Nothing is decided by time or by leaving.',
    ],
    confirmHigh: 'HIGH risk. Look again, then press y to approve. Any other key goes back.',
    confirmUnseen: 'There is no preview yet. Press y to approve it unseen. Any other key goes back.',
    rejectPrompt: 'Reject. For the agent:',
    rejectHint: 'Enter rejects, with or without words · Esc goes back',
    scopesTitle: 'Approve this one, and from now on also:',
    noScopes: 'This call can only be approved one at a time.',
    unfit: 'The preview does not fit its digest: this call can only be rejected.',
    scopesHint: 'Press a number · Esc goes back',
    scopeConfirm: 'Press y to approve and grant this · Esc goes back',
    includeHigh: (on: boolean) => `[${on ? 'x' : ' '}] h  HIGH calls too`,
    highWarning: 'HIGH calls will run without a second look.',
    backtesting: 'Looking at your history …',
    backtest: (t: { considered: number; matched: number; approved: number; rejected: number }) =>
      t.matched === 0
        ? `None of your last ${t.considered} calls would have been covered.`
        : `It would have covered ${t.matched} of your last ${t.considered} calls: you approved ${t.approved} of them and rejected ${t.rejected}.`,
    backtestFailed: (why: string) => `Your history could not be looked at: ${why}`,
    editedTitle: 'Your change:',
    editedConfirm: 'Press y to approve it with these parameters · e edit again · Esc forgets the change',
    editUnchanged: 'Nothing was changed.',
    editBroken: (problem: string) => `That is not a JSON object: ${problem}. Press e to go on editing.`,
    editFailed: (problem: string) => `The editor did not work: ${problem}`,
    editLine: 'Parameters as JSON:',
    editLineHint: 'Enter takes them · Esc goes back · set EDITOR to edit in your editor',
    listTitle: 'Waiting for you',
    listHint: '↑ ↓ choose · Enter shows it · Esc goes back',
    sending: 'Sending …',
    waitForPreview: 'It can be approved once its preview is here. It is being made.',
  },
  outcome: {
    approvedHere: 'approved here',
    approvedOn: (device: string) => `approved on ${device}`,
    approvedByGrant: 'approved by what you granted',
    rejectedHere: 'rejected here',
    rejectedOn: (device: string) => `rejected on ${device}`,
    timeout: 'expired: nobody decided in time',
    cancelled: 'withdrawn: the call was cancelled',
    failed: (why: string) => `failed before anybody decided: ${why}`,
    granted: (id: string) => `granted (${id})`,
    saved: (rule: string) => `saved in your policy as ${rule}`,
    revised: 'It was changed; look at it anew.',
  },
  activity: {
    completed: 'done',
    failed: 'failed',
    rejected: 'rejected',
    timeout: 'expired',
    cancelled: 'cancelled',
    late: 'came late',
    undone: 'undone',
    undoFailed: 'could not be undone',
    exit: (code: number) => `exit ${code}`,
    took: (ms: number) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`),
    runner: (state: string, workspace: string) =>
      state === 'connected' ? `A runner is connected for ${workspace}` : `The runner of ${workspace} is gone`,
  },
  stream: {
    connecting: (server: string) => `Connecting to ${server} …`,
    open: (server: string) => `Connected to ${server}`,
    waiting: (why: string, seconds: number) =>
      seconds === 0
        ? `The connection was lost (${why}). Connecting again …`
        : `The connection was lost (${why}). Trying again in ${seconds} s.`,
    unauthenticated: (server: string) =>
      `${server} does not take the token any more. Sign in again: countersign sign-in`,
    refused: (why: string) => `The server refused the connection: ${why}`,
  },
  server: {
    badAddress: (url: string) =>
      `"${url}" is not an address of a server. It looks like http://127.0.0.1:4180`,
    noSecrets: 'A user name, a password or a query does not belong into a server address',
    plainHttp: (url: string) =>
      `${url} would carry your token unencrypted. Use https, or set COUNTERSIGN_ALLOW_HTTP=1 if the network is yours alone`,
    notSignedIn: (server: string) =>
      `You are not signed in to ${server}. Run countersign sign-in and paste the link that the server prints, or set COUNTERSIGN_TOKEN`,
    brokenCredentials: (path: string) => `"${path}" cannot be read. Remove it and sign in again`,
    pasteLink: 'Paste the sign-in link that "countersign serve" printed, or your token: ',
    tokenAsWord:
      'A token does not belong on a command line, where others can read it. Paste it when you are asked, or: countersign sign-in < FILE',
    noLink:
      'There is no sign-in link. "countersign serve" prints one that is good once, for 60 s; while it runs, "countersign serve --link" makes another',
    badLink: 'That is not a sign-in link. It looks like http://127.0.0.1:4180/#sign-in=…',
    signedIn: (server: string, until: string | undefined) =>
      until === undefined ? `Signed in to ${server}.` : `Signed in to ${server} until ${until}.`,
    signedOut: (server: string) => `Signed out of ${server}.`,
    wasNotSignedIn: (server: string) => `You were not signed in to ${server}.`,
    noProject: (workspace: string) =>
      `No project on this server is about ${workspace}. Run countersign connect there first, or name one with --project`,
    needsProject: 'This token cannot list projects. Name one with --project ID',
    cannotCreate: (workspace: string) =>
      `There is no project for ${workspace} yet, and this token may not make one. Sign in as yourself, or name one with --project`,
  },
  approvals: {
    none: 'Nothing waits for you.',
    waiting: (n: number) => `${n} ${n === 1 ? 'call waits' : 'calls wait'} for you`,
    ambiguous: (id: string) => `"${id}" begins several ids. Type more of it`,
    which: 'Which approval? Name its ID, or the first letters of it; "countersign approvals" shows them',
    unknown: (id: string) => `No approval that waits begins with "${id}"`,
    needsDigest:
      'Without a terminal an approval names what was looked at: --digest, from "approvals show ID --json"',
    needsHigh: 'This call is HIGH: say so with --high, the deliberate second step',
    recorded: { approved: 'Approved.', rejected: 'Rejected.' },
    already: 'That decision stands already.',
    overruled: (status: string) => `Too late: it was ${status} before.`,
    watching: 'Waiting for approvals · Ctrl-C leaves',
    noTerminal: 'Cards need a terminal. For programs: countersign approvals list --json',
    hint: 'countersign approvals show ID · approve ID · reject ID · watch',
  },
  history: {
    none: 'No calls are recorded that fit.',
    more: (cursor: string) => `There is more: --cursor ${cursor}`,
    badSince: (text: string) => `"${text}" is no time. Use 2026-11-15, 2026-11-15T08:00:00Z, 30m, 12h or 7d`,
    undoable: 'can be undone',
    undone: 'undone',
  },
  undo: {
    which: 'Which call? Name a tool id from "countersign history", or a run with --run ID',
    nothing: 'Nothing in that run can be undone.',
    asked: (what: string) => `Asking the runner to undo ${what} …`,
    done: (what: string) => `Undone: ${what}`,
    failed: (what: string, why: string) => `Not undone: ${what}. ${why}`,
    forceHint: 'With --force the file is restored also where it was changed since.',
    takeBack: (undoId: string) =>
      `What was there before is kept. To take this back: countersign undo --offline ${undoId}`,
    noAnswer: (seconds: number) =>
      `The runner did not answer within ${seconds} s. Look at countersign history.`,
    offline: (why: string) =>
      `The server cannot be asked (${why}), so the undo is made from this machine's journal.`,
  },
  chat: {
    thinking: 'thinking …',
    working: 'working …',
    waitingForApproval: 'waits for a decision …',
    stopHint: 'Ctrl-C stops',
    stopping: 'Stopping … Ctrl-C again leaves at once',
    stopped: 'Stopped.',
    failed: (why: string) => `It failed: ${why}`,
    prompt: 'you',
    inputHint: 'Enter sends · Ctrl-D leaves',
    othersHint: (n: number) =>
      `${n} ${n === 1 ? 'call of another conversation waits' : 'calls of other conversations wait'} for you · Tab decides`,
    pendingHint: (n: number) => `${n} ${n === 1 ? 'call waits' : 'calls wait'} for you · Tab decides`,
    decideElsewhere: (description: string, id: string) =>
      `waits for a decision: ${description}\n  countersign approvals show ${id}`,
    onlyProject: (workspace: string) => `About ${workspace}, your only project here.`,
    noRunner: (workspace: string) =>
      `No runner is connected for ${workspace}; tools wait for one. Run in another terminal: countersign connect ${workspace}`,
    emptyMessage: 'There is nothing to send',
  },
  connect: {
    ready: (workspace: string) => `Runner for ${workspace}`,
    prompting: 'Approvals are asked here: y n a e ?',
    notPrompting: 'Approvals are decided elsewhere.',
    noTerminal: 'This is no terminal: approvals are decided elsewhere.',
    idle: (calls: number) => `${calls} ${calls === 1 ? 'call' : 'calls'} so far · Ctrl-C ends`,
    held: (who: string) => `${who} is the runner of this workspace. This terminal joins as a front end.`,
    handedOver: (who: string) =>
      `${who} is the runner of this workspace now. This terminal comes back after it.`,
    heldNoPrompt: (who: string) => `${who} is the runner of this workspace already`,
    ending: 'Ending: what runs is stopped. Ctrl-C again leaves at once.',
    ended: 'Ended.',
    madeProject: (name: string) => `Made the project ${name}.`,
  },
  doctor: {
    node: 'Node.js',
    server: 'Server',
    serverDown: (url: string, why: string) => `${url} does not answer (${why}). Start it: countersign serve`,
    token: 'Sign-in',
    tokenFrom: (where: string) => `signed in (${where})`,
    tokenRefused: 'the token is refused. Sign in again: countersign sign-in',
    tokenFileOpen: (path: string) => `${path} can be read by others. Run: chmod 600 ${path}`,
    runner: 'Runner',
    runnerHere: (workspace: string) => `connected for ${workspace}`,
    runnerNone: (workspace: string) => `none for ${workspace}. Run: countersign connect ${workspace}`,
    isolation: 'Isolation',
    level: { full: 'full', partial: 'partial', none: 'none' },
    parts: {
      bubblewrap: 'bubblewrap',
      'user namespace': 'user namespace',
      processes: 'processes',
      network: 'network',
      masks: 'masks',
      limits: 'limits',
      'system calls': 'system calls',
    },
    limits: 'Limits',
    limitsSaid: 'in force here, and where each comes from (docs/security.md)',
    limitFrom: { builtIn: 'built in', runner: "the runner's own settings", server: 'the server' },
    ceiling: 'Ceiling',
    ceilingNone: (path: string) =>
      `none: the server's decisions count. To decide some calls on this machine only, write ${path}`,
    git: 'git',
    gitMissing: 'not installed: the git tools do not work. Install git',
    languages: 'Language servers',
    policy: 'Policy',
    languagesMissing: (names: string) => `not there: ${names}. Install Countersign again`,
    policyFile: (path: string, n: number) => `${path}: ${n} ${n === 1 ? 'rule' : 'rules'}`,
    policyNone: 'no file on this machine: the built-in rules count',
    policyPerson: (n: number) => `your own, on the server: ${n} ${n === 1 ? 'rule' : 'rules'}`,
    workspace: 'Workspace',
    allWell: 'All that is needed is there.',
    notWell: 'Something that is needed is missing.',
    skipped: 'not looked at: there is no connection',
  },
  unexpected: (word: string) => `"${word}" is not expected here`,
  notOneOf: (word: string, allowed: string) => `"${word}" is not one of ${allowed}`,
  badLogLevel: (text: string, levels: string) => `--log-level ${text} is not a level: there are ${levels}`,
  badNumber: (name: string, text: string) => `--${name} ${text} is not a number that fits`,
  noCommand: (what: string) => `There is no "${what}"`,
  noLanguage: (what: string) => `"${what}" is not a language of ours: there are en and ru`,
  unknownOption: (option: string) => `There is no option ${option}`,
  optionNeedsValue: (option: string) => `The option ${option} needs a value`,
  optionWithoutValue: (option: string) => `The option ${option} takes no value`,
  audit: {
    whichDatabase: (here: string | undefined) =>
      `Which database? Name it with --database${here ? `. What "countersign up" keeps for this directory is ${here}` : ''}`,
    noFormat: (format: string) => `There is no format "${format}"`,
    witnessNeedsUser: 'A witness speaks for one person: name them with --user',
    noDatabase: (path: string) => `There is no database "${path}"`,
    unreadable: 'The audit log could not be read.',
  },
};

export type Words = typeof english;

const russian: Words = {
  help: russianHelp,
  policy: russianPolicy,
  said: requestWords.ru.said,
  title: (request) => titleOf(request, requestWords.ru),
  scope: (offer) => scopeLabel(offer, requestWords.ru),
  error: 'ошибка',
  risk: { LOW: 'НИЗКИЙ', MEDIUM: 'СРЕДНИЙ', HIGH: 'ВЫСОКИЙ' },
  card: {
    left: (time) => `осталось ${time}`,
    timeIsOver: 'время вышло',
    revision: (n) => `редакция ${n}`,
    why: 'Почему',
    said: 'Сказано',
    elsewhere: 'В другой беседе:',
    step: (n) => `шаг ${n}`,
    parameters: 'Параметры',
    previewComing: 'Предпросмотр готовится там, где лежат файлы …',
    noPreview:
      'Предпросмотра ещё нет. Его делает исполнитель там, где лежат файлы; запустить его: countersign connect',
    unavailable: (reason) => `Предпросмотра нет: ${reason}`,
    network: 'Получит доступ к сети.',
    noNetwork: 'Без доступа к сети.',
    irreversible: 'Отменить будет нельзя.',
    runs: 'Команда',
    inFolder: 'Где',
    executes: 'Исполнит',
    unknownWord: '⟨станет известно при запуске⟩',
    hooks: 'Хуки',
    message: 'Сообщение',
    pushes: (branch, remote) => `${branch} в ${remote}`,
    commits: (n) => `${n} ${plural(n, 'коммит', 'коммита', 'коммитов')}`,
    operation: { created: 'новый файл', modified: 'изменён', deleted: 'удалён', moved: 'перемещён' },
    bytes: (before, after) => (before === null ? `${after ?? 0} байт` : `${before} → ${after ?? 0} байт`),
    unsaved: 'по несохранённому буферу',
    sameContent: '(содержимое не меняется)',
    cut: '(разница обрезана из-за размера)',
    deletes: (path, size) => `Удалит ${path} (${size} байт). Начало файла:`,
    emptyFile: '(файл пуст)',
    makesFolder: (path) => `Создаст папку ${path}`,
    customTool: (server) => `Инструмент сервера ${server}`,
    itsProgram: 'Что затронет этот инструмент, решает его собственная программа.',
    saysReadOnly: 'Говорит, что только читает.',
    saysDestructive: 'Говорит, что может что-то уничтожить.',
    window: (from, to, of) => `строки ${from}–${to} из ${of}`,
    scrollKeys: '↑ ↓ листать · v напечатать всё',
    more: (n) => `ещё ${n} · l список`,
  },
  keys: {
    look: [
      ['y', 'одобрить'],
      ['n', 'отклонить'],
      ['a', 'шире'],
      ['e', 'изменить'],
      ['?', 'помощь'],
    ],
    help: [
      'y  одобрить этот вызов; при высоком риске переспросит',
      'n  отклонить; можно сказать агенту, что делать вместо этого',
      'a  одобрить шире: такие же вызовы или весь сеанс',
      'e  изменить параметры и одобрить',
      'l  список ожидающих, выбрать другой',
      '↑ ↓ пробел  листать предпросмотр · v  напечатать его целиком выше',
      'Клавиша действует, когда карточка показана полсекунды. Время и выход ничего не решают.',
    ],
    confirmHigh: 'Высокий риск. Посмотрите ещё раз и нажмите y. Любая другая клавиша вернёт назад.',
    confirmUnseen: 'Предпросмотра ещё нет. Нажмите y, чтобы одобрить не глядя. Другая клавиша вернёт назад.',
    rejectPrompt: 'Отклонить. Для агента:',
    rejectHint: 'Enter отклоняет, с пояснением или без · Esc назад',
    scopesTitle: 'Одобрить этот вызов и впредь также:',
    noScopes: 'Такой вызов одобряется только по одному.',
    unfit: 'Предпросмотр не подходит к своему дайджесту: этот вызов можно только отклонить.',
    scopesHint: 'Нажмите номер · Esc назад',
    scopeConfirm: 'Нажмите y, чтобы одобрить и разрешить это · Esc назад',
    includeHigh: (on) => `[${on ? 'x' : ' '}] h  и вызовы высокого риска`,
    highWarning: 'Вызовы высокого риска пойдут без второго взгляда.',
    backtesting: 'Смотрю вашу историю …',
    backtest: (t) =>
      t.matched === 0
        ? `Ни один из последних вызовов (${t.considered}) сюда бы не попал.`
        : `Сюда попали бы ${t.matched} из последних вызовов (${t.considered}): одобрено вами ${t.approved}, отклонено ${t.rejected}.`,
    backtestFailed: (why) => `Историю посмотреть не удалось: ${why}`,
    editedTitle: 'Ваше изменение:',
    editedConfirm: 'Нажмите y, чтобы одобрить с этими параметрами · e править ещё · Esc забыть изменение',
    editUnchanged: 'Ничего не изменено.',
    editBroken: (problem) => `Это не объект JSON: ${problem}. Нажмите e, чтобы продолжить.`,
    editFailed: (problem) => `Редактор не сработал: ${problem}`,
    editLine: 'Параметры в JSON:',
    editLineHint: 'Enter принимает · Esc назад · задайте EDITOR, чтобы править в своём редакторе',
    listTitle: 'Ждут вас',
    listHint: '↑ ↓ выбрать · Enter показать · Esc назад',
    sending: 'Отправляю …',
    waitForPreview: 'Одобрить можно, когда появится предпросмотр. Он готовится.',
  },
  outcome: {
    approvedHere: 'одобрено здесь',
    approvedOn: (device) => `одобрено: ${device}`,
    approvedByGrant: 'одобрено по вашему разрешению',
    rejectedHere: 'отклонено здесь',
    rejectedOn: (device) => `отклонено: ${device}`,
    timeout: 'истекло: никто не решил вовремя',
    cancelled: 'снято: вызов отменён',
    failed: (why) => `ошибка до решения: ${why}`,
    granted: (id) => `разрешено (${id})`,
    saved: (rule) => `сохранено в ваших правилах как ${rule}`,
    revised: 'Вызов изменился; посмотрите заново.',
  },
  activity: {
    completed: 'готово',
    failed: 'ошибка',
    rejected: 'отклонено',
    timeout: 'истекло',
    cancelled: 'отменено',
    late: 'пришло поздно',
    undone: 'возвращено как было',
    undoFailed: 'вернуть не удалось',
    exit: (code) => `код выхода ${code}`,
    took: (ms) => (ms < 1000 ? `${ms} мс` : `${(ms / 1000).toFixed(1).replace('.', ',')} с`),
    runner: (state, workspace) =>
      state === 'connected' ? `Исполнитель подключён: ${workspace}` : `Исполнитель отключился: ${workspace}`,
  },
  stream: {
    connecting: (server) => `Подключаюсь к ${server} …`,
    open: (server) => `Подключено: ${server}`,
    waiting: (why, seconds) =>
      seconds === 0
        ? `Связь потеряна (${why}). Подключаюсь снова …`
        : `Связь потеряна (${why}). Новая попытка через ${seconds} с.`,
    unauthenticated: (server) => `${server} больше не принимает токен. Войдите снова: countersign sign-in`,
    refused: (why) => `Сервер отказал в подключении: ${why}`,
  },
  server: {
    badAddress: (url) => `«${url}» не похоже на адрес сервера. Пример: http://127.0.0.1:4180`,
    noSecrets: 'Имя, пароль или запрос в адресе сервера не нужны',
    plainHttp: (url) =>
      `Через ${url} токен пойдёт незашифрованным. Используйте https или задайте COUNTERSIGN_ALLOW_HTTP=1, если сеть только ваша`,
    notSignedIn: (server) =>
      `Вы не вошли на ${server}. Запустите countersign sign-in и вставьте ссылку, которую печатает сервер, или задайте COUNTERSIGN_TOKEN`,
    brokenCredentials: (path) => `«${path}» не читается. Удалите файл и войдите снова`,
    pasteLink: 'Вставьте ссылку для входа, которую напечатал «countersign serve», или свой токен: ',
    tokenAsWord:
      'Токену не место в командной строке, где его могут прочесть другие. Вставьте его по запросу или: countersign sign-in < ФАЙЛ',
    noLink:
      'Нет ссылки для входа. Её печатает «countersign serve», на один раз и на 60 с; пока он работает, ещё одну даст «countersign serve --link»',
    badLink: 'Это не ссылка для входа. Пример: http://127.0.0.1:4180/#sign-in=…',
    signedIn: (server, until) =>
      until === undefined
        ? `Вход на ${server} выполнен.`
        : `Вход на ${server} выполнен, действует до ${until}.`,
    signedOut: (server) => `Выход с ${server} выполнен.`,
    wasNotSignedIn: (server) => `Вы не входили на ${server}.`,
    noProject: (workspace) =>
      `На этом сервере нет проекта для ${workspace}. Сначала запустите там countersign connect или назовите проект: --project`,
    needsProject: 'С этим токеном список проектов недоступен. Назовите проект: --project ID',
    cannotCreate: (workspace) =>
      `Проекта для ${workspace} ещё нет, а этот токен не может его создать. Войдите сами или назовите проект: --project`,
  },
  approvals: {
    none: 'Вас ничего не ждёт.',
    waiting: (n) => `${plural(n, 'Ждёт', 'Ждут', 'Ждут')} вас: ${n}`,
    ambiguous: (id) => `С «${id}» начинается несколько номеров. Введите больше знаков`,
    which: 'Какой запрос? Назовите его номер или первые знаки; номера показывает «countersign approvals»',
    unknown: (id) => `Нет ожидающего запроса, который начинается с «${id}»`,
    needsDigest:
      'Без терминала одобрение называет то, что было показано: --digest из «approvals show ID --json»',
    needsHigh: 'Это вызов высокого риска: подтвердите это ключом --high',
    recorded: { approved: 'Одобрено.', rejected: 'Отклонено.' },
    already: 'Такое решение уже принято.',
    overruled: (status) => `Поздно: решение уже есть (${decided[status] ?? status}).`,
    watching: 'Жду запросов · Ctrl-C выйти',
    noTerminal: 'Карточкам нужен терминал. Для программ: countersign approvals list --json',
    hint: 'countersign approvals show ID · approve ID · reject ID · watch',
  },
  history: {
    none: 'Подходящих вызовов нет.',
    more: (cursor) => `Есть ещё: --cursor ${cursor}`,
    badSince: (text) => `«${text}» не время. Пример: 2026-11-15, 2026-11-15T08:00:00Z, 30m, 12h, 7d`,
    undoable: 'можно вернуть',
    undone: 'возвращено',
  },
  undo: {
    which: 'Какой вызов? Назовите tool id из «countersign history» или запуск: --run ID',
    nothing: 'В этом запуске нечего возвращать.',
    asked: (what) => `Прошу исполнителя вернуть как было: ${what} …`,
    done: (what) => `Возвращено: ${what}`,
    failed: (what, why) => `Не возвращено: ${what}. ${why}`,
    forceHint: 'С --force файл вернётся, даже если его с тех пор меняли.',
    takeBack: (undoId) => `То, что было, сохранено. Отменить возврат: countersign undo --offline ${undoId}`,
    noAnswer: (seconds) => `Исполнитель не ответил за ${seconds} с. Посмотрите countersign history.`,
    offline: (why) => `Сервер недоступен (${why}), возвращаю по журналу этой машины.`,
  },
  chat: {
    thinking: 'думает …',
    working: 'работает …',
    waitingForApproval: 'ждёт решения …',
    stopHint: 'Ctrl-C остановит',
    stopping: 'Останавливаю … ещё раз Ctrl-C — сразу выйти',
    stopped: 'Остановлено.',
    failed: (why) => `Не получилось: ${why}`,
    prompt: 'вы',
    inputHint: 'Enter отправит · Ctrl-D выход',
    othersHint: (n) => `${plural(n, 'Ждёт', 'Ждут', 'Ждут')} вас в других беседах: ${n} · Tab решить`,
    pendingHint: (n) => `${plural(n, 'Ждёт', 'Ждут', 'Ждут')} вас: ${n} · Tab решить`,
    decideElsewhere: (description, id) => `ждёт решения: ${description}\n  countersign approvals show ${id}`,
    onlyProject: (workspace) => `Речь о ${workspace}: другого проекта здесь у вас нет.`,
    noRunner: (workspace) =>
      `Для ${workspace} нет исполнителя; вызовы его ждут. В другом терминале: countersign connect ${workspace}`,
    emptyMessage: 'Отправлять нечего',
  },
  connect: {
    ready: (workspace) => `Исполнитель для ${workspace}`,
    prompting: 'Решения спрашиваются здесь: y n a e ?',
    notPrompting: 'Решения принимаются в другом месте.',
    noTerminal: 'Это не терминал: решения принимаются в другом месте.',
    idle: (calls) => `вызовов: ${calls} · Ctrl-C завершит`,
    held: (who) => `Исполнитель этой папки — ${who}. Этот терминал только показывает и решает.`,
    handedOver: (who) => `Исполнитель этой папки теперь ${who}. После него — снова этот терминал.`,
    heldNoPrompt: (who) => `У этой папки уже есть исполнитель: ${who}`,
    ending: 'Завершаю: то, что выполняется, останавливается. Ещё раз Ctrl-C — сразу выйти.',
    ended: 'Завершено.',
    madeProject: (name) => `Создан проект ${name}.`,
  },
  doctor: {
    node: 'Node.js',
    server: 'Сервер',
    serverDown: (url, why) => `${url} не отвечает (${why}). Запустите: countersign serve`,
    token: 'Вход',
    tokenFrom: (where) => `выполнен (${where})`,
    tokenRefused: 'токен не принят. Войдите снова: countersign sign-in',
    tokenFileOpen: (path) => `${path} читают другие. Выполните: chmod 600 ${path}`,
    runner: 'Исполнитель',
    runnerHere: (workspace) => `подключён: ${workspace}`,
    runnerNone: (workspace) => `для ${workspace} нет. Запустите: countersign connect ${workspace}`,
    isolation: 'Изоляция',
    level: { full: 'полная', partial: 'частичная', none: 'нет' },
    parts: {
      bubblewrap: 'bubblewrap',
      'user namespace': 'права',
      processes: 'процессы',
      network: 'сеть',
      masks: 'секреты',
      limits: 'ограничения',
      'system calls': 'системные вызовы',
    },
    limits: 'Пределы',
    limitsSaid: 'что действует здесь и откуда взято (docs/security.md)',
    limitFrom: { builtIn: 'встроено', runner: 'настройки самого исполнителя', server: 'сервер' },
    ceiling: 'Потолок',
    ceilingNone: (path) =>
      `нет: решения сервера действуют. Чтобы часть вызовов решалась только на этой машине, создайте ${path}`,
    git: 'git',
    gitMissing: 'не установлен: инструменты git не работают. Установите git',
    languages: 'Языковые серверы',
    policy: 'Правила',
    languagesMissing: (names) => `нет: ${names}. Установите Countersign заново`,
    policyFile: (path, n) => `${path}: ${n} ${plural(n, 'правило', 'правила', 'правил')}`,
    policyNone: 'на этой машине файлов правил нет: действуют встроенные',
    policyPerson: (n) => `ваши, на сервере: ${n} ${plural(n, 'правило', 'правила', 'правил')}`,
    workspace: 'Папка',
    allWell: 'Всё нужное есть.',
    notWell: 'Чего-то нужного нет.',
    skipped: 'не проверено: нет связи',
  },
  unexpected: (word) => `«${word}» здесь не ожидается`,
  notOneOf: (word, allowed) => `«${word}» нет среди допустимого: ${allowed}`,
  badLogLevel: (text, levels) => `--log-level ${text}: такого уровня нет, есть ${levels}`,
  badNumber: (name, text) => `--${name} ${text}: такое число не подходит`,
  noCommand: (what) => `Нет команды «${what}»`,
  noLanguage: (what) => `Языка «${what}» у нас нет: есть en и ru`,
  unknownOption: (option) => `Ключа ${option} нет`,
  optionNeedsValue: (option) => `Ключу ${option} нужно значение`,
  optionWithoutValue: (option) => `Ключ ${option} не принимает значения`,
  audit: {
    whichDatabase: (here) =>
      `Какая база? Назовите её: --database${here ? `. Та, что «countersign up» ведёт для этой папки: ${here}` : ''}`,
    noFormat: (format) => `Формата «${format}» нет`,
    witnessNeedsUser: 'Свидетельство касается одного человека: назовите его через --user',
    noDatabase: (path) => `Базы «${path}» нет`,
    unreadable: 'Журнал решений не удалось прочитать.',
  },
};

/** How an approval ended. */
const decided: Readonly<Record<string, string>> = {
  approved: 'одобрено',
  rejected: 'отклонено',
  timeout: 'истекло',
  cancelled: 'снято',
};

/** 1 коммит, 2 коммита, 5 коммитов. */
function plural(n: number, one: string, few: string, many: string): string {
  const form = new Intl.PluralRules('ru').select(n);
  return form === 'one' ? one : form === 'few' ? few : many;
}

const languages: Readonly<Record<string, Words>> = { en: english, ru: russian };

/** The words of the language that was asked for, else that of the environment, as programs in a terminal do it. */
export function wordsFor(env: Readonly<Record<string, string | undefined>>, asked?: string): Words {
  return languages[languageOf(env, asked)] ?? english;
}

/** Whether somebody who asks for it by name gets it. */
export const isSpoken = (asked: string): boolean => languageOf({}, asked) in languages;
