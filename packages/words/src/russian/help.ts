import { executionStatuses } from '@countersign/protocol';
import type { englishHelp } from '../english/help.ts';
import { languageCodes } from '../language.ts';

const lang = `ЯЗЫК  ${languageCodes('или')}`;
const server = 'URL  какой сервер (без указания: тот, на который вы входили последним)';
/** Options of the commands that start a runner. */
const runner = {
  'run-unisolated': 'где команды нельзя изолировать, безобидные всё же выполнять, а не спрашивать о них',
  'end-with-input': 'завершиться, когда кончится стандартный ввод: для программы, которая это запустила',
  'log-level':
    'УРОВЕНЬ  показывать журнал исполнителя: error (без указания), info или debug (параметры, итоги, времена)',
  'log-file':
    'ФАЙЛ  дописывать журнал в ФАЙЛ строками JSON (info, если не указан --log-level); ошибки видны и здесь',
};

export const russianHelp: typeof englishHelp = {
  main: {
    about: 'ИИ-агент пользуется инструментами на вашей машине, а вы визируете то, что он делает',
    usage: `countersign up [ПАПКА]  всё сразу: сервер, исполнитель и веб-страница; без ПАПКИ — пример для пробы

countersign sign-in  даёт этому терминалу говорить от вашего имени, по ссылке от сервера
countersign connect [ПАПКА]  исполнитель рабочей папки; решения спрашиваются в этом терминале
countersign chat [СООБЩЕНИЕ]  говорить с агентом и видеть, что он делает
countersign approvals  что ждёт вашего решения
countersign history  что вызывалось, как решено и что сделано
countersign undo TOOL_ID  возвращает то, что изменил вызов
countersign open [ПОРТ]  то, что показывает фоновое задание агента, в вашем браузере
countersign tools  ваши собственные инструменты: какие есть, разрешить, сделать новый
countersign doctor  что есть на этой машине, чего не хватает и как это получить

countersign mcp [ПАПКА]  ваши инструменты для агента MCP, через стандартный ввод и вывод
countersign acp  наш агент для редактора с ACP, через стандартный ввод и вывод
countersign tokens  с чем другие программы обращаются к вашим инструментам

countersign policy explain TOOL …  что было бы решено об одном вызове и почему
countersign policy check  то же о многих вызовах, в JSON Lines
countersign policy try  набирайте вызовы и смотрите решения; ничего не выполняется
countersign policy backtest ФАЙЛ  что новое правило решило бы о ваших записанных вызовах
countersign policy allow ОБРАЗЕЦ  собственное правило, также ask и deny; list, remove ID и edit для тех, что есть
countersign policy import АГЕНТ  что вы разрешили и запретили в Claude Code, Codex, Gemini, opencode или VS Code

countersign audit verify  цел ли журнал решений
countersign audit export  сам журнал, в JSON Lines или CSV

countersign serve  один сервер; исполнители и интерфейсы подключаются к нему
countersign serve --link  ещё одна ссылка для входа на него: для второго браузера или редактора

countersign КОМАНДА --help  подробнее об одной из них`,
  },
  acp: {
    about: 'агент Countersign в редакторе, который понимает Agent Client Protocol',
    usage: `countersign acp  запускает редактор (Zed, agent-shell в Emacs, …); смотрите docs/acp.md
countersign acp --pair  разрешает редакторам на этой машине показывать запросы и передавать ваши решения; один раз
countersign acp --unpair  прекращает это`,
    notes: `Беседы, вызовы инструментов с изменениями и запросы появляются в редакторе. Где решили первым, там или в другом
месте, то решение и действует. Если у папки нет исполнителя, им становится эта программа.`,
    options: {
      name: 'ИМЯ  как редактор зовётся в списке решений (без указания: editor); вместе с --pair',
      server:
        'URL  какой сервер (без указания: сервер «countersign up» для этой папки или тот, на который вы входили последним)',
      lang,
    },
  },
  approvals: {
    about: 'что ждёт вашего решения',
    usage: `countersign approvals [list]  всё, что ждёт
countersign approvals show ID  один запрос целиком, с предпросмотром
countersign approvals approve ID  показывает карточку и спрашивает; программам — с --digest
countersign approvals reject ID  с --message: что агенту делать вместо этого
countersign approvals watch  карточки по мере появления; решаются клавишами y n a e ?`,
    notes: 'Вместо ID достаточно его первых знаков.',
    options: {
      json: 'JSON: по строке на запрос или одна о решении',
      digest: 'ДАЙДЖЕСТ  approve: что вы посмотрели, из show --json; тогда ничего не спрашивается',
      high: 'approve: намеренный второй шаг для вызова HIGH, вместе с --digest',
      'include-high': 'approve: разрешение шире охватывает и вызовы HIGH',
      scope: 'ОХВАТ  approve: once (без указания), class, session или always, как предлагает карточка',
      pattern: 'ШАБЛОН  approve: шаблон предложенного охвата',
      params: 'JSON  approve: другие параметры вместо тех, что дал агент',
      reason: 'ТЕКСТ  reject: почему',
      message: 'ТЕКСТ  reject: для агента',
      server,
      lang,
    },
    end: 'Завершается с 1, если уже есть другое решение.',
  },
  audit: {
    about: 'журнал того, что решено и сделано, и не менял ли его кто-нибудь',
    usage: `countersign audit verify --database ФАЙЛ|URL [--user ID] [--witness ХЕШ] [--json]
    заново вычисляет цепочку хешей; завершается с 1, если строка изменена, изъята или отрезана

countersign audit export --database ФАЙЛ|URL [--user ID] [--format ndjson|csv]
    печатает каждую строку`,
    options: {
      database:
        'ФАЙЛ|URL  файл SQLite или postgres://… (без указания: COUNTERSIGN_DATABASE из окружения, там и место для URL с паролем)',
      user: 'ID  один человек (без указания: все)',
      witness: 'ХЕШ  конец цепочки, который сохранил исполнитель этого человека; он должен быть в ней',
      format: 'ФОРМАТ  ndjson (без указания) или csv',
      json: 'verify: по строке JSON на человека',
      lang,
    },
    end: 'Читает и при работающем сервере; ничего не пишет.',
  },
  chat: {
    about: 'разговор с агентом',
    usage: `countersign chat  беседа в этом терминале
countersign chat СООБЩЕНИЕ …  одно сообщение; ответ идёт на стандартный вывод
countersign chat -  то же, а сообщение — со стандартного ввода`,
    options: {
      workspace:
        'ПАПКА  о чьём проекте речь (без указания: о проекте этой папки, иначе о вашем единственном)',
      project: 'ID  сам проект',
      session: 'ID  продолжить эту беседу (без указания: последнюю в проекте)',
      new: 'начать новую',
      model: 'ИМЯ  provider:model (без указания: модель сервера)',
      json: 'события беседы, по строке JSON, пока запуск не закончится',
      server,
      lang,
    },
    end: `Решения, которые понадобятся, спрашиваются здесь, если это терминал. Ctrl-C останавливает запуск, второй раз —
выходит. Завершается с 0, если агент ответил, с 1 при ошибке, со 130, если запуск остановлен.`,
  },
  connect: {
    about: 'исполнитель рабочей папки в этом терминале',
    usage: 'countersign connect [ПАПКА]  (без указания: эта папка)',
    notes: `Выполняет на этой машине то, что вы одобрили, и показывает, что происходит. Решения спрашиваются здесь, каждое с
предпросмотром того, что произойдёт: y одобрить, n отклонить, a одобрить шире, e изменить, ? помощь. Связь
восстанавливается сама; Ctrl-C завершает, второй раз — сразу.`,
    options: {
      'no-prompt': 'здесь ничего не спрашивать: решают в другом месте',
      project: 'ID  подключиться к этому проекту (без указания: к проекту ПАПКИ; если его нет, он создаётся)',
      ...runner,
      json: 'печатать происходящее в JSON Lines и ничего не спрашивать',
      server,
      lang,
    },
  },
  doctor: {
    about: 'что есть на этой машине, чего не хватает и как это получить',
    usage: 'countersign doctor [ПАПКА]  (без указания: эта папка)',
    options: {
      'add-programs': 'дать командам программы из вашего PATH, которых изоляция не показывает (runner.json)',
      json: '{"ok", "checks": [{"name", "state": "ok|warning|missing", "says", "remedy"?}], …}, по-английски',
      server,
      lang,
    },
    end: 'Завершается с 1, если не хватает чего-то нужного.',
  },
  history: {
    about: 'что вызывалось, как решено и что сделано, сначала новое',
    usage: 'countersign history [КЛЮЧИ]',
    options: {
      tool: 'ИМЯ  один инструмент',
      status: `СТАТУС  ${executionStatuses.join(', ')}`,
      risk: 'РИСК  LOW, MEDIUM или HIGH',
      project: 'ID  один проект',
      session: 'ID  одна беседа',
      run: 'ID  один запуск агента',
      since: 'ВРЕМЯ  2026-11-15, 2026-11-15T08:00:00Z или сколько назад: 30m, 12h, 7d',
      until: 'ВРЕМЯ  то же',
      limit: 'N  сколько (без указания 50, не больше 200)',
      cursor: 'КУРСОР  продолжить с конца прошлой страницы',
      json: 'по строке JSON на вызов; если есть ещё, последней — строка {"next_cursor"}',
      server,
      lang,
    },
  },
  mcp: {
    about: 'ваши инструменты для агента MCP, через стандартный ввод и вывод',
    usage:
      'countersign mcp [ПАПКА]  инструменты проекта этой ПАПКИ или той, что вокруг неё (без указания: здесь)',
    notes: `Запускает программа, которая понимает MCP (Claude Code, VS Code, …). Агент получает токен, которым можно вызывать
инструменты, но нельзя ничего одобрить; он кончается вместе с этой программой. Одобряете вы: на веб-странице, в
«countersign up», в редакторе или в Emacs. Сервер должен работать: countersign up ПАПКА`,
    options: {
      name: 'ИМЯ  как агент зовётся в запросах к вам (без указания: MCP agent)',
      project: 'ID  инструменты этого проекта, где бы ни была его папка',
      server:
        'URL  какой сервер (без указания: сервер «countersign up ПАПКА» или тот, на который вы входили последним)',
      lang,
    },
    end: 'Программы могут вместо этого задать COUNTERSIGN_URL и COUNTERSIGN_TOKEN с токеном от «countersign tokens new».',
  },
  open: {
    about: 'то, что показывает фоновое задание агента, в вашем браузере',
    usage: `countersign open  порты, которые слушают фоновые задания
countersign open ПОРТ  открывает один из них вашему браузеру, до Ctrl-C`,
    options: {
      workspace: 'ПАПКА  рабочая папка (без указания: эта)',
      job: 'ID  какое задание, если один порт заняли несколько бесед',
      'no-open': 'напечатать адрес, браузер не открывать',
      'end-with-input': 'завершиться вместе со стандартным вводом, для программ',
      json: '{"ports": [{"port", "job_id", "session_id", "command"}]}; с портом ещё и "address"',
      lang,
    },
    end: 'Слушает только 127.0.0.1 и понимает только HTTP.',
  },
  policy: {
    about: 'ваши собственные правила и что было бы решено о вызовах инструментов. Ничего не выполняется.',
    usage: `countersign policy allow|ask|deny [ОБРАЗЕЦ] [--path GLOB] [--tool TOOL] [--max-risk HIGH] [--why ТЕКСТ] [--id ID]
    countersign policy allow npm run test '*'
    countersign policy allow --path 'docs/**'
    countersign policy deny git push '*'
    показывает, что правило решило бы о ваших записанных вызовах, и спрашивает, прежде чем сохранить; --yes сохраняет сразу,
    --dry-run никогда; --server URL называет сервер, у которого записаны вызовы

countersign policy import claude|codex|gemini|opencode|vscode [ФАЙЛ] [--workspace ПАПКА] [--json] [--all-exact]
    что вы разрешили и запретили другому агенту, как правила здесь: точно, уже или нельзя, и что каждое решило бы;
    вы отмечаете, что сохранить. Без ФАЙЛА — из обычных мест и из проекта в ПАПКЕ. --all-exact сохраняет точное
    и то, что делает только строже; --json печатает по правилу на строку и без --all-exact ничего не сохраняет

countersign policy list, countersign policy remove ID
countersign policy edit [--yes]  открывает файл в $EDITOR и сохраняет его, только если в нём нет ошибок
    это policy.json в вашей папке настроек (~/.config/countersign); его соблюдает каждый исполнитель здесь

countersign policy explain [КЛЮЧИ] TOOL [ИМЯ=ЗНАЧЕНИЕ …]
    countersign policy explain write_file path=README.md content=hello
    countersign policy explain run npm install express
    countersign policy explain shell_exec command='rm -rf build'
    countersign policy explain read_file '{"path": "src/index.ts"}'

countersign policy check [КЛЮЧИ] < calls.jsonl
    читает по вызову на строку, {"id"?, "tool", "args"}, и печатает по решению на строку,
    {"id", "decision": "LOW|MEDIUM|HIGH|REJECT", "code"?, "reasons": [{"rule", "why"}]}

countersign policy try [КЛЮЧИ]
    набирайте вызовы в том же виде, что для explain, по одному на строку

countersign policy backtest ФАЙЛ [--since ВРЕМЯ] [--server URL] [--json]
    что новое правило или каждое правило файла политики решило бы о ваших записанных вызовах; ничего не сохраняется`,
    options: {
      workspace: 'ПАПКА  рабочая папка, в которой делается вызов (без указания: эта)',
      policy: 'ФАЙЛ  применить этот файл политики как ваш собственный (без указания: никакой)',
      json: 'explain: напечатать решение в JSON',
      lang,
    },
  },
  'sign-in': {
    about: 'даёт терминалу этой машины говорить от вашего имени',
    usage: `countersign sign-in  спросит ссылку для входа, которую напечатал «countersign serve» или «countersign serve --link»
countersign sign-in ССЫЛКА  то же, со ссылкой в команде; она годится один раз, в течение 60 с
countersign sign-in < ФАЙЛ  с токеном, если сервер не печатает ссылок; вместе с --server
countersign sign-out  забывает токен и отзывает его на сервере`,
    options: {
      server: 'URL  сервер, если вы вставляете один код или токен',
      json: 'напечатать итог в JSON',
      lang: `ЯЗЫК  ${languageCodes('или')} (без указания: LANG из окружения)`,
    },
    end: `Токен хранится в countersign/credentials.json вашей папки настроек, только для вас (0600). Программы вместо этого
задают COUNTERSIGN_URL и COUNTERSIGN_TOKEN. Токену не место в командной строке и в адресе.`,
  },
  tokens: {
    about: 'с чем другие программы обращаются к вашим инструментам',
    usage: `countersign tokens new ИМЯ  создаёт токен для агента, например "Claude Code"; печатается один раз
countersign tokens list  все действующие токены: у кого они, для чего, когда использовались
countersign tokens revoke ID  сразу прекращает один; достаточно первых знаков его id`,
    notes:
      'Токеном агента можно вызывать инструменты, читать и отменять свои вызовы. Одобрить им ничего нельзя.',
    options: {
      workspace:
        'ПАПКА  new: только для проекта этой папки (без указания: все ваши проекты; если их несколько, агенту это нужно)',
      project: 'ID  new: то же, по id проекта',
      days: 'N  new: сколько дней действует (без указания 90, не больше 366)',
      all: 'list: и те, что уже не действуют',
      json: 'печатать JSON',
      server,
      lang,
    },
  },
  tools: {
    about: 'ваши собственные инструменты, как серверы MCP',
    usage: `countersign tools list  какие есть серверы, их инструменты и почему какой-то не работает
countersign tools allow ИМЯ  разрешает серверу рабочей папки работать на этой машине, когда вы увидели, что он запускает
countersign tools forbid ИМЯ  забирает разрешение
countersign tools new ИМЯ  создаёт ваш инструмент на TypeScript, который сразу работает`,
    notes: `Серверы записаны в "mcpServers" вашего mcp.json (в папке настроек Countersign) и в .mcp.json рабочей папки. Ваши
запускаются сами; сервер рабочей папки и тот, что запускает программу из неё, — только с вашего разрешения, и снова
спросит, если изменится. Каждый изолирован: без сети, если вы её не дали, без домашней папки, секреты скрыты.`,
    options: {
      workspace: 'ПАПКА  какая рабочая папка (без указания: эта)',
      digest: 'ДАЙДЖЕСТ  allow: что вы посмотрели, если нет терминала, где спросить',
      in: 'ПАПКА  new: где создать (без указания: ./ИМЯ)',
      add: 'new: сразу добавить в ваш mcp.json',
      json: 'для программ',
      lang,
    },
  },
  undo: {
    about: 'возвращает то, что изменили файловые инструменты',
    usage: `countersign undo TOOL_ID  один вызов; номера покажет «countersign history»
countersign undo --run RUN_ID  все вызовы одного запуска, сначала последний`,
    notes: `Файл, который с тех пор меняли, остаётся как есть, если не сказано --force. То, что заменил возврат, хранится 30
дней: «countersign undo --offline UNDO_ID» отменит и его.`,
    options: {
      force: 'вернуть и там, где файл после вызова меняли',
      timeout: 'СЕК  сколько ждать исполнителя (без указания 30)',
      offline: 'без сервера, по журналу этой машины; исполнитель не должен держать папку',
      workspace: 'ПАПКА  offline: какая рабочая папка (без указания: эта)',
      json: 'по строке JSON на вызов: {"tool_id", "undo_id", "status", "error"}',
      server,
      lang,
    },
    end: 'Завершается с 1, если что-то вернуть не удалось.',
  },
  up: {
    about: 'сервер, исполнитель и веб-страница одной командой',
    usage: `countersign up  в папке-примере, чтобы попробовать
countersign up ПАПКА  в вашей`,
    notes: `Слушает только на этой машине, печатает ссылку для входа и открывает её в браузере. Что вы там одобрите, выполняется
здесь, в ПАПКЕ. Всё хранится в вашей папке состояния, отдельно для каждой рабочей папки. Без ключа модели вызовы
набираете вы сами; COUNTERSIGN_MODEL=anthropic:… или openai:… с ключом даёт агента (все настройки покажет countersign
serve --help). Ctrl-C завершает всё, второй раз — сразу.`,
    options: {
      'no-open': 'не открывать браузер',
      port: 'ПОРТ  этот порт (без указания: тот же, что в прошлый раз, или свободный)',
      prompt: 'спрашивать решения и в этом терминале',
      ...runner,
      json: 'напечатать одну строку с адресом, когда всё готово, и больше ничего',
      lang,
    },
  },
};
