import { languageOf } from '@countersign/ui/request-words';

const english = {
  ready: (seconds: string) => `Countersign is ready (${seconds} s).`,
  page: 'page',
  signIn: 'sign in',
  once: 'good once, for 60 s',
  workspace: 'workspace',
  sample: 'a sample to play with; it begins anew at each start',
  model: 'model',
  manual: 'you type the tool calls; COUNTERSIGN_MODEL and a key give you an agent',
  sayFirst:
    'Say this first: it reads a file, changes it and runs the tests, and asks you before the last two.',
  opened: 'The link was opened in your browser.',
  another: (key: boolean) =>
    `${key ? 'Another link: press o, or run' : 'Another link: run'} the same command again. Ctrl-C ends everything.`,
  keys: 'o opens the page',
  freshLink: (link: string) => `A fresh sign-in link (once, within 60 s): ${link}`,
  isRunning: (workspace: string, pid: number) =>
    `Countersign is running already for ${workspace} (process ${pid}). It is not started twice.`,
  portTaken: (port: number, now: number) => `Port ${port} is taken, so it is ${now} this time.`,
  noSuchPort: (port: number) => `Port ${port} is taken, or not for pages. Name another one, or none`,
  died: (how: string) => `The server ended unexpectedly (${how}). It is started again …`,
  back: 'The server is back.',
  givenUp: (why: string) => `The server does not stay up: ${why}`,
  notStarted: (why: string) => `The server did not start: ${why}`,
  stopped: 'Everything is stopped.',
};

export type UpWords = typeof english;

const russian: UpWords = {
  ready: (seconds) => `Countersign готов (${seconds} с).`,
  page: 'страница',
  signIn: 'вход',
  once: 'один раз, в течение 60 с',
  workspace: 'папка',
  sample: 'пример для пробы; при каждом запуске он начинается заново',
  model: 'модель',
  manual: 'вызовы набираете вы; агента дают COUNTERSIGN_MODEL и ключ',
  sayFirst:
    'Напишите сначала это: прочесть файл, изменить его, запустить тесты; перед двумя последними вас спросят.',
  opened: 'Ссылка открыта в браузере.',
  another: (key) =>
    `${key ? 'Новая ссылка: нажмите o или запустите' : 'Новая ссылка: запустите'} ту же команду ещё раз. Ctrl-C завершит всё.`,
  keys: 'o откроет страницу',
  freshLink: (link) => `Новая ссылка для входа (один раз, 60 с): ${link}`,
  isRunning: (workspace, pid) =>
    `Countersign для ${workspace} уже работает (процесс ${pid}). Второй раз он не запускается.`,
  portTaken: (port, now) => `Порт ${port} занят, на этот раз — ${now}.`,
  noSuchPort: (port) => `Порт ${port} занят или не годится для страниц. Назовите другой или никакого`,
  died: (how) => `Сервер неожиданно завершился (${how}). Запускаю снова …`,
  back: 'Сервер снова работает.',
  givenUp: (why) => `Сервер не держится: ${why}`,
  notStarted: (why) => `Сервер не запустился: ${why}`,
  stopped: 'Всё остановлено.',
};

/** What `countersign up` says; the rest is in words.ts. */
export const upWordsFor = (
  env: Readonly<Record<string, string | undefined>>,
  asked: string | undefined,
): UpWords => (languageOf(env, asked) === 'ru' ? russian : english);
