import { languageOf } from '@countersign/ui/request-words';

const english = {
  states: {
    ready: 'ready',
    starting: 'starts',
    failed: 'failed',
    not_allowed: 'waits for you',
    disabled: 'switched off',
    unusable: 'cannot be used',
  },
  owners: { person: 'yours', workspace: "the workspace's" },
  none: (path: string) =>
    `No tool servers are configured. Add one to ${path}, or make your own: countersign tools new NAME`,
  asksNobody: 'runs unasked',
  readOnly: 'only reads, it says',
  destructive: 'may destroy, it says',
  requiresApproval: 'needs approval, it says',
  category: (word: string) => `category ${word}`,
  network: 'has network',
  lastWords: 'It wrote:',
  leftOut: 'Left out',
  notAllowed: (name: string, why: string) =>
    `The tool server ${name} does not run: ${why}. Look at it and allow it: countersign tools allow ${name}`,
  failed: (name: string, why: string) => `The tool server ${name} failed: ${why} (countersign tools list)`,
  unusable: (name: string, why: string) => `The tool server ${name} cannot be used: ${why}`,
  which: 'Which server? "countersign tools list" shows their names',
  asks: (name: string, whose: string) => `${name} (${whose}) would run on this machine:`,
  command: 'Command',
  folder: 'In',
  program: 'Runs the file',
  variable: 'Variable',
  header: 'Header',
  networkLabel: 'Network',
  networkYes: 'yes: it can send what it reads anywhere',
  networkNo: 'no',
  workspaceLabel: 'Workspace',
  workspace: { write: 'reads and writes it', read: 'reads it', none: 'does not see it' },
  isolationLabel: 'Isolation',
  isolated: 'yes: no home of yours, no other programs',
  notIsolated: 'none here: it can do all that you can',
  rulesLabel: 'Your rules',
  rules: (name: string) => `those that name ${name}__… count for its tools too`,
  coversLabel: 'Asked again',
  covers: (files: number): string =>
    files > 0
      ? 'when this entry or a file above changes; not when other files change that these load'
      : 'when this entry changes; no other program of the workspace is watched',
  digest: 'Digest',
  changed: 'You allowed an earlier version of it. This one is different.',
  question: 'Allow exactly this? Type yes: ',
  yes: ['yes', 'y'] as readonly string[],
  alreadyAllowed: (name: string) => `${name} is allowed already.`,
  allowed: (name: string) =>
    `${name} is allowed. A runner of this workspace starts it within seconds; when it changes, you are asked again.`,
  declined: 'Nothing was allowed.',
  needsDigest: 'Without a terminal, name what was looked at: --digest, from "tools allow NAME --json"',
  forbidden: (name: string) => `${name} is no longer allowed.`,
  wasNotAllowed: (name: string) => `${name} was not allowed.`,
  nameNeeded: 'A tool needs a name: small letters, digits and hyphens, at most 32',
  exists: (path: string) => `"${path}" is there already`,
  made: (path: string) => `Made ${path}.`,
  addThis: (path: string) => `To use it, add this to "mcpServers" in ${path}, or run it again with --add:`,
  added: (path: string) => `Added to ${path}.`,
  notAdded: (path: string) => `"${path}" is not a valid mcp.json; correct it first`,
  taken: (name: string, path: string) => `${path} has a server called ${name} already`,
  tryIt: (name: string) =>
    `Then: countersign tools list · and in a chat: /${name}__${name} environment=staging`,
};

export type ToolsWords = typeof english;

const russian: ToolsWords = {
  states: {
    ready: 'готов',
    starting: 'запускается',
    failed: 'сбой',
    not_allowed: 'ждёт вас',
    disabled: 'выключен',
    unusable: 'негоден',
  },
  owners: { person: 'ваш', workspace: 'рабочей папки' },
  none: (path) =>
    `Серверы инструментов не настроены. Добавьте в ${path} или сделайте свой: countersign tools new ИМЯ`,
  asksNobody: 'без вопроса',
  readOnly: 'только читает, по его словам',
  destructive: 'может уничтожать, по его словам',
  requiresApproval: 'требует одобрения, по его словам',
  category: (word) => `категория ${word}`,
  network: 'с сетью',
  lastWords: 'Он написал:',
  leftOut: 'Пропущено',
  notAllowed: (name, why) =>
    `Сервер инструментов ${name} не запущен: ${why}. Посмотрите и разрешите: countersign tools allow ${name}`,
  failed: (name, why) => `Сбой сервера инструментов ${name}: ${why} (countersign tools list)`,
  unusable: (name, why) => `Сервер инструментов ${name} негоден: ${why}`,
  which: 'Какой сервер? Имена покажет «countersign tools list»',
  asks: (name, whose) => `${name} (${whose}) запустил бы на этой машине:`,
  command: 'Команда',
  folder: 'В папке',
  program: 'Файл',
  variable: 'Переменная',
  header: 'Заголовок',
  networkLabel: 'Сеть',
  networkYes: 'да: может отправить куда угодно всё, что прочитает',
  networkNo: 'нет',
  workspaceLabel: 'Папка',
  workspace: { write: 'читает и пишет', read: 'читает', none: 'не видит' },
  isolationLabel: 'Изоляция',
  isolated: 'есть: ни вашего дома, ни других программ',
  notIsolated: 'здесь нет: может всё, что можете вы',
  rulesLabel: 'Ваши правила',
  rules: (name) => `те, что называют ${name}__…, действуют и для его инструментов`,
  coversLabel: 'Спросят снова',
  covers: (files) =>
    files > 0
      ? 'если изменится эта запись или файл выше; но не если изменятся другие файлы, которые они загружают'
      : 'если изменится эта запись; за другими программами папки никто не следит',
  digest: 'Дайджест',
  changed: 'Вы разрешали прежнюю версию. Эта — другая.',
  question: 'Разрешить именно это? Введите да: ',
  yes: ['да', 'д', 'yes', 'y'],
  alreadyAllowed: (name) => `${name} уже разрешён.`,
  allowed: (name) =>
    `${name} разрешён. Исполнитель этой папки запустит его за секунды; если он изменится, вас спросят снова.`,
  declined: 'Ничего не разрешено.',
  needsDigest: 'Без терминала назовите, что смотрели: --digest из «tools allow ИМЯ --json»',
  forbidden: (name) => `${name} больше не разрешён.`,
  wasNotAllowed: (name) => `${name} и не был разрешён.`,
  nameNeeded: 'Инструменту нужно имя: строчные латинские буквы, цифры и дефисы, не больше 32',
  exists: (path) => `«${path}» уже есть`,
  made: (path) => `Создан ${path}.`,
  addThis: (path) => `Чтобы им пользоваться, добавьте это в "mcpServers" в ${path} или повторите с --add:`,
  added: (path) => `Добавлен в ${path}.`,
  notAdded: (path) => `«${path}» — неверный mcp.json; сначала исправьте его`,
  taken: (name, path) => `В ${path} уже есть сервер ${name}`,
  tryIt: (name) => `Затем: countersign tools list · и в чате: /${name}__${name} environment=staging`,
};

/** What `countersign tools` says, and `connect` of tool servers; the rest is in words.ts. */
export const toolsWordsFor = (
  env: Readonly<Record<string, string | undefined>>,
  asked?: string,
): ToolsWords => (languageOf(env, asked) === 'ru' ? russian : english);
