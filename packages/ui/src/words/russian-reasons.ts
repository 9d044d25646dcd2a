/**
 * Why a call has its risk or was refused, by the words of packages/policy and packages/tool-runner. A test asks every
 * rule of theirs for its sentence (tooling/reasons-in-russian.test.ts).
 */
export const russianReasons: Readonly<Record<string, string>> = {
  // Reading
  'only reads a file of the workspace': 'только читает файл рабочей папки',
  'only asks a language server about a file of the workspace':
    'только спрашивает языковой сервер о файле рабочей папки',
  'only lists a directory of the workspace': 'только перечисляет содержимое папки',
  'only searches in the workspace': 'только ищет в рабочей папке',
  'only reads from the git repository': 'только читает из репозитория git',
  'only lists branches': 'только перечисляет ветки',
  "concerns a background job of the session's own": 'касается фоновой задачи этой же беседы',
  'the pattern picks sensitive files': 'шаблон выбирает файлы с секретами',
  'the regular expression cannot be used: {problem}': 'регулярное выражение не годится: {problem}',
  'the pattern cannot be used: {problem}': 'шаблон не годится: {problem}',

  // Files
  'changes a source or document file': 'меняет исходный код или документ',
  'changes a script or a configuration, which can change what other programs do':
    'меняет скрипт или настройки, от которых зависит работа других программ',
  'changes a file of a kind that is not known to be plain text or source':
    'меняет файл, о виде которого неизвестно, что это простой текст или исходный код',
  'is an executable binary by its extension': 'по расширению — исполняемая программа',
  'deletes a file': 'удаляет файл',
  'creates a directory in the workspace': 'создаёт папку в рабочей папке',
  'has several names (hard links), so it may also be a file outside the workspace':
    'имеет несколько имён (жёсткие ссылки) и может быть также файлом вне рабочей папки',
  'is a sensitive file ({kind}) that your own policy makes available':
    'файл с секретами ({kind}), который открывает ваша собственная политика',
  '"{path}" is a sensitive file: {kind}': '«{path}» — файл с секретами: {kind}',
  '"{path}": {problem}': '«{path}»: {problem}',
  'leads outside the workspace': 'ведёт за пределы рабочей папки',
  '"{path}" is a device, pipe or socket': '«{path}» — устройство, канал или сокет',
  '"{path}" is an executable binary by its extension': '«{path}» по расширению — исполняемая программа',
  '"{path}" holds secrets of this machine': 'в «{path}» хранятся секреты этой машины',
  'there is nothing there': 'там ничего нет',
  'is not a directory': 'это не папка',
  'the file is larger than {limit} bytes': 'файл больше {limit} байт',
  'the content is larger than {limit} bytes': 'содержимое больше {limit} байт',
  'it asks for more than {limit} seconds': 'запрошено больше {limit} с',

  // Places that execute later
  'changes a {place}': 'меняет: {place}',
  'part of the git repository itself, which git executes or obeys later':
    'часть самого репозитория git, которую git потом выполняет или слушается',
  'part of a Mercurial, Sapling or Jujutsu repository, which that program executes or obeys later':
    'часть репозитория Mercurial, Sapling или Jujutsu, которую эта программа потом выполняет или слушается',
  'configuration of an automatic build, which runs with its own rights':
    'настройки автоматической сборки, у которой свои права',
  'workflow or action of a code host, which runs with its own rights':
    'сценарий хостинга кода, у которого свои права',
  'editor or agent configuration, which can start programs when the folder is opened':
    'настройки редактора или агента, которые могут запускать программы при открытии папки',
  'hook that runs on the next commit or install':
    'хук, который сработает при следующем коммите или установке',
  'shell start-up file, which runs when a shell or directory is opened':
    'файл запуска оболочки, который выполняется при её открытии или входе в папку',
  'package manager or interpreter start-up configuration, which decides what runs':
    'настройки менеджера пакетов или интерпретатора, которые решают, что запускается',
  "Countersign's policy for this workspace": 'политика Countersign для этой рабочей папки',

  // Sensitive files
  'environment file with secrets': 'файл окружения с секретами',
  'credentials file': 'файл учётных данных',
  'directory with keys and credentials': 'папка с ключами и учётными данными',
  'private key': 'закрытый ключ',
  'package registry or network login': 'вход в реестр пакетов или сеть',
  'git credential store': 'хранилище паролей git',
  "Countersign's own configuration or tokens": 'собственные настройки или токены Countersign',
  'a pattern that picks such files': 'шаблон, который выбирает такие файлы',
  'device, pipe or socket': 'устройство, канал или сокет',

  // Git tools
  'makes a commit': 'делает коммит',
  'creates a branch': 'создаёт ветку',
  'publishes commits to another machine, which cannot be undone from here':
    'публикует коммиты на другой машине; отсюда это не отменить',

  // Commands
  'only reads inside the workspace': 'только читает внутри рабочей папки',
  'only prints text or a fact about this machine': 'только печатает текст или сведение об этой машине',
  'has an option that Countersign does not know, so its effect is not known either':
    'есть ключ, которого Countersign не знает, поэтому неизвестно и его действие',
  'has an option that Countersign does not know, and this program can run code':
    'есть ключ, которого Countersign не знает, а эта программа может выполнять код',
  'uses a file that has a second name, which may be outside the workspace':
    'использует файл, у которого есть второе имя, возможно вне рабочей папки',
  'names more than a thousand files': 'называет больше тысячи файлов',
  'changes its directory more often than any command needs to':
    'меняет папку чаще, чем нужно какой-либо команде',
  'uses a sensitive file that your own policy file allows':
    'использует файл с секретами, который разрешает ваш файл политики',
  'writes to a place whose content another program executes later':
    'пишет туда, откуда другая программа потом выполняет содержимое',
  'unpacks into a directory that holds places whose content another program executes later':
    'распаковывает в папку, где есть места, откуда другая программа потом выполняет содержимое',
  'has a file pattern that picks sensitive files': 'есть шаблон, который выбирает файлы с секретами',
  'has a file pattern that also picks sensitive files': 'есть шаблон, который выбирает и файлы с секретами',
  'is a program that your own policy file allows; Countersign does not know its options':
    'программа, которую разрешает ваш файл политики; её ключей Countersign не знает',
  'hands a path outside the workspace to a script': 'передаёт скрипту путь вне рабочей папки',
  'takes its patterns from a file, and so can show what is in that file':
    'берёт шаблоны из файла и так может показать его содержимое',
  'follows every link it meets, also out of the workspace':
    'идёт по каждой ссылке, в том числе за пределы рабочей папки',
  'starts another program for what it finds; use the output of find, or shell_exec':
    'запускает другую программу для найденного; используйте вывод find или shell_exec',
  'deletes or writes files; use delete_file or write_file':
    'удаляет или пишет файлы; используйте delete_file или write_file',
  'takes the places to search from a file': 'берёт места поиска из файла',
  'looks for sensitive files by name': 'ищет файлы с секретами по имени',
  'lists file names of the whole machine, not only of the workspace':
    'перечисляет имена файлов всей машины, а не только рабочей папки',
  'shows what links lead to, also outside the workspace':
    'показывает, куда ведут ссылки, в том числе за пределы рабочей папки',
  'waits for more and does not end by itself': 'ждёт продолжения и сама не заканчивается',
  'takes the files to count from a list in a file': 'берёт список файлов для подсчёта из файла',
  'compiles code: reads whatever the source includes and writes a program':
    'компилирует: читает всё, что подключает исходный код, и записывает программу',
  'starts a program of its choice instead of the compiler': 'запускает вместо компилятора другую программу',
  'makes the compiler load a plug-in, other settings or other tools from a place of its choice':
    'велит компилятору загрузить модуль, другие настройки или инструменты из указанного места',
  'runs a script of the workspace with Python': 'выполняет скрипт рабочей папки на Python',
  'runs code that is written in the command itself or comes from standard input':
    'выполняет код, написанный в самой команде или пришедший на ввод',
  'runs an installed module as a program': 'выполняет установленный модуль как программу',
  'loads further code or settings, installs packages, removes a folder or starts a program of its choice':
    'загружает другой код или настройки, ставит пакеты, удаляет папку или запускает программу по своему выбору',
  'downloads and installs packages, whose set-up code runs at once':
    'скачивает и ставит пакеты; их код установки выполняется сразу',
  'runs the tests or checks of the workspace with a well-known module':
    'запускает тесты или проверки рабочей папки известным модулем',
  'runs a script of the workspace with Node.js': 'выполняет скрипт рабочей папки на Node.js',
  'loads further code, settings or environment before the script':
    'перед скриптом загружает другой код, настройки или окружение',
  'opens a debugger, through which any code can be run':
    'открывает отладчик, через который можно выполнить любой код',
  'writes profiles, reports or keys to files of its choice':
    'пишет профили, отчёты или ключи в указанные файлы',
  'runs npm in the workspace': 'запускает npm в рабочей папке',
  'tells npm which program, shell or settings to use':
    'велит npm использовать указанную программу, оболочку или настройки',
  'takes packages from another source than the configured registry':
    'берёт пакеты не из настроенного реестра',
  'works on the packages of the whole machine, not of the workspace':
    'работает с пакетами всей машины, а не рабочей папки',
  'runs scripts that package.json defines': 'запускает скрипты из package.json',
  'downloads packages and runs the code of third parties: their install scripts now, the rest when it is used':
    'скачивает пакеты и выполняет чужой код: скрипты установки сейчас, остальное при использовании',
  'runs a command or a downloaded package': 'выполняет команду или скачанный пакет',
  'changes packages or accounts in the registry, for everybody':
    'меняет пакеты или учётные записи в реестре, для всех',
  'changes settings that decide what runs later': 'меняет настройки, которые решают, что запустится потом',
  'is an npm command that Countersign does not know': 'команда npm, которой Countersign не знает',
  'runs git in the workspace': 'запускает git в рабочей папке',
  'makes git start a program of its choice': 'велит git запустить указанную программу',
  'sets git configuration, which can make git start programs':
    'задаёт настройки git, от которых git может запускать программы',
  'can lose work that git cannot bring back': 'может потерять работу, которую git не вернёт',
  'changes a repository on another machine, where it cannot be undone from here':
    'меняет репозиторий на другой машине; отсюда это не отменить',
  'talks to another machine': 'обращается к другой машине',
  'uses an address that is itself a command': 'использует адрес, который сам является командой',
  'uses another repository, whose configuration decides what runs':
    'использует другой репозиторий, настройки которого решают, что запустится',
  'writes its output to a file of its choice': 'пишет вывод в указанный файл',
  'takes text, names or patterns from a file': 'берёт текст, имена или шаблоны из файла',
  'lets a patch write outside the workspace': 'позволяет заплатке писать вне рабочей папки',
  'reads or changes git settings of the person or the machine, outside the workspace':
    'читает или меняет настройки git человека или машины, вне рабочей папки',
  'is a git command or alias that Countersign does not know':
    'команда или псевдоним git, которых Countersign не знает',
  'writes by hand what is known of branches on another machine; a push would then show fewer commits than it sends':
    'вручную записывает, что известно о ветках на другой машине; тогда push покажет меньше коммитов, чем отправит',
  'could read the sensitive files of the workspace': 'сможет прочитать файлы с секретами в рабочей папке',
  'changes the git configuration: where this repository fetches from and pushes to':
    'меняет настройки git: откуда этот репозиторий получает и куда отправляет',
  'packs many files at once': 'упаковывает сразу много файлов',
  'starts another program to test the archive': 'запускает другую программу для проверки архива',
  'removes files from the disk after packing them': 'удаляет файлы с диска после упаковки',
  'takes the files to pack from a list': 'берёт файлы для упаковки из списка',
  'unpacks or reads an archive, whose content decides which files it writes':
    'распаковывает или читает архив, содержимое которого решает, какие файлы будут записаны',
  'lets the archive write outside the directory it is unpacked into':
    'позволяет архиву писать вне папки, куда он распаковывается',
  'packs or unpacks many files at once': 'упаковывает или распаковывает сразу много файлов',
  'starts another program': 'запускает другую программу',
  'names an archive on another machine, which starts a remote shell':
    'называет архив на другой машине, что запускает удалённую оболочку',
  'lets the archive write to absolute paths, also outside the workspace':
    'позволяет архиву писать по абсолютным путям, в том числе вне рабочей папки',
  'packs what links lead to, also outside the workspace':
    'упаковывает то, куда ведут ссылки, в том числе вне рабочей папки',
  'removes files from the disk': 'удаляет файлы с диска',
  'takes the files, or even options, from a list in a file': 'берёт файлы и даже ключи из списка в файле',
  "sets this machine's clock": 'переводит часы этой машины',
  'reads dates from a file, and shows the lines that are none':
    'читает даты из файла и показывает строки, которые ими не являются',
  '"{program}" is not one of the programs that may run without a shell':
    '«{program}» не входит в число программ, которые можно запускать без оболочки',
  'has an argument that contains a NUL character: no program can receive it':
    'есть аргумент с символом NUL: ни одна программа его не примет',
  'an argument that contains a NUL character': '(с символом NUL)',
  'no program can receive it': 'ни одна программа его не примет',
  'has {argument}: {problem}': 'есть {argument}: {problem}',
  'is longer than any command needs to be': 'длиннее, чем нужно какой-либо команде',

  // The person's own tools
  'a tool of your server "{server}": its own program decides what it touches, so neither paths nor commands in the parameters are checked':
    'инструмент вашего сервера «{server}»: что он затронет, решает его программа, поэтому ни пути, ни команды в параметрах не проверяются',
  'it says of itself that it may destroy something': 'сам о себе говорит, что может что-то уничтожить',
  'it says of itself that it needs your approval': 'сам о себе говорит, что ему нужно ваше одобрение',
  'it says of itself that it only reads; nobody has checked that':
    'сам о себе говорит, что только читает; этого никто не проверял',
  'your tool configuration says that it need not ask': 'в ваших настройках сказано о нём не спрашивать',

  // Shell lines
  'writes to a {place}': 'пишет: {place}',
  'runs a shell line, which can do anything your account can do':
    'выполняет строку оболочки, которая может всё, что может ваша учётная запись',
  'the program is only known when it runs': 'какая это программа, известно только при запуске',
  'executes text that is only known when it runs': 'выполняет текст, известный только при запуске',
  'computes what it runs: bash executes the commands in a value that it takes for a number, an index or a name':
    'вычисляет то, что выполнит: bash исполняет команды внутри значения, которое служит числом, индексом или именем',
  'writes to a place that is only known when it runs': 'пишет туда, что известно только при запуске',
  'removes something that is only known when it runs; if the name comes out empty or wrong, more is lost than meant':
    'удаляет то, что известно только при запуске; если имя окажется пустым или неверным, потеряется больше задуманного',
  'removes everything in the directory it runs in, which may be the whole workspace':
    'удаляет всё в папке, где выполняется, а это может быть вся рабочая папка',
  'names a place outside the workspace': 'называет место вне рабочей папки',
  'writes outside the workspace': 'пишет вне рабочей папки',
  'follows a link that leads outside the workspace': 'идёт по ссылке за пределы рабочей папки',
  'uses a sensitive file that your own policy makes available':
    'использует файл с секретами, который открывает ваша собственная политика',
  'opens a network connection directly from the shell': 'открывает сетевое соединение прямо из оболочки',
  'sets a variable whose text other programs execute':
    'задаёт переменную, текст которой выполняют другие программы',
  'sets a variable that makes programs load other code':
    'задаёт переменную, из-за которой программы загружают другой код',
  'changes where programs are found': 'меняет, где ищутся программы',
  'executes a file; its content is what will happen': 'выполняет файл; что произойдёт, решает его содержимое',
  'executes code of another language that is written into the line':
    'выполняет код на другом языке, вписанный в строку',
  'runs commands on another machine': 'выполняет команды на другой машине',
  'makes something run later, when nobody is asked': 'устраивает запуск на потом, когда никого не спросят',
  'names files by a pattern that may include secrets':
    'называет файлы шаблоном, под который могут попасть секреты',
  'runs something more when the shell ends or gets a signal':
    'выполняет ещё что-то, когда оболочка заканчивается или получает сигнал',
  'makes a name stand for another program': 'делает имя обозначением другой программы',
  'deletes files, which cannot be undone': 'удаляет файлы, это не отменить',
  'deletes what it finds, which cannot be undone': 'удаляет найденное, это не отменить',
  'moves or replaces files': 'перемещает или заменяет файлы',
  'copies raw data and overwrites its target': 'копирует сырые данные поверх прежних',
  'opens files to every user of this machine': 'открывает файлы всем пользователям этой машины',
  'sends or fetches data over the network': 'отправляет или получает данные по сети',
  'sends data from this machine or skips checks of the connection':
    'отправляет данные с этой машины или пропускает проверки соединения',
  'creates or changes keys': 'создаёт или меняет ключи',
  'handles keys, certificates or encrypted data':
    'работает с ключами, сертификатами или шифрованными данными',
  'installs or removes software of this machine': 'ставит или удаляет программы этой машины',
  'installs packages, which run code of their authors': 'ставит пакеты, которые выполняют код своих авторов',
  'ends processes': 'завершает процессы',
  'changes or discards work in git, or sends it away':
    'меняет или отбрасывает работу в git либо отправляет её',
  'runs containers, which can reach this machine': 'запускает контейнеры, которым доступна эта машина',
  'changes services or settings of this machine': 'меняет службы или настройки этой машины',
  'changes who may use files': 'меняет, кому доступны файлы',
  "starts a program outside this shell's control": 'запускает программу вне власти этой оболочки',
  'decodes or encodes data': 'кодирует или раскодирует данные',
  'changes what git obeys or executes: its configuration, its hooks':
    'меняет то, чего git слушается или что выполняет: настройки, хуки',
  'unpacks an archive into the workspace root, where its files can replace any other':
    'распаковывает архив в корень рабочей папки, где его файлы могут заменить любые другие',
  'does not parse: {problem}': 'не разбирается: {problem}',
  'cannot be checked: {problem}': 'не поддаётся проверке: {problem}',
  'the command is not usable: {problem}': 'команда не годится: {problem}',
  'the command is too long to be checked': 'команда слишком длинна, чтобы её проверить',

  // Catastrophes
  'it removes a whole system, a home directory, or everything in one':
    'удаляет всю систему, домашнюю папку или всё в ней',
  'it removes the workspace itself or a directory above it': 'удаляет саму рабочую папку или папку над ней',
  'it starts copies of itself without end until the machine stops answering (a fork bomb)':
    'без конца запускает свои копии, пока машина не перестанет отвечать (fork-бомба)',
  'it starts copies of itself without end until the machine stops answering (a fork bomb) ({operand})':
    'без конца запускает свои копии, пока машина не перестанет отвечать (fork-бомба) ({operand})',
  'it writes to a disk, raw memory or a kernel switch':
    'пишет прямо на диск, в память или в переключатель ядра',
  'it formats or repartitions a disk': 'форматирует диск или меняет его разделы',
  'it asks for the rights of another user or of the administrator':
    'требует прав другого пользователя или администратора',
  'it lets a program run with the rights of its owner, or gives it special rights':
    'позволяет программе работать с правами владельца или даёт ей особые права',
  'it changes user accounts or passwords of this machine': 'меняет учётные записи или пароли этой машины',
  'it stops or restarts the machine, or every process on it':
    'останавливает или перезапускает машину либо все её процессы',
  'something downloaded would be executed without anybody having seen it':
    'скачанное выполнилось бы, хотя его никто не видел',
  'text that was encoded or transformed so that nobody can read it would be executed':
    'выполнился бы текст, закодированный или изменённый так, что его не прочитать',
  'it loads or removes code of the operating system kernel': 'загружает или убирает код ядра системы',
  'it changes the rights of a whole system or home directory': 'меняет права всей системы или домашней папки',
  'it hands a shell on this machine to somebody on the network': 'отдаёт оболочку этой машины кому-то в сети',
  'it moves away a whole system, a home directory or the workspace':
    'перемещает всю систему, домашнюю или рабочую папку',
  '{problem} ({operand})': '{problem} ({operand})',

  // Policies, the runner's own verdict
  'your own policy allows this without asking': 'ваша политика разрешает это без вопросов',
  'your own policy wants this to be asked': 'ваша политика велит об этом спрашивать',
  "the workspace's policy wants this to be asked": 'политика рабочей папки велит об этом спрашивать',
  'you chose "always" on an approval card': 'вы выбрали «всегда» на карточке',
  'may show what rule "{rule}" denies: {path}': 'может показать то, что запрещает правило «{rule}»: {path}',
  'denied by the {owner} policy: {why}': 'запрещено политикой ({owner}): {why}',
  'rule {rule} denies this': 'это запрещает правило {rule}',
  "person's own": 'ваша собственная',
  "workspace's": 'рабочей папки',
  "machine's": 'этой машины',
  'the server takes it for {risk}': 'сервер считает риск таким: {risk}',
  'very many files of the workspace have several names (hard links), so it may show files outside the workspace':
    'очень многие файлы рабочей папки имеют несколько имён (жёсткие ссылки), поэтому может быть показан файл вне рабочей папки',
  'this machine cannot isolate programs, so each one is asked about':
    'эта машина не может изолировать программы, поэтому спрашивается о каждой',
  'and {rest} more reasons; fetch the approval to see them': 'и ещё причин: {rest}',
  'and {rest} more reasons': 'и ещё причин: {rest}',
  'it has more than {limit} bytes': 'в нём больше {limit} байт',
  'a name in it is longer than {limit} bytes': 'одно из имён в нём длиннее {limit} байт',
  'the server did not take the preview: {problem}': 'сервер не принял предпросмотр: {problem}',

  // Problems that errors quote
  'it is empty': 'он пуст',
  'it contains a NUL character': 'в нём есть символ NUL',
  'it is not valid Unicode': 'это неправильный Юникод',
  'it contains a backslash; components are separated by /':
    'в нём есть обратная косая черта; части разделяет /',
  'it starts with a drive letter': 'он начинается с буквы диска',
  'it names an alternate data stream': 'он называет дополнительный поток данных',
  'it leads outside the folder': 'он ведёт за пределы папки',
  'its links never end': 'его ссылки не кончаются',
  'git would read it as a pattern or an option; name plain files':
    'git принял бы это за шаблон или ключ; называйте простые файлы',
  'the approval is older than 10 minutes': 'одобрению больше 10 минут',
  'the files or the command are not those that were shown': 'файлы или команда не те, что были показаны',
  'the rule was changed or taken out of your policy': 'правило изменено или убрано из вашей политики',
  'your policy has changed since, and wants this to be asked':
    'ваша политика с тех пор изменилась и требует спросить об этом',
  'the grant was revoked': 'разрешение отозвано',
  'it is not one of the offered scopes': 'этого нет среди предложенного',
  'no copy is kept of what was there before': 'копия прежнего содержимого не сохранена',
  'it was undone already': 'он уже отменён',
  'it changed no file': 'он не менял файлов',
  'only what file tools changed can be undone': 'вернуть можно только то, что изменили файловые инструменты',
  'it has expired': 'срок истёк',
  'it was revoked': 'он отозван',
  'it is not one of ours': 'он не наш',
  'it is stopping': 'он останавливается',
  'Free space on the disk of the database file': 'Освободите место на диске с файлом базы данных',
  'Free space, or what else it lacks, on the machine of the PostgreSQL server':
    'Освободите место или то, чего ещё не хватает, на машине сервера PostgreSQL',
  'its signature is not written as it was made': 'его подпись записана не так, как была сделана',
  'it is shutting down': 'он останавливается',
  'bubblewrap is not installed': 'не установлен bubblewrap',
  'prlimit (of util-linux) is not installed': 'не установлен prlimit (из util-linux)',
  'Use the tool {tool} instead.': 'Используйте инструмент {tool}.',
  'Name the program without a path: {program}.': 'Назовите программу без пути: {program}.',
  'Give the program alone as command and each argument as an entry of args; for a shell line use shell_exec.':
    'В command дайте одну программу, а каждый аргумент — отдельно в args; для строки оболочки есть shell_exec.',
  'Allowed are {programs}; if it must be another program, use shell_exec, which asks the person.':
    'Разрешены {programs}; если нужна другая программа, используйте shell_exec, который спросит человека.',
  'exit code {code}': 'код выхода {code}',
};
