/** The terminal of a person who reads Russian, against the real server: nothing they meet is left in English. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspectIsolation } from '@countersign/tool-runner';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { main } from './main.ts';
import { FakeScreen, fakeTerminal } from './screen/screen-fixture.test-data.ts';
import { widthOf } from './screen/text-width.ts';
import { ServerFixture } from './server-fixture.test-data.ts';
import { wordsFor } from './words.ts';

const ru = { LC_ALL: 'ru_RU.UTF-8' };
let server: ServerFixture;
beforeAll(async () => {
  server = await ServerFixture.start();
});
afterEach(() => server?.endSessions());
afterAll(() => server?.close());

const run = async (argv: string[], { env = ru as object, input = '' } = {}) => {
  const terminal = fakeTerminal({ input });
  const status = await main(argv, terminal, { ...server.env, ...env });
  return { status, out: terminal.out(), error: terminal.error() };
};

/** Three English words in a row count as a sentence; command lines and names of tools do not. */
const englishIn = (text: string): string[] =>
  text
    .replaceAll(/countersign [a-z -]+|git version|run npm test/g, '')
    .match(/\b[a-z]{2,}( [a-z]{2,}){2,}\b/gi) ?? [];

describe('a command line that is wrong', () => {
  it.each([
    [['fly'], 'Нет команды «countersign fly». Как это используется, покажет countersign --help. [USAGE]'],
    [['chat', '--fly'], 'Ключа --fly нет. Как это используется, покажет countersign chat --help. [USAGE]'],
    [['chat', '--json=1'], 'Ключ --json не принимает значения. Как'],
    [['history', '--limit'], 'Ключу --limit нужно значение. Как'],
    [['history', '--limit', '--json'], 'Ключу --limit нужно значение. Как'],
    [['history', 'more'], '«more» здесь не ожидается. Как'],
    [['history', '--limit', '0'], '--limit 0: такое число не подходит. Как'],
    [['tools', 'fly'], 'Нет команды «tools fly». Как'],
    [['audit', 'fly'], 'Нет команды «audit fly». Как'],
    [['audit', 'verify', '--database', '/nowhere'], 'Базы «/nowhere» нет. Как'],
    [['policy', 'fly'], 'Нет команды «policy fly». Как'],
    [['policy', 'check', 'more'], '«more» здесь не ожидается. Как'],
    [['policy', 'explain', 'read_file', 'README'], '«README» — не ИМЯ=ЗНАЧЕНИЕ. Как'],
    [['policy', 'backtest'], 'В каком файле правило? Назовите его. Как'],
    [['policy', 'backtest', '/nowhere'], 'Политика содержит ошибку: «/nowhere» не читается. Ничего'],
    [['connect', '/nowhere'], 'Папки «/nowhere» нет. Назовите рабочей папкой ту, которая есть.'],
    [['chat', '--lang', 'fr'], 'Языка «fr» у нас нет: есть en и ru. Как'],
  ])('[UI-4] %j', async (argv, said) => {
    const { status, out, error } = await run(argv);
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(error.slice(0, `ошибка: ${said}`.length)).toBe(`ошибка: ${said}`);
    expect(error).toMatch(/ \[[A-Z_]+\]\n$/);
  });

  it('[UI-4] errors are in the requested language, even errors about the command line itself', async () => {
    const asked = async (...argv: string[]) => (await run(argv, { env: {} })).error;
    expect(await asked('chat', '--lang', 'ru', '--fly')).toContain('Ключа --fly нет');
    expect(await asked('chat', '--lang=ru', '--fly')).toContain('Ключа --fly нет');
    expect(await asked('policy', 'fly', '--lang', 'ru')).toContain('Нет команды');
    expect(await asked('chat', '--fly')).toBe(
      'error: There is no option --fly. Run countersign chat --help to see how it is used. [USAGE]\n',
    );
    expect((await run(['chat', '--lang', 'en', '--fly'])).error).toContain('There is no option --fly');
    expect((await run(['--help', '--lang', 'en'])).out).toContain('countersign COMMAND --help');
    expect((await run(['policy', '--help', '--lang', 'en'])).out).toContain('Nothing is executed');
    expect((await run(['audit', '--help'])).out).toContain('журнал того, что решено');
  });
});

