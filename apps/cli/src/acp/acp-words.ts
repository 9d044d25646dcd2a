import { languageOf } from '@countersign/ui/request-words';

const english = {
  pairName: 'Pair this editor in a terminal',
  howToPair:
    'This editor is not paired with Countersign. Run "countersign acp --pair" in a terminal; then it may show approvals and send your decisions.',
  pairingEnded:
    'The pairing of this editor was ended. Run "countersign acp --pair" in a terminal to pair it again.',
  pairingMeans: (server: string) =>
    `Pair editors on this machine with ${server}? For a year, in all of your projects there, a program that has the pairing may, in your name:
  - read your conversations, calls and their results, what waits for you, your grants and your policy
  - approve and reject, HIGH risk too; grant a session; "always" saves a rule in your policy
  - write to the agent and stop it, cancel calls, undo what file tools changed, revoke grants
It may not call tools by itself, make projects or tokens, or change your policy in any other way.
Ended with: countersign acp --unpair`,
  askPair: 'Pair? [y/N] ',
  needsTerminal: 'Pairing is confirmed by you in a terminal, and this is none',
  paired: (server: string, name: string) => `Paired with ${server} as "${name}". Open it in your editor.`,
  notPaired: 'Nothing was paired.',
  unpaired: (server: string) => `Ended: editors are no longer paired with ${server}.`,
  onlyForgotten: (server: string, id: string) =>
    `The pairing is forgotten on this machine, but ${server} could not be told. End it there: countersign tokens revoke ${id}`,
  wasNotPaired: (server: string) => `No editor was paired with ${server}.`,
  noRunner: (workspace: string) =>
    `No runner is connected for ${workspace}, and none could be started here. Run in a terminal: countersign connect ${workspace}`,
  runnerEnded: (code: number) => `the runner ended with ${code}; sign in again: countersign sign-in`,
  runnerWaits: 'the runner is not connected yet',
  startedRunner: (workspace: string) => `countersign acp is the runner of ${workspace}.`,
  ask: 'Ask',
  askAbout: 'Reads run at once; everything else asks you first.',
  readOnly: 'Read only',
  readOnlyAbout:
    'What would ask you is rejected, and the agent is told to describe it instead. What your policy allows by itself still runs.',
  grantsRevoked: (count: number) =>
    `Read only: what you had granted in this conversation was revoked (${count}).`,
  readOnlyReason: 'read only',
  readOnlyMessage: 'The person has set their editor to read only. Describe the change instead of making it.',
  once: 'Approve this one',
  reject: 'Reject',
  stop: 'Reject, and stop the agent',
  confirm: 'Yes, approve this HIGH risk call',
  highTitle: (what: string) => `HIGH risk, second look: ${what}`,
  tooQuick: 'That was answered before it could be read, so it is asked again.',
  notSent: (why: string) => `Your decision could not be sent: ${why}`,
  busy: 'The agent is still answering the last message. Wait for it, or cancel it.',
  emptyPrompt: 'There is nothing to send.',
  noSuchMode: (mode: string) => `There is no mode "${mode}".`,
};

export type AcpWords = typeof english;

const russian: AcpWords = {
  pairName: 'Подключить этот редактор в терминале',
  howToPair:
    'Этот редактор не подключён к Countersign. Запустите в терминале «countersign acp --pair»; тогда он сможет показывать запросы и передавать ваши решения.',
  pairingEnded:
    'Подключение этого редактора закончилось. Запустите в терминале «countersign acp --pair», чтобы подключить его снова.',
  pairingMeans: (server) =>
    `Подключить редакторы на этой машине к ${server}? В течение года программа, у которой есть это подключение, сможет от вашего имени во всех ваших проектах там:
  - читать беседы, вызовы и их результаты, запросы к вам, ваши разрешения и правила
  - подтверждать и отклонять, в том числе с ВЫСОКИМ риском; разрешать на сеанс; «всегда» добавляет правило в ваши правила
  - писать агенту и останавливать его, отменять вызовы, возвращать изменённые файлы, отзывать разрешения
Она не сможет сама вызывать инструменты, создавать проекты и токены или иначе менять ваши правила.
Прекратить: countersign acp --unpair`,
  askPair: 'Подключить? [y/N] ',
  needsTerminal: 'Подключение подтверждаете вы сами в терминале, а это не терминал',
  paired: (server, name) => `Подключён к ${server} как «${name}». Откройте его в редакторе.`,
  notPaired: 'Ничего не подключено.',
  unpaired: (server) => `Редакторы больше не подключены к ${server}.`,
  onlyForgotten: (server, id) =>
    `На этой машине подключение забыто, но сообщить об этом ${server} не удалось. Завершите его там: countersign tokens revoke ${id}`,
  wasNotPaired: (server) => `К ${server} не был подключён ни один редактор.`,
  noRunner: (workspace) =>
    `Для ${workspace} нет исполнителя, и запустить его здесь не удалось. Запустите в терминале: countersign connect ${workspace}`,
  runnerEnded: (code) => `исполнитель завершился с кодом ${code}; войдите снова: countersign sign-in`,
  runnerWaits: 'исполнитель ещё не подключён',
  startedRunner: (workspace) => `countersign acp — исполнитель для ${workspace}.`,
  ask: 'Спрашивать',
  askAbout: 'Чтение выполняется сразу, об остальном спрашивают вас.',
  readOnly: 'Только чтение',
  readOnlyAbout:
    'О чём пришлось бы спросить, отклоняется; агента просят описать это. Что ваши правила разрешают сами, выполняется.',
  grantsRevoked: (count) => `Только чтение: разрешения, данные в этой беседе, отозваны (${count}).`,
  readOnlyReason: 'только чтение',
  readOnlyMessage: 'Человек выбрал в редакторе режим «только чтение». Опишите изменение, не делая его.',
  once: 'Подтвердить этот вызов',
  reject: 'Отклонить',
  stop: 'Отклонить и остановить агента',
  confirm: 'Да, подтвердить вызов с ВЫСОКИМ риском',
  highTitle: (what) => `ВЫСОКИЙ риск, посмотрите ещё раз: ${what}`,
  tooQuick: 'Ответ пришёл раньше, чем это можно прочесть, поэтому вопрос задан снова.',
  notSent: (why) => `Решение не удалось отправить: ${why}`,
  busy: 'Агент ещё отвечает на прошлое сообщение. Подождите или отмените его.',
  emptyPrompt: 'Отправлять нечего.',
  noSuchMode: (mode) => `Нет режима «${mode}».`,
};

/** What `countersign acp` says, in the terminal and in the editor. */
export const acpWordsFor = (
  env: Readonly<Record<string, string | undefined>>,
  asked: string | undefined,
): AcpWords => (languageOf(env, asked) === 'ru' ? russian : english);
