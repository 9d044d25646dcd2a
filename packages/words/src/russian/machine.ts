import type { englishMachine } from '../english/machine.ts';

export const russianMachine: Readonly<Record<keyof typeof englishMachine, string>> = {
  // Progress of a call
  'entries-looked-at-found': 'просмотрено имён: {visited}, найдено: {found}',
  'files-found-so-far': 'пока найдено файлов: {found}',
  'mb-read': 'прочитано {done} из {total} МБ',
  'mb-written': 'записано {done} из {total} МБ',

  // Isolation, as `countersign doctor` shows it
  'isolation-needs-linux-this': 'изоляции нужен Linux, а это {platform}',
  'run-runner-linux-virtual': 'Запустите исполнителя в виртуальной машине или контейнере с Linux.',
  'prlimit-not-installed': 'не установлен prlimit',
  'commands-have-no-rights': 'у команд нет прав сверх ваших собственных',
  'commands-see-no-other': 'команды не видят чужих процессов',
  'commands-have-no-network': 'у команд нет сети, если её не дали',
  'sensitive-files-are-hidden': 'файлы с секретами скрыты от команд, которые выполняются без вопроса',
  'no-system-call-table': 'для {arch} нет таблицы системных вызовов: они не фильтруются',
  'nothing-namespaces-hold-without': 'Ничего не нужно: пространства имён действуют и без этого.',
  'dangerous-system-calls-are': 'опасные системные вызовы отклоняются',
  'memory-processor-time-files': 'память, время процессора, файлы и процессы команд ограничены',
  'conversation-shares': 'у команд одной беседы общие /tmp и внутренний сетевой адрес, а у других они свои',
  'nsenter-not-installed': 'nsenter не установлен',
  'nsenter-does-not-work': 'nsenter здесь не работает ({problem})',
  'place-cannot-be-made': 'отдельное место для беседы не создать ({problem})',
  'layers-land': 'то, что пишет команда, попадает в рабочую папку, когда команда завершилась',
  'layers-need': 'для слоёв нужна программа {program}, а она не установлена',
  'overlay-not-mounted': 'не удаётся смонтировать overlay ({problem})',
  'layer-not-held': 'файловая система папки "{path}" не годится для слоёв',
  'path-not-for-overlay': 'в пути "{path}" есть двоеточие, запятая или обратная косая черта',
  'mounted-in-workspace': 'в рабочую папку смонтирована другая файловая система: "{path}"',
  'without-layers':
    'Без слоёв команды пишут прямо в рабочую папку: сделанное ими не отменить, а места, где файлы выполняются позже, для них закрыты.',
  'without-isolation-commands-would':
    'Без изоляции о командах, которые выполнялись бы без вопроса, сначала спрашивают, а остальные не выполняются, если это не разрешено особо.',
  'commands-with-network-reach':
    'Команды, которым дана сеть, достигают узлов со своей карточки через посредника исполнителя, но не саму эту машину. У программ, которые не умеют через посредника (например ssh), сети нет.',
  'this-runner-root-kernel': 'Исполнитель работает от root: число процессов root ядро не ограничивает.',
  'install-package-system': 'Установите пакет {name} вашей системы.',
  'ubuntu-keeps-programs-from':
    'Ubuntu не даёт программам создавать пространства имён пользователя: дайте bwrap профиль AppArmor с «userns,» или выполните sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0',
  'allow-user-namespaces-sudo':
    'Разрешите пространства имён пользователя (sudo sysctl user.max_user_namespaces=10000 и kernel.unprivileged_userns_clone=1, если такое есть); контейнер запускайте с профилем seccomp, который их допускает.',
  'no-layer-here': 'команду нельзя выполнить здесь в слое: {problem}',
  'files-of-others-in-layer':
    'Файл другого пользователя или не основной вашей группы нельзя изменить в слое («Value too large for defined data type»).',
  'nothing-to-undo-here': 'здесь не изменено ничего, что можно вернуть',
  'bubblewrap-does-not-work': 'bubblewrap здесь не работает ({problem})',

  // The workspace and the person's own files
  'folder-for-commands-refused': 'runner.json разрешает командам читать "{path}", но {problem}',
  'folder-holds-home': 'в этой папке ваша домашняя папка',
  'folder-holds-others': 'в этой папке чужие папки',
  'folder-of-system': 'это папка системы',
  'folder-of-secrets': 'она содержит {path} или лежит там, а это секретное место',
  'folder-sensitive': 'это секретное место: {kind}',
  'folder-badly-named': 'её имя не в UTF-8 или в нём есть двоеточие',
  'folder-not-searched': 'её нельзя просмотреть в поисках секретов: {problem}',
  'too-many-to-hide':
    'в папках, которые runner.json разрешает читать командам, {count} файлов нужно скрыть, больше {limit}',
  'workspace-holds-ours': 'в ней лежит то, что хранит сам Countersign ({path}); откройте папку глубже',
  'may-not-read': 'вам нельзя её читать',
  'may-not-read-open': 'вам нельзя её читать. Откройте свою папку или попросите изменить права',
  'workspace-has-runner':
    'у этой папки уже есть исполнитель: {holder}. Пользуйтесь им или сначала остановите его',
  'process-since': '{opener}, процесс {pid}, с {time}',
  'terminal-on': 'терминал на {machine}',
  'ceiling-not-valid': '{path} — не то, что нужно; образец: {"version": 1, "decide_here": ["HIGH"]}',
  'not-regular-file': 'это не обычный файл',
  'path-not-regular-file': '{path} — не обычный файл',
  'path-more-than-bytes': '{path} больше {limit} байт',
  'path-not-yours': '{path} принадлежит не вам',
  'path-open-to-others': '{path} могут менять другие; выполните для него chmod go-w',
  'path-in-open-folder': '{path} лежит в папке, в которую могут писать другие; выполните для неё chmod go-w',
  'not-json': 'это не JSON: {problem}',

  // Tool servers
  'have-not-allowed-yet': 'вы его ещё не разрешили',
  'changed-since-allowed': 'он изменился с тех пор, как вы его разрешили',
  'server-not-what-shown': 'Сервер «{name}» — уже не тот, что был показан: он изменился',
  'own-configuration-name': 'такое имя уже есть в ваших настройках',
  'name-must-be-letters': 'его имя — латинские буквы, цифры и дефисы, не больше 32',
  'needs-either-command-or': 'нужно одно из двух: command или url',
  'cwd-must-be-folder': 'cwd должна быть папкой внутри рабочей',
  'url-no-http-address': 'его url — не адрес http',
  'url-password-use-header': 'в его url пароль; используйте заголовок',
  'headers-would-travel-unencrypted': 'его заголовки пошли бы незашифрованными; нужен https',
  'failed-times-left-alone': '{problem} (сбоев: {times}, больше не запускается)',
  'connection-ended': 'связь с ним оборвалась',
  'list-tools-too-long': 'его список инструментов слишком длинный',
  'not-running': 'он не запущен',
  'does-not-read-what': 'он не читает того, что ему говорят',
  'what-writes-not-model': 'то, что он пишет, — не Model Context Protocol',
  'floods-us-with-messages': 'он засыпает сообщениями',
  'did-not-answer-time': 'он не ответил вовремя: {question}',
  'answer-not-what-protocol': 'его ответ не по протоколу: {question}',
  'first-question': 'первый вопрос',

  // Typed calls
  'name-tool': 'Назовите инструмент',
  'not-name-value': '«{word}» — не ИМЯ=ЗНАЧЕНИЕ',
  'given-twice': '«{name}» указано дважды',
  'not-closed': 'Не закрыта кавычка {quote}',
  'line-too-long': 'строка слишком длинная',
  'not-an-object': 'это не объект',
  'id-no-text-or': 'его id — не текст и не число',
  'names-no-tool': 'в нём не назван инструмент',

  // Wider approvals
  'saved-policy-counts-every': 'Сохраняется в вашей политике и действует во всех беседах и проектах.',
  'agent-not-asked-again': 'В этой беседе больше не спрашивается ни о чём, кроме вызовов высокого риска.',

  // "Not found" by kind, as whole sentences: a placeholder for the kind could not be told from a file named "run"
  'there-no-approval-here': 'Запроса с таким идентификатором здесь нет.',
  'there-no-grant-here': 'Разрешения с таким идентификатором здесь нет.',
  'there-no-project-here': 'Проекта с таким идентификатором здесь нет.',
  'there-no-run-here': 'Запуска с таким идентификатором здесь нет.',
  'there-no-runner-here': 'Исполнителя с таким идентификатором здесь нет.',
  'there-no-session-here': 'Беседы с таким идентификатором здесь нет.',
  'there-no-token-here': 'Токена с таким идентификатором здесь нет.',
  'there-no-tool-call': 'Вызова с таким идентификатором здесь нет.',
  'there-no-tool-server': 'Сервера инструментов с таким именем здесь нет.',

  // The log of decisions
  'row-cannot-be-read': 'Строка не читается.',
  'row-put': 'Строка вставлена.',
  'row-missing': 'Этой строки нет.',
  'row-does-not-follow': 'Строка не продолжает предыдущую.',
  'row-changed': 'Строка изменена.',
  'log-cut-off': 'Конец отрезан: строк было {rows}.',
  'end-not-one-store': 'Конец не тот, что записало хранилище.',
  'chain-does-not-contain': 'В цепочке нет того конца, который сохранил свидетель.',

  // Starting a server
  'unknown-option': 'Ключа {option} нет',
  'option-value-argument-missing': 'Ключу {option} нужно значение',
  'option-does-not-take': 'Ключ {option} не принимает значения',
  'configuration-not-valid': 'Настройки не годятся: {problems}',
  'database-use-by-another':
    'База «{path}» занята другим сервером Countersign. Сначала остановите его или дайте этому свой файл. Войти на тот: countersign serve --link',
  'address-in-use':
    'Адрес {address} уже занят другой программой. Остановите её или назовите другой порт: --port ПОРТ',

  // The connection
  'sign-code-unknown-used': 'код входа неизвестен, уже использован или старше 60 с',
  'made-for-another-purpose': 'он сделан для другого',
  'algorithm-not-accepted-here': 'его алгоритм здесь не принимается',
  'subject-not-usable': 'неясно, чей он',
  'names-key': 'он называет ключ',
  'authorization-header-none': 'в заголовке Authorization его нет',
  'server-did-not-answer': 'Сервер не ответил: {problem}. Попробуйте чуть позже.',
  'server-answered-with-status': 'Сервер ответил кодом {status}.',
  'server-ended': 'Сервер завершился ({how}).',
  'server-makes-no-sign': 'Этот сервер не делает ссылок для входа.',
  'server-closed-stream-opened': 'Сервер закрыл поток. Он открывается снова.',
  'this-undo-made-without': 'эта отмена делается без сервера',
  'does-not-fit-digest':
    'он не подходит к своему дайджесту, поэтому не показан и не может быть одобрен. Отклоните вызов и проверьте машину, которая исполняет',

  // git with the person's login
  'remote-redirects':
    '"{remote}" перенаправляет на другой адрес, а используется только адрес с карточки; человек должен исправить его через git remote set-url ({said})',
  'remote-refused-login':
    '"{remote}" не принял вход, который есть для него в git человека; человек должен один раз попробовать сам: {command} ({said})',
  'remote-refused-without-login': '"{remote}" не принял вход: {how}; человек должен исправить адрес ({said})',
  'http-not-encrypted': 'его адрес http:// не шифруется, поэтому вход человека туда не отправляется',
  'login-in-address': 'используется вход, записанный в его адресе',
  'git-settings-in-workspace':
    'ваша конфигурация git лежит внутри рабочей папки ({file}), где её мог изменить инструмент, поэтому ваш вход не используется; это должен сделать человек',
  'commits-not-shown':
    'на сервере нет коммитов ({hidden}), которых не показала карточка, потому что здесь они считаются опубликованными; выполните git fetch --prune {remote} и отправьте ещё раз',
  'push-not-taken': 'сервер не принял это: {problem}. С принуждением (force) никогда не отправляется',
  'push-fetch-first':
    '[rejected] (fetch first): в ветке там есть коммиты, которых нет здесь, поэтому выполните git fetch {remote}',
  'hook-refused': 'хук {hook} отказал: {said}',
  'url-hides-where': 'в его адресе есть символы, скрывающие, куда он ведёт',
  'url-login-hides-where': 'вход в его адресе скрывает, куда он ведёт',
  'url-host-unusable': 'имя узла в его адресе не годится',
};