describe('what the server and the runner say', () => {
  it.each([
    [
      ['undo', '00000000-0000-7000-8000-000000000000'],
      'Вызова с таким идентификатором здесь нет. [NOT_FOUND]',
    ],
    [
      ['approvals', 'show', '00000000-0000-7000-8000-000000000000'],
      'Запроса с таким идентификатором здесь нет. [NOT_FOUND]',
    ],
    [['history', '--cursor', 'x'], 'Параметры запроса не подходят: '],
  ])('[UI-4] %j', async (argv, said) => {
    const { status, error } = await run(argv);
    expect(status).toBe(1);
    expect(error).toContain(`ошибка: ${said}`);
  });

  it('[UI-4] a used link, and a server that is not there', async () => {
    const used = await run(['sign-in', server.link]);
    expect(used.error).toBe(
      'ошибка: Нет действующего токена: код входа неизвестен, уже использован или старше 60 с. Войдите снова. [UNAUTHENTICATED]\n',
    );
    const env = { ...ru, COUNTERSIGN_URL: 'http://127.0.0.1:1', COUNTERSIGN_TOKEN: 'x' };
    const gone = await run(['history'], { env });
    expect(gone.error).toMatch(/^ошибка: Сервер не ответил: .*\. Попробуйте чуть позже\. \[UNAVAILABLE\]\n$/);
  });
});

describe('policy', () => {
  const explain = (...words: string[]) => run(['policy', 'explain', ...words]);

  it('[RK-4] explains a decision in Russian, and to programs in English', async () => {
    expect((await explain('read_file', 'path=../a')).out).toBe(`
  ОТКЛОНЕНО: не выполняется, и никого не спрашивают

  Вызов  read_file  path=../a
  Папка  ${process.cwd()}

  Почему
    • «../a»: ведёт за пределы рабочей папки  (PATH-2)

  Что произойдёт
    Агент получает такой ответ и продолжает без инструмента:
    «../a» ведёт за пределы рабочей папки. Нужен путь внутри неё.

  Код ошибки PATH_OUTSIDE_WORKSPACE
`);
    const calls = [
      ['run', 'npm', 'install', 'x'],
      ['shell_exec', 'command=rm -rf build'],
      ['read_file', 'path=a'],
      ['git_push'],
    ];
    for (const call of calls) expect(englishIn((await explain(...call)).out)).toEqual([]);
    const { out } = await explain('--json', 'read_file', 'path=../a');
    expect(out).toBe(
      '{"id":null,"decision":"REJECT","code":"PATH_OUTSIDE_WORKSPACE","reasons":[{"rule":"PATH-2","why":"\\"../a\\": leads outside the workspace","operand":"../a"}]}\n',
    );
    const file = join(server.folder, 'policy.json');
    const rule = { id: 'tests', effect: 'allow', tool: 'execute_command', command: 'npm test' };
    writeFileSync(file, JSON.stringify({ version: 1, rules: [rule] }));
    const allowed = await explain('--policy', file, 'run', 'npm', 'test');
    expect(allowed.out).toContain('РАЗРЕШЕНО вашей политикой');
    expect(allowed.out).toContain('Вместо вас отвечает ваше правило «tests».');
    expect((await explain('fly')).error).toMatch(/^ошибка: Инструмента «fly» нет/);
  });

  it('[RK-4] tries and checks', async () => {
    const tried = await run(['policy', 'try'], { input: 'git_status\nread_file x\n' });
    expect(tried.out).toContain('НИЗКИЙ риск: выполняется сразу');
    expect(tried.out).toContain('«x» — не ИМЯ=ЗНАЧЕНИЕ');
    const screen = new FakeScreen(80, 40);
    const terminal = fakeTerminal({ screen, input: '' });
    expect(await main(['policy', 'try'], terminal, ru)).toBe(0);
    expect(screen.text).toContain('Что решил бы Countersign?');
    expect(englishIn(screen.text)).toEqual([]);
    const checked = await run(['policy', 'check'], { input: '{"tool": 1}\n' });
    expect(checked.error).toMatch(
      /^строка 1: Это не JSON: в нём не назван инструмент\. .* \[INVALID_JSON\]\n$/,
    );
    expect(checked.out).toContain('it names no tool');
  });
});

