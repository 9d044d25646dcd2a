import type { Words } from './english.ts';

const count = (n: number, one: string, few: string, many: string): string => {
  const [last, lastTwo] = [n % 10, n % 100];
  const form =
    last === 1 && lastTwo !== 11
      ? one
      : last >= 2 && last <= 4 && (lastTwo < 12 || lastTwo > 14)
        ? few
        : many;
  return `${n} ${form}`;
};

export const russian: Words = {
  language: 'ru',
  signIn: {
    prompt: 'Вставьте ссылку для входа, которую напечатал сервер, или свой токен',
    placeholder: 'http://127.0.0.1:4180/#sign-in=…',
    badLink:
      'Это не ссылка для входа. Её печатает «countersign serve», ещё одну даст «countersign serve --link»; она выглядит как http://127.0.0.1:4180/#sign-in=…',
    malformed: (text) => `«${text}» — не адрес сервера.`,
    secret: 'Адрес с паролем или запросом не используется: его могут увидеть другие.',
    plain: (origin) =>
      `${origin} получил бы ваш токен открыто. Используйте https или разрешите это настройкой countersign.allowHttp.`,
    failed: (problem) => `Войти не удалось: ${problem}`,
    done: (server) => `Вход выполнен: ${server}.`,
    out: 'Вы вышли.',
    ended: 'Ваш вход в Countersign закончился.',
    again: 'Войти',
  },
  localServer: {
    terminal: 'Сервер Countersign',
    waiting: 'Ждём, пока сервер напечатает ссылку для входа …',
    linkInTerminal: 'Войти в Countersign по этой ссылке',
    pasteIt: 'Когда сервер напечатает в терминале ссылку для входа, вставьте её сюда',
    ended: (command) =>
      `«${command}» закончилась без ссылки для входа; почему, сказано в терминале. Установлена ли программа? Что запускается, задаёт настройка countersign.localServer.command.`,
    openSetting: 'Открыть настройку',
    linkQuestion: (server) => `Войти на ${server}?`,
    linkDetail:
      'Эту ссылку напечатала программа в терминале. Сервер, на который вы входите, может просить эту машину выполнять инструменты: продолжайте, только если он ваш.',
  },
  status: {
    signedOut: 'Countersign: вход не выполнен',
    connecting: 'подключение',
    running: 'подключено; одобренные вызовы выполняются здесь',
    watching: (holder) => `подключено; инструменты выполняет ${holder}`,
    untrusted: 'подключено; здесь ничего не выполняется, пока вы не доверяете рабочей области',
    disabled: 'подключено; здесь ничего не выполняется (countersign.runner.enabled выключено)',
    waiting: (problem, seconds) => `${problem} Следующая попытка через ${seconds} с.`,
    failed: (problem) => problem,
    noFolder: 'Откройте папку: у каждой папки рабочей области свой исполнитель.',
    pending: (n) => `${count(n, 'одобрение ждёт', 'одобрения ждут', 'одобрений ждут')} вас`,
    nothingPending: 'вас ничто не ждёт',
  },
  approval: {
    review: 'Рассмотреть',
    approve: 'Одобрить',
    approveMore: 'Одобрить больше…',
    reject: 'Отклонить…',
    showAll: 'Показать всё',
    decide: 'Решить',
    confirmApprove: 'Одобрить, это обдумано',
    lookAgain: 'Посмотреть ещё раз',
    highQuestion: (description) => `ВЫСОКИЙ РИСК · ${description}`,
    rejectPrompt: 'Что следует знать агенту? (необязательно)',
    rejectPlaceholder: 'Не трогай этот файл, измени шаблон',
    tooSoon: 'Это было быстрее половины секунды. Посмотрите, затем решите.',
    unfit: 'Предпросмотр не подходит к своему дайджесту: этот вызов можно только отклонить.',
    previewPending: 'Что произойдёт, ещё вычисляется. Повторите через мгновение.',
    gone: 'Этот запрос больше не ждёт.',
    pick: 'Какой запрос?',
    nothing: 'Ничто не ждёт вашего решения.',
    scopePick: 'Сколько вы одобряете?',
    scopeNone: 'Такой вызов одобряется только по одному.',
    includeHigh: 'И вызовы с высоким риском, без вопросов',
    onlyMedium: 'До среднего риска; высокий всё равно спросит',
    sessionWarning: 'Агент будет менять файлы и запускать команды в этой беседе, больше не спрашивая.',
    saveRule: 'Одобрить и сохранить правило',
    alwaysWarning:
      'Правило сохраняется в вашей политике и действует во всех беседах, во всех ваших проектах.',
    backtest: (matched, rejected) =>
      `На вашей истории это правило решило бы ${count(matched, 'вызов', 'вызова', 'вызовов')}, из них отклонённых вами: ${rejected}.`,
    failed: (problem) => `Решение не принято: ${problem}`,
    changedMeanwhile: 'То, что произойдёт, тем временем изменилось. Посмотрите ещё раз.',
    decideInEditor:
      'Ещё не одобрено: эта машина хочет, чтобы такой вызов решали там, где редактор сам показывает, что произойдёт. Посмотрите открывшееся сравнение или окно.',
    editedInDiff:
      'Не одобрено: вы исправили это изменение в сравнении, а на карточке здесь текст без ваших правок. Одобрите его там или отмените правки.',
    overruled: (status, device) => `Решено раньше вас: ${status} (${device}).`,
    resolved: {
      approved: (description, device) => `Одобрено (${device}): ${description}`,
      rejected: (description, device) => `Отклонено (${device}): ${description}`,
      timeout: (description) => `Никто не решил вовремя: ${description}`,
      cancelled: (description) => `Отменено: ${description}`,
    },
    elsewhere: 'другое устройство',
    proposed: (path) => `${path}: предложенное изменение (правую сторону можно править)`,
    copied: (path) => `${path}: копия`,
    notEditable: 'Копию нельзя править до того, как она сделана: её одобряют или отклоняют как есть.',
    remaining: (seconds) =>
      seconds >= 90
        ? `осталось ${Math.round(seconds / 60)} мин`
        : `осталось ${Math.max(0, Math.round(seconds))} с`,
    risk: { LOW: 'низкий риск', MEDIUM: 'средний риск', HIGH: 'ВЫСОКИЙ РИСК' },
  },
  preview: {
    runs: 'Выполняет',
    shellLine: 'Оболочка получает',
    parameters: 'Параметры',
    inFolder: 'Где',
    executes: 'Исполняет файлы рабочей области',
    network: 'с сетью',
    noNetwork: 'без сети',
    irreversible: 'нельзя вернуть',
    unknownWord: '(станет известно при выполнении)',
    deletes: (path, size) => `Удаляет ${path} (${count(size, 'байт', 'байта', 'байт')}). Начало файла:`,
    emptyFile: '(пустой файл)',
    makesFolder: (path) => `Создаёт папку ${path}`,
    message: 'Коммит',
    pushes: (branch, remote) => `Отправляет ${branch} в ${remote}`,
    commits: (n) => count(n, 'коммит', 'коммита', 'коммитов'),
    hooks: 'git запускает хуки',
    customTool: (server) => `Инструмент сервера MCP ${server}`,
    saysReadOnly: 'Говорит, что только читает.',
    saysDestructive: 'Говорит, что может что-то уничтожить.',
    itsProgram: 'Что затронет этот инструмент, решает его собственная программа.',
    unsaved: 'основано на несохранённом тексте в редакторе, который будет сохранён вместе с этим',
    operation: { created: 'новый файл', modified: 'изменён', deleted: 'удалён', moved: 'перемещён' },
    bytes: (before, after) => (before === null ? `${after ?? 0} байт` : `${before} → ${after ?? 0} байт`),
    sameContent: '(содержимое не меняется)',
    cut: '(сравнение сокращено)',
    unavailable: (reason) => `Предпросмотра нет: ${reason}`,
    pending: 'Что произойдёт, вычисляется …',
    reasons: 'Почему вас спрашивают',
  },
  history: {
    undone: 'возвращено',
    undoPick: 'Какой вызов вернуть?',
    nothingToUndo: 'Возвращать нечего.',
    undoAsked: (what) => `Возвращаем: ${what} …`,
    undoDone: (what) => `Возвращено: ${what}`,
    undoFailed: (problem) => `Вернуть не удалось: ${problem}`,
    undoForce: 'Вернуть всё равно',
    keepChanges: 'Оставить изменения',
    conflict: 'Файл изменён после вызова. Возврат заменил бы эти изменения.',
    cancelPick: 'Какой вызов отменить?',
    nothingRuns: 'Ничего не выполняется.',
    cancelFailed: (problem) => `Отменить не удалось: ${problem}`,
    more: 'Показать ещё …',
    status: {
      pending: 'в очереди',
      awaiting_approval: 'ждёт вас',
      approved: 'одобрено',
      executing: 'выполняется',
      completed: 'готово',
      failed: 'не удалось',
      rejected: 'отклонено',
      timeout: 'никто не решил',
      cancelled: 'отменено',
    },
  },
  output: {
    channel: 'Команды Countersign',
    ended: (code) => `код выхода ${code}`,
    seconds: (seconds) => `${seconds} с`,
  },
  chat: {
    signedOut: 'Войдите в Countersign, чтобы говорить с агентом.',
    signIn: 'Войти',
    startServer: 'Запустить локальный сервер',
    noFolder: 'Откройте папку, чтобы начать.',
    openFolder: 'Открыть папку',
    connecting: 'Подключение …',
    failed: 'Countersign не смог подключиться:',
    runsNot: {
      untrusted: {
        title: 'Пока вы не доверяете этой рабочей области, здесь ничего не выполняется.',
        hint: 'Можно разговаривать и решать; вызовы ждут и через минуту заканчиваются неудачей.',
        act: 'Управление доверием',
      },
      disabled: {
        title: 'В этом редакторе ничего не выполняется: countersign.runner.enabled выключено.',
        hint: 'Вызовы ждут другого исполнителя этой папки и через минуту заканчиваются неудачей.',
        act: 'Открыть настройку',
      },
    },
  },
  mcp: {
    label: 'Countersign',
    token: 'VS Code (MCP)',
    revoked: (project) => `Вы отозвали доступ собственного агента этого редактора к ${project}.`,
    revokedDetail:
      'Он хочет подключиться снова. С доступом он может пользоваться инструментами этой папки; о том, что что-то изменит, по-прежнему спрашивают.',
    giveBack: 'Вернуть доступ',
  },
};
