/**
 * What runner and client say about the machine, its settings and the connection: a person reads it in a terminal, in
 * an editor and on the page.
 */
export const russianMachine: Readonly<Record<string, string>> = {
  // How far a call is
  '{visited} entries looked at, {found} found': 'просмотрено имён: {visited}, найдено: {found}',
  '{found} files found so far': 'пока найдено файлов: {found}',
  '{done} of {total} MB read': 'прочитано {done} из {total} МБ',
  '{done} of {total} MB written': 'записано {done} из {total} МБ',

  // Isolation, as `countersign doctor` shows it
  'isolation needs Linux, and this is {platform}': 'изоляции нужен Linux, а это {platform}',
  'Run the runner in a Linux virtual machine or container.':
    'Запустите исполнителя в виртуальной машине или контейнере с Linux.',
  'prlimit is not installed': 'не установлен prlimit',
  "commands have no rights beyond the person's own": 'у команд нет прав сверх ваших собственных',
  'commands see no other process': 'команды не видят чужих процессов',
  'commands have no network unless it was granted': 'у команд нет сети, если её не дали',
  'sensitive files are hidden from commands that run unasked':
    'файлы с секретами скрыты от команд, которые выполняются без вопроса',
  'there is no table of system calls for {arch}: they are not filtered':
    'для {arch} нет таблицы системных вызовов: они не фильтруются',
  'Nothing; namespaces hold without it.': 'Ничего не нужно: пространства имён действуют и без этого.',
  'dangerous system calls are refused': 'опасные системные вызовы отклоняются',
  'memory, processor time, files and processes of commands are limited':
    'память, время процессора, файлы и процессы команд ограничены',
  'Without isolation, commands that would run unasked ask first, and the others do not run unless the operator allows it.':
    'Без изоляции о командах, которые выполнялись бы без вопроса, сначала спрашивают, а остальные не выполняются, если это не разрешено особо.',
  'Commands with network reach it through a proxy of the runner, never this machine itself. Programs that know no proxy, such as ssh, have no network.':
    'Команды, которым дана сеть, выходят в неё через посредника исполнителя, но не на саму эту машину. У программ, которые не умеют через посредника (например ssh), сети нет.',
  'This runner is root: the kernel does not limit how many processes root starts.':
    'Исполнитель работает от root: число процессов root ядро не ограничивает.',
  'Install the package {name} of your system.': 'Установите пакет {name} вашей системы.',
  'Ubuntu keeps programs from making user namespaces: give bwrap an AppArmor profile with "userns,", or run sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0':
    'Ubuntu не даёт программам создавать пространства имён пользователя: дайте bwrap профиль AppArmor с «userns,» или выполните sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0',
  'Allow user namespaces (sudo sysctl user.max_user_namespaces=10000, and kernel.unprivileged_userns_clone=1 where that exists); in a container, start it with a seccomp profile that allows them.':
    'Разрешите пространства имён пользователя (sudo sysctl user.max_user_namespaces=10000 и kernel.unprivileged_userns_clone=1, если такое есть); контейнер запускайте с профилем seccomp, который их допускает.',
  'bubblewrap does not work here ({problem})': 'bubblewrap здесь не работает ({problem})',

  // The workspace and the person's own files
  'it contains what Countersign itself keeps ({path}); open a folder below it':
    'в ней лежит то, что хранит сам Countersign ({path}); откройте папку глубже',
  'you may not read it': 'вам нельзя её читать',
  'you may not read it. Open a folder of your own, or have its permissions changed':
    'вам нельзя её читать. Откройте свою папку или попросите изменить права',
  'this workspace has a runner already: {holder}. Use that one, or stop it first':
    'у этой папки уже есть исполнитель: {holder}. Пользуйтесь им или сначала остановите его',
  '{program}, process {pid}, since {time}': '{program}, процесс {pid}, с {time}',
  'terminal on {machine}': 'терминал на {machine}',
  '{path} is not valid; it looks like {"version": 1, "decide_here": ["HIGH"]}':
    '{path} — не то, что нужно; образец: {"version": 1, "decide_here": ["HIGH"]}',
  'it is not a regular file': 'это не обычный файл',
  'it has more than {limit} bytes': 'он больше {limit} байт',
  '{path} is not a regular file': '{path} — не обычный файл',
  '{path} has more than {limit} bytes': '{path} больше {limit} байт',
  '{path} does not belong to you': '{path} принадлежит не вам',
  '{path} can be written by others; run chmod go-w on it':
    '{path} могут менять другие; выполните для него chmod go-w',
  '{path} stands in a folder that others can write; run chmod go-w on that':
    '{path} лежит в папке, в которую могут писать другие; выполните для неё chmod go-w',
  'it is not JSON: {problem}': 'это не JSON: {problem}',

  // Tool servers
  'you have not allowed it yet': 'вы его ещё не разрешили',
  'it has changed since you allowed it': 'он изменился с тех пор, как вы его разрешили',
  'The server "{name}" is not what was shown: it has changed':
    'Сервер «{name}» — уже не тот, что был показан: он изменился',
  'your own configuration has that name': 'такое имя уже есть в ваших настройках',
  'its name must be letters, digits and hyphens, at most 32':
    'его имя — латинские буквы, цифры и дефисы, не больше 32',
  'it needs either a command or a url': 'нужно одно из двух: command или url',
  'cwd must be a folder of the workspace': 'cwd должна быть папкой внутри рабочей',
  'its url is no http address': 'его url — не адрес http',
  'its url has a password in it; use a header': 'в его url пароль; используйте заголовок',
  'its headers would travel unencrypted; use https': 'его заголовки пошли бы незашифрованными; нужен https',
  '{problem} (it failed {times} times and is left alone)':
    '{problem} (сбоев: {times}, больше не запускается)',
  'the connection to it ended': 'связь с ним оборвалась',
  'its list of tools is too long': 'его список инструментов слишком длинный',
  'it is not running': 'он не запущен',
  'it does not read what it is told': 'он не читает того, что ему говорят',
  'what it writes is not the Model Context Protocol': 'то, что он пишет, — не Model Context Protocol',
  'it floods us with messages': 'он засыпает сообщениями',
  'it did not answer {question} in time': 'он не ответил вовремя: {question}',
  'its answer to {question} is not what the protocol says': 'его ответ не по протоколу: {question}',
  'the first question': 'первый вопрос',

  // Calls as they are typed
  'Name a tool': 'Назовите инструмент',
  '"{word}" is not NAME=VALUE': '«{word}» — не ИМЯ=ЗНАЧЕНИЕ',
  '"{name}" is given twice': '«{name}» указано дважды',
  'A {quote} is not closed': 'Не закрыта кавычка {quote}',
  'the line is too long': 'строка слишком длинная',
  'it is not an object': 'это не объект',
  'its id is no text or number': 'его id — не текст и не число',
  'it names no tool': 'в нём не назван инструмент',

  // Wider approvals
  'It is saved in your policy and counts in every session, in all of your projects.':
    'Сохраняется в вашей политике и действует во всех беседах и проектах.',
  'The agent is not asked again in this session, except for HIGH calls.':
    'В этой беседе больше не спрашивается ни о чём, кроме вызовов высокого риска.',

  // What is not there, each as a whole sentence: a file may be called "run" as well
  'There is no approval here with that id.': 'Запроса с таким идентификатором здесь нет.',
  'There is no grant here with that id.': 'Разрешения с таким идентификатором здесь нет.',
  'There is no project here with that id.': 'Проекта с таким идентификатором здесь нет.',
  'There is no run here with that id.': 'Запуска с таким идентификатором здесь нет.',
  'There is no runner here with that id.': 'Исполнителя с таким идентификатором здесь нет.',
  'There is no session here with that id.': 'Беседы с таким идентификатором здесь нет.',
  'There is no token here with that id.': 'Токена с таким идентификатором здесь нет.',
  'There is no tool call here with that id.': 'Вызова с таким идентификатором здесь нет.',
  'There is no tool server here with that id.': 'Сервера инструментов с таким именем здесь нет.',

  // The log of decisions
  'The row cannot be read.': 'Строка не читается.',
  'The row was put in.': 'Строка вставлена.',
  'The row is missing.': 'Этой строки нет.',
  'The row does not follow the one before it.': 'Строка не продолжает предыдущую.',
  'The row was changed.': 'Строка изменена.',
  'The end was cut off: there were {rows} rows.': 'Конец отрезан: строк было {rows}.',
  'The end is not the one that the store wrote.': 'Конец не тот, что записало хранилище.',
  'The chain does not contain the head that the witness kept.':
    'В цепочке нет того конца, который сохранил свидетель.',

  // Starting a server
  "Unknown option '{option}'": 'Ключа {option} нет',
  "Option '{option} <value>' argument missing": 'Ключу {option} нужно значение',
  "Option '{option}' does not take an argument": 'Ключ {option} не принимает значения',
  'The configuration is not valid: {problems}': 'Настройки не годятся: {problems}',
  'The database "{path}" is in use by another Countersign server. Stop that one first, or give this one a file of its own. To sign in to that one: countersign serve --link':
    'База «{path}» занята другим сервером Countersign. Сначала остановите его или дайте этому свой файл. Войти на тот: countersign serve --link',
  'listen EADDRINUSE: address already in use {address}':
    'Адрес {address} уже занят другой программой. Остановите её или назовите другой порт: --port ПОРТ',

  // The connection
  'the sign-in code is unknown, used or older than 60 s':
    'код входа неизвестен, уже использован или старше 60 с',
  'it was made for another purpose': 'он сделан для другого',
  'its algorithm is not accepted here': 'его алгоритм здесь не принимается',
  'its subject is not usable': 'неясно, чей он',
  'it names a key': 'он называет ключ',
  'the Authorization header has none': 'в заголовке Authorization его нет',
  'The server did not answer: {problem}. Try again in a moment.':
    'Сервер не ответил: {problem}. Попробуйте чуть позже.',
  'The server answered with status {status}.': 'Сервер ответил кодом {status}.',
  'The server ended ({how}).': 'Сервер завершился ({how}).',
  'The server makes no sign-in links.': 'Этот сервер не делает ссылок для входа.',
  'The server closed the stream. It is opened again.': 'Сервер закрыл поток. Он открывается снова.',
  'The decision was not sent: the card was withdrawn.': 'Решение не отправлено: карточка снята.',
  'this undo is made without a server': 'эта отмена делается без сервера',
  'it does not fit its digest, so it is not shown and cannot be approved. Reject the call, and look at the machine that executes it':
    'он не подходит к своему дайджесту, поэтому не показан и не может быть одобрен. Отклоните вызов и проверьте машину, которая исполняет',
};