/** Matches a text even if a narrow card wraps it. */
const broken = (text: string): RegExp =>
  new RegExp(text.replaceAll(/[.*+?()]/g, '\\$&').replaceAll(' ', '[│\\s]+'));

describe.each([80, 40])('at %i columns', (columns) => {
  const shown = async (argv: string[]) => {
    const screen = new FakeScreen(columns, 40);
    const terminal = fakeTerminal({ screen });
    const status = await main(argv, terminal, { ...server.env, ...ru });
    expect(terminal.error()).toBe('');
    expect(screen.text.split('\n').filter((line) => widthOf(line) > columns)).toEqual([]);
    expect(englishIn(screen.text)).toEqual([]);
    return { status, text: screen.text };
  };

  it('[UI-4] doctor, approvals, history, tools and tokens', async () => {
    const { text } = await shown(['doctor', server.workspace]);
    expect(text).toMatch(/Изоляция/);
    expect(text).toMatch(/системные вызовы|bubblewrap/);
    expect((await shown(['approvals'])).text).toContain('Вас ничего не ждёт.');
    expect((await shown(['history'])).text).not.toBe('');
    expect((await shown(['tools', 'list', '--workspace', server.workspace])).text).toContain(
      'countersign tools new',
    );
    expect((await shown(['policy', 'explain', 'run', 'npm', 'install', 'x'])).text).toContain('СРЕДНИЙ');
  });

  it('[UI-4] a card: title, reasons and wider approvals; then history', async () => {
    const connect = new FakeScreen(columns, 60);
    const terminal = fakeTerminal({ screen: connect });
    const ended = main(['connect', server.workspace], terminal, { ...server.env, ...ru });
    await connect.shows('● ');
    const client = await server.client();
    const { projects } = await client.listProjects();
    const [project] = projects.filter(({ workspace }) => workspace === server.workspace);
    const params = { project_id: project?.project_id ?? '' };
    const { session } = await client.createSession({ params, body: {} });
    const body = { tool_name: 'write_file', tool_params: { path: 'a.md', content: 'x' } };
    await client.executeTool({ body: { ...body, session_id: session.session_id } });
    await connect.shows(broken('хочет создать a.md'));
    await connect.shows(broken('Меняет исходный код или документ'));
    const press = async (key: string, shows: string) => {
      await new Promise((resolve) => setTimeout(resolve, 520)); // a key counts once the card was there that long
      connect.send(key);
      await connect.shows(broken(shows));
    };
    await press('a', 'Одобрить этот вызов и впредь также:');
    await press('1', 'чтобы одобрить и запомнить');
    await press('\u001b', 'y одобрить');
    await press('n', 'Для агента:');
    await press('\r', 'отклонено здесь');
    expect(englishIn(connect.text)).toEqual([]);
    connect.send('\u0003');
    expect(await ended).toBe(0);
    expect((await shown(['history'])).text).toContain('СРЕДНИЙ');
  });
});

it.each([
  ['another system', { platform: 'darwin' }],
  ['nothing installed', { find: () => undefined, system: '' }],
  ['a machine without a table', { arch: 'riscv64' }],
  ['namespaces that are refused', { find: () => '/bin/false', system: 'ID=debian' }],
  ['the same on Ubuntu', { find: () => '/bin/false', system: 'ID=ubuntu' }],
])('[RN-5] what isolation lacks is said in Russian: %s', async (_, options) => {
  const { checks, notes } = await inspectIsolation(options);
  const said = checks.flatMap(({ says, remedy = '' }) => [says, remedy]);
  const { said: inRussian } = wordsFor(ru);
  const left = [...said, ...notes].map(inRussian).filter((text) => !/[а-яё]{3}|^\/|^sudo |^$/i.test(text));
  expect(left).toEqual([]);
});

it('[UI-4] doctor --json is for programs: in English, whatever the person reads', async () => {
  const { out } = await run(['doctor', '--json', server.workspace]);
  expect(out).not.toMatch(/[а-яё]/i);
  expect(JSON.parse(out).checks[1].name).toBe('Workspace');
});
