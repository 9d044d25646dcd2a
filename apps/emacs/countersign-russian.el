;;; countersign-russian.el --- Countersign in Russian  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; From the English of `countersign-words' to Russian.  A test compares it
;; with the sources: nothing is missing, nothing is left over, and each has
;; the same places for arguments.  Names of facts have at most ten letters.

;;; Code:

(defconst countersign-russian-titles
  '(("write_file" . "Агент хочет изменить %s")
    ("create_file" . "Агент хочет создать %s")
    ("append_file" . "Агент хочет дописать в %s")
    ("edit_file" . "Агент хочет изменить %s")
    ("delete_file" . "Агент хочет удалить %s")
    ("create_directory" . "Агент хочет создать папку %s")
    ("copy_file" . "Агент хочет скопировать %s")
    ("execute_command" . "Агент хочет выполнить %s")
    ("shell_exec" . "Агент хочет выполнить в оболочке %s")
    ("shell_background" . "Агент хочет запустить в фоне %s")
    ("git_commit" . "Агент хочет сделать коммит: %s")
    ("git_branch" . "Агент хочет создать ветку %s")
    ("git_push" . "Агент хочет отправить изменения: %s"))
  "What a call of a tool is about, in a sentence.")

(defconst countersign-russian
  (let ((table (make-hash-table :test #'equal)))
    (pcase-dolist (`(,english . ,russian)
                   '(("Server (empty starts one for this project): "
                      . "Сервер (пусто: запустить свой для этого проекта): ")
                     ("Project: "
                      . "Проект: ")
                     ("%s is on another machine, and the runner of Emacs executes on this one.  Connect from a folder of this machine"
                      . "%s на другой машине, а исполнитель Emacs работает на этой.  Подключитесь из папки этой машины")
                     ("%s has your home folder in it, and the agent would work in all of that.  Begin in a buffer of a project, or choose a folder with C-u M-x countersign"
                      . "В %s лежит ваша домашняя папка, и агент работал бы во всей.  Начните в буфере проекта или выберите папку: C-u M-x countersign")
                     ("It cannot be shown, so reject it."
                      . "Показать это нельзя, поэтому отклоните.")
                     ("Not signed in to %s"
                      . "Вход на %s не выполнен")
                     ("Sign-in link that %s printed (good once, for 60 s): "
                      . "Ссылка для входа, которую напечатал %s (на один раз, 60 с): ")
                     ("That link is for %s"
                      . "Эта ссылка для %s")
                     ("Countersign for %s: %s"
                      . "Countersign, %s: %s")
                     ("No project is connected; M-x countersign connects one"
                      . "Ни один проект не подключён; M-x countersign подключит")
                     ("There is no server yet"
                      . "Сервера ещё нет")
                     ("Not signed in: %s"
                      . "Вход не выполнен: %s")
                     ("Signed in to %s"
                      . "Вход на %s выполнен")
                     ("The project is not connected yet"
                      . "Проект ещё не подключён")
                     ("[CS: %d to decide]"
                      . "[CS: решить %d]")
                     ("[CS: not connected]"
                      . "[CS: нет связи]")
                     ("Countersign: mouse-1 lists what waits for a decision"
                      . "Countersign: mouse-1 показывает, что ждёт решения")
                     ("This is no approval buffer"
                      . "Здесь нечего одобрять")
                     ("It is settled: %s"
                      . "Уже решено: %s")
                     ("Your decision is being sent"
                      . "Ваше решение отправляется")
                     ("Look at it first: keys count when it has been here for half a second"
                      . "Сначала посмотрите: клавиши действуют, когда карточка пробыла здесь полсекунды")
                     ("Too late: %s"
                      . "Поздно: %s")
                     ("It was changed meanwhile; look at it anew"
                      . "Тем временем вызов изменился; посмотрите заново")
                     ("The card is gone; nothing was sent"
                      . "Карточки больше нет; ничего не отправлено")
                     ("Type yes: "
                      . "Введите да: ")
                     ("Nothing was sent"
                      . "Ничего не отправлено")
                     ("  ·  %d more (l list)"
                      . "  ·  ещё %d (l список)")
                     ("sending …"
                      . "отправляется …")
                     ("look first …"
                      . "сначала посмотрите …")
                     ("  ·  ↓ more below (SPC)"
                      . "  ·  ↓ ниже есть ещё (SPC)")
                     ("time is over"
                      . "время вышло")
                     ("%d:%02d left"
                      . "осталось %d:%02d")
                     ("Withdrawn: %s"
                      . "Отозвано: %s")
                     ("q leaves."
                      . "q закрывает.")
                     ("This card could not be drawn (%s).  All that came:"
                      . "Карточку не удалось показать (%s).  Всё, что пришло:")
                     ("approve"
                      . "одобрить")
                     ("reject"
                      . "отклонить")
                     ("wider"
                      . "шире")
                     ("edit"
                      . "изменить")
                     ("diff"
                      . "сравнение")
                     ("list"
                      . "список")
                     ("leave"
                      . "закрыть")
                     ("help"
                      . "справка")
                     ("It was changed; look at it anew."
                      . "Вызов изменился; посмотрите заново.")
                     ("this Emacs is not connected any more"
                      . "этот Emacs больше не подключён")
                     (", saved in your policy as %s"
                      . ", сохранено в вашей политике как %s")
                     ("%s lists what waits"
                      . "%s покажет, что ждёт")
                     ("it does not fit its digest, so it is not shown and cannot be approved"
                      . "он не подходит к своему дайджесту, поэтому не показан и не может быть одобрен")
                     ("The preview does not fit its digest: this call can only be rejected"
                      . "Предпросмотр не подходит к своему дайджесту: этот вызов можно только отклонить")
                     ("It can be approved once its preview is here; that is being made"
                      . "Одобрить можно, когда появится предпросмотр; он готовится")
                     ("A HIGH call is approved with its preview only; it is being made"
                      . "Вызов с высоким риском одобряется только с предпросмотром; он готовится")
                     ("HIGH risk: %s."
                      . "ВЫСОКИЙ риск: %s.")
                     ("There is no preview yet: approve it unseen?"
                      . "Предпросмотра ещё нет: одобрить не глядя?")
                     ("Reject.  Message for the agent (may be empty): "
                      . "Отклонить.  Сообщение агенту (можно пусто): ")
                     ("This call can only be approved one at a time"
                      . "Такой вызов одобряется только по одному")
                     ("%s is on another server already.  End that first: M-x countersign-disconnect"
                      . "%s уже на другом сервере.  Сначала закончите с ним: M-x countersign-disconnect")
                     ("Approve this one, and from now on also (TAB lists what, a number chooses): "
                      . "Одобрить этот, а впредь и (TAB покажет что, номер выбирает): ")
                     ("HIGH calls will run without a second look.  "
                      . "Вызовы с высоким риском будут выполняться без вопросов.  ")
                     ("Looking at your earlier calls …"
                      . "Просматриваются прежние вызовы …")
                     ("This rule would have decided none of your earlier calls.  "
                      . "Ни одного из прежних вызовов это правило не решило бы.  ")
                     ("This rule would have decided %d earlier calls, %d of which you rejected.  "
                      . "Прежних вызовов, которые решило бы это правило: %d, из них отклонённых вами: %d.  ")
                     ("This rule would have decided one earlier call, which you rejected.  "
                      . "Это правило решило бы один прежний вызов, и его вы отклонили.  ")
                     ("This rule would have decided one earlier call, which you did not reject.  "
                      . "Это правило решило бы один прежний вызов, и его вы не отклоняли.  ")
                     ("Your earlier calls could not be looked at: %s.  "
                      . "Прежние вызовы просмотреть не удалось: %s.  ")
                     ("This call has no diff"
                      . "У этого вызова нет сравнения")
                     ("Nothing waits for you"
                      . "Ничего не ждёт вашего решения")
                     (" Parameters as JSON.  %s approves with them, %s forgets them, %s edits a text"
                      . "Параметры в JSON.  %s одобряет с ними, %s забывает их, %s правит текст")
                     ("The call does not wait any more; your text is kept here"
                      . "Вызов больше не ждёт; ваш текст остаётся здесь")
                     ("Nothing was changed"
                      . "Ничего не изменено")
                     ("Approve %s with these parameters?"
                      . "Одобрить %s с этими параметрами?")
                     (" %s puts it back"
                      . "%s возвращает на место")
                     ("Point is in no text"
                      . "Курсор не в тексте")
                     ("The parameters are gone; your text is kept here"
                      . "Параметров больше нет; ваш текст остаётся здесь")
                     ("Risk"
                      . "Риск")
                     ("Left"
                      . "Осталось")
                     ("Project"
                      . "Проект")
                     ("What"
                      . "Что")
                     ("There is no call on this line"
                      . "В этой строке нет вызова")
                     ("It is settled"
                      . "Уже решено")
                     ("Tool"
                      . "Инструмент")
                     ("Why"
                      . "Почему")
                     ("Network"
                      . "Сеть")
                     ("It gets network."
                      . "Получит доступ к сети.")
                     ("Revision"
                      . "Редакция")
                     ("%s: it was changed since it was first asked"
                      . "%s: с первого запроса вызов изменился")
                     ("Unsaved"
                      . "Не записан")
                     ("%s has changes in Emacs that are not saved; they are not in the preview"
                      . "%s изменён в Emacs и не записан; в предпросмотре этого нет")
                     ("Left out"
                      . "Не вошло")
                     ("%s: too large to be sent here"
                      . "%s: слишком велико, чтобы прислать")
                     ("Preview"
                      . "Что произойдёт")
                     ("Parameters"
                      . "Параметры")
                     ("Context"
                      . "Контекст")
                     ("  (step %s)"
                      . "  (шаг %s)")
                     ("  (none)"
                      . "  (нет)")
                     ("  It is being made where the files are …"
                      . "  Готовится там, где файлы …")
                     ("  There is none yet.  A runner makes it; to start one: M-x countersign-start-runner"
                      . "  Его ещё нет.  Его делает исполнитель; запустить его: M-x countersign-start-runner")
                     ("  Deletes %s (%s bytes).  It begins with:"
                      . "  Удалит %s (%s байт).  Начинается так:")
                     ("  (the file is empty)"
                      . "  (файл пуст)")
                     ("  Makes the folder %s"
                      . "  Создаст папку %s")
                     ("  Message"
                      . "  Текст")
                     ("  Server"
                      . "  Сервер")
                     ("  Tool"
                      . "  Имя")
                     ("  It says"
                      . "  О себе")
                     ("it may destroy something"
                      . "может что-то уничтожить")
                     ("it only reads"
                      . "только читает")
                     ("This tool's own program decides what it touches."
                      . "Что затронет этот инструмент, решает его собственная программа.")
                     ("  There is none: %s"
                      . "  Его нет: %s")
                     ("new file"
                      . "новый файл")
                     ("changed"
                      . "изменён")
                     ("deleted"
                      . "удалён")
                     (", based on an unsaved buffer"
                      . ", по несохранённому буферу")
                     ("  (the content stays the same)"
                      . "  (содержимое не меняется)")
                     ("  The diff was cut for its size: there is more than is shown here."
                      . "  Сравнение обрезано по размеру: здесь показано не всё.")
                     (", %s → %s bytes"
                      . ", %s → %s байт")
                     (", %s bytes"
                      . ", %s байт")
                     ("… CUT HERE: %d more characters are not shown"
                      . "… ОБРЕЗАНО: не показано знаков: %d")
                     ("  Runs"
                      . "  Команда")
                     ("  In"
                      . "  В папке")
                     ("  Executes"
                      . "  Запустит")
                     ("  Network"
                      . "  Сеть")
                     ("yes"
                      . "да")
                     ("no"
                      . "нет")
                     ("It cannot be undone."
                      . "Отменить нельзя.")
                     ("⟨known only when it runs⟩"
                      . "⟨известно только при запуске⟩")
                     ("  Pushes"
                      . "  Отправит")
                     ("%s to %s"
                      . "%s в %s")
                     ("  Where"
                      . "  Куда")
                     ("  Commit"
                      . "  Коммит")
                     ("  Hooks"
                      . "  Хуки")
                     ("thinking …"
                      . "думает …")
                     ("working …"
                      . "работает …")
                     ("waits for you"
                      . "ждёт вас")
                     ("%d to decide (%s)"
                      . "решить: %d (%s)")
                     ("starting …"
                      . "запуск …")
                     ("connecting …"
                      . "подключение …")
                     ("connected"
                      . "подключено")
                     ("connected, no runner"
                      . "подключено, нет исполнителя")
                     ("connection lost: %s"
                      . "связь потеряна: %s")
                     ("signed out: M-x countersign-sign-in"
                      . "нужен вход: M-x countersign-sign-in")
                     ("failed: %s  (M-x countersign tries again)"
                      . "не удалось: %s  (M-x countersign попробует снова)")
                     ("`countersign up' has ended: M-x countersign starts it again"
                      . "`countersign up' завершился: M-x countersign запустит его снова")
                     ("disconnected"
                      . "отключено")
                     ("You"
                      . "Вы")
                     ("Agent"
                      . "Агент")
                     ("done"
                      . "готово")
                     ("waits for you (%s)"
                      . "ждёт вас (%s)")
                     ("failed"
                      . "ошибка")
                     ("rejected"
                      . "отклонено")
                     ("expired"
                      . "истекло")
                     ("cancelled"
                      . "отменено")
                     ("executing"
                      . "выполняется")
                     ("undone"
                      . "отменено назад")
                     ("TAB folds and unfolds"
                      . "TAB сворачивает и разворачивает")
                     ("exit %s"
                      . "код выхода %s")
                     ("(exit code %s)"
                      . "(код выхода %s)")
                     ("the result came late"
                      . "результат пришёл поздно")
                     ("not undone: %s"
                      . "не отменено: %s")
                     ("What should be done?  Describe a task below; RET sends it, C-j begins a new line."
                      . "Что сделать?  Опишите задачу ниже; RET отправит, C-j начнёт новую строку.")
                     ("The tool"
                      . "Инструмент")
                     ("About"
                      . "О нём")
                     ("Loading…"
                      . "Загрузка…")
                     ("What it takes"
                      . "Что он принимает")
                     ("required"
                      . "обязателен")
                     ("What the risk means"
                      . "Что значит риск")
                     ("It is not in the list of tools any more."
                      . "Его больше нет в списке инструментов.")
                     ("It only looks.  It runs without asking."
                      . "Он только смотрит.  Выполняется без вопроса.")
                     ("It changes something, in a way that can be seen beforehand.
It asks once and waits 5 minutes; then it expires and does not run."
                      . "Он что-то меняет, и это видно заранее.
Спрашивает один раз и ждёт 5 минут; потом истекает и не выполняется.")
                     ("It may be hard to undo, reach beyond the project, or do more than can
be seen beforehand.  It asks twice and waits 10 minutes; then it expires
and does not run."
                      . "Его может быть трудно отменить, он может выйти за пределы проекта или
сделать больше, чем видно заранее.  Спрашивает дважды и ждёт 10 минут;
потом истекает и не выполняется.")
                     ("This Emacs does not know that level."
                      . "Этот Emacs не знает такого уровня.")
                     ("Without a model's key you type the tool calls: /read_file path=README.md or /run npm test"
                      . "Без ключа модели вызовы набираете вы сами: /read_file path=README.md или /run npm test")
                     ("\\<countersign-chat-mode-map>\\[countersign-chat-switch-session] goes on in an earlier conversation, \\[describe-mode] shows the keys."
                      . "\\<countersign-chat-mode-map>\\[countersign-chat-switch-session] продолжит прежнюю беседу, \\[describe-mode] покажет клавиши.")
                     ("The session could not be read: %s"
                      . "Беседу не удалось прочитать: %s")
                     ("There is no tool call here"
                      . "Здесь нет вызова")
                     ("There is nothing to send"
                      . "Отправлять нечего")
                     ("Not connected: %s"
                      . "Нет связи: %s")
                     ("Not sent: %s"
                      . "Не отправлено: %s")
                     ("Nothing was sent from here"
                      . "Отсюда ещё ничего не отправляли")
                     ("The agent is idle"
                      . "Агент ничего не делает")
                     ("Stopped"
                      . "Остановлен")
                     ("(no title)"
                      . "(без названия)")
                     ("Session: "
                      . "Беседа: ")
                     ("There is no call to undo"
                      . "Нет вызова, который можно отменить")
                     ("There is no call to cancel"
                      . "Нет вызова, который можно прервать")
                     ("Undo %s %s%s? "
                      . "Отменить %s %s%s? ")
                     (", losing what was changed since"
                      . ", теряя то, что изменено с тех пор")
                     ("undoing …"
                      . "отменяется …")
                     ("Cancelling …"
                      . "Прерывается …")
                     ("%s was deleted on disk by a tool; its buffer is kept"
                      . "%s удалён на диске инструментом; буфер оставлен")
                     ("%s was changed by a tool and read again"
                      . "%s изменён инструментом и прочитан заново")
                     ("%s was changed by a tool and could not be read again: %s"
                      . "%s изменён инструментом, но прочитать заново не удалось: %s")
                     ("The runner of %s has ended (%d): %s"
                      . "Исполнитель %s завершился (%d): %s")
                     ("approved here"
                      . "одобрено здесь")
                     ("another device"
                      . "другое устройство")
                     ("approved by what you granted"
                      . "одобрено вашим разрешением")
                     ("approved on %s"
                      . "одобрено: %s")
                     ("rejected here"
                      . "отклонено здесь")
                     ("rejected on %s"
                      . "отклонено: %s")
                     ("expired: nobody decided in time"
                      . "истекло: никто не решил вовремя")
                     ("withdrawn, the call failed: %s"
                      . "отозвано, вызов не удался: %s")
                     ("withdrawn: the call was cancelled"
                      . "отозвано: вызов отменён")
                     ("settled: %s"
                      . "решено: %s")
                     ("settled while the connection was away"
                      . "решено, пока не было связи")
                     ("Not JSON: %s"
                      . "Это не JSON: %s")
                     ("The parameters must be one JSON object: { … }"
                      . "Параметры должны быть одним объектом JSON: { … }")
                     ("The server did not answer in time"
                      . "Сервер не ответил вовремя")
                     ("The server does not answer (%s)"
                      . "Сервер не отвечает (%s)")
                     ("The connection was lost (%s)"
                      . "Связь потеряна (%s)")
                     ("Nothing was heard from the server"
                      . "От сервера ничего не слышно")
                     ("The server ended the stream"
                      . "Сервер закончил поток")
                     ("Your token would go to http://%s unencrypted; use https"
                      . "Ваш токен ушёл бы на http://%s без шифрования; нужен https")
                     ("The certificate of %s was not accepted, and nothing was sent.  If it is yours, add the one that signed it to `gnutls-trustfiles'"
                      . "Сертификат %s не принят, и ничего не отправлено.  Если он ваш, добавьте подписавший его в `gnutls-trustfiles'")
                     ("y  approve this one; a HIGH one asks a second time
n  reject; you may tell the agent what to do instead
a  approve more than this one: its tool, its class, the session, always
   (C-u a covers HIGH calls too)
e  change the parameters, then approve
d  show the change in diff-mode
l  list what waits · N  go to the next · g  fetch it again · q  leave

A key counts once the card has been in the selected window for half a
second.  Nothing is decided by time or by leaving."
                      . "y  одобрить этот вызов; при высоком риске спросит ещё раз
n  отклонить; можно сказать агенту, что сделать вместо этого
a  одобрить больше: инструмент, класс, беседу, всегда
   (C-u a охватывает и вызовы с высоким риском)
e  изменить параметры, затем одобрить
d  показать изменение в diff-mode
l  список ждущих · N  следующий · g  получить заново · q  закрыть

Клавиша действует, когда карточка пробыла в выбранном окне полсекунды.
Ни время, ни уход ничего не решают.")
                     ("What a offers"
                      . "Что предлагает a")
                     ("Approval"
                      . "Решение")
                     ("Call"
                      . "Вызов")
                     ("Session"
                      . "Беседа")
                     ("Runner"
                      . "Исполнитель")
                     ("Digest"
                      . "Отпечаток")
                     ("Until"
                      . "До")
                     ("%s was %s on disk by a tool, and your buffer `%s' has unsaved changes.
Nothing of yours was touched.  M-x diff-buffer-with-file shows the difference, M-x
revert-buffer takes the file, saving takes yours."
                      . "%s на диске тронут инструментом (%s), а в вашем буфере `%s' есть несохранённые изменения.
Ваше не тронуто.  M-x diff-buffer-with-file покажет разницу, M-x revert-buffer возьмёт
файл, сохранение оставит ваше.")
                     ("`countersign up' printed something else than its address"
                      . "`countersign up' напечатал не свой адрес")
                     ("`countersign up' for %s has ended (%d): %s  M-x countersign starts it again"
                      . "`countersign up' для %s завершился (%d): %s  M-x countersign запустит его снова")
                     ("`countersign up' for %s has ended; starting it again …"
                      . "`countersign up' для %s завершился; запускается снова …")
                     ("`countersign up' has ended (%d): %s"
                      . "`countersign up' завершился (%d): %s")
                     ("Cannot start %s: %s.  Customize `countersign-program'"
                      . "Не удаётся запустить %s: %s.  Настройте `countersign-program'")))
      (puthash english russian table))
    table)
  "Texts by their English.")

(provide 'countersign-russian)

;;; countersign-russian.el ends here
