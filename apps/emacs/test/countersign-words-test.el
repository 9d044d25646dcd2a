;;; countersign-words-test.el --- English and Russian  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Code:

(require 'countersign-test-helper)

(defun countersign-words-test-used ()
  "Return all English texts that the sources ask for."
  (let ((found '()))
    (dolist (file (directory-files (expand-file-name "apps/emacs" countersign-test-root) t "\\`countersign.*\\.el\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (emacs-lisp-mode)
        (while (re-search-forward "(countersign-\\(?:words\\|card--fact\\|card--heading\\)[ \n]+\"" nil t)
          (goto-char (1- (point)))
          (let ((text (read (current-buffer))))
            (unless (string-empty-p text) (push text found))))))
    (delete-dups found)))

(defun countersign-words-test-places (text)
  "Return the places for arguments in TEXT."
  (let ((places '()) (start 0))
    (while (string-match "%[0-9]*[a-z]" text start)
      (push (match-string 0 text) places)
      (setq start (match-end 0)))
    (nreverse places)))

(ert-deftest countersign-words-all-are-in-russian ()
  "Nothing is missing, nothing is left over, and each has the same places for arguments."
  (let* ((countersign-language 'ru)
         (used (countersign-words-test-used))
         (texts (progn (countersign-words "approve") (gethash "texts" (gethash "ru" countersign-words--all)))))
    (should (> (length used) 150))
    (should-not (cl-remove-if (lambda (text) (gethash text texts)) used))
    (should-not (cl-set-difference (hash-table-keys texts) used :test #'equal))
    (maphash (lambda (english russian)
               (should (equal (list english (countersign-words-test-places russian))
                              (list english (countersign-words-test-places english))))
               (should (equal (string-suffix-p " " english) (string-suffix-p " " russian))))
             texts)
    (maphash (lambda (tool title)
               (should (string-prefix-p "{who} " title))
               (should (equal (list tool (countersign-words-test-places title)) (list tool nil))))
             (gethash "titles" (gethash "ru" countersign-words--all)))))

(ert-deftest countersign-words-reasons-are-those-of-their-rule ()
  "[AP-8] A reason is translated by its rule, and only if it is that rule's sentence."
  (let ((why "only reads inside the workspace"))
    (let ((countersign-language 'en)) (should (equal (countersign-words-reason "CMD-READ" why) why)))
    (let ((countersign-language 'ru))
      (should (equal (countersign-words-reason "CMD-READ" why) "только читает внутри рабочей папки"))
      (should (equal (countersign-words-reason "CMD-GIT-1" why) why))
      (should (equal (countersign-words-reason "CMD-READ" "deletes it all") "deletes it all"))
      (should (equal (countersign-words-reason "no-rule" why) why)))))

(ert-deftest countersign-words-errors-are-those-of-their-code ()
  "An error is translated by its code with the values that it has, and only if it is that code's sentence."
  (let ((path "\"a\\b\" is not a usable path: it contains a backslash; components are separated by /. Use a plain path relative to the workspace root.")
        (no-match "The text to replace does not occur in \"a.md\". Read the file again and copy it exactly."))
    (let ((countersign-language 'en))
      (should (equal (countersign-words-error "EDIT_NO_MATCH" no-match) no-match))
      (should (equal (countersign-words-error "EDIT_NO_MATCH" no-match 'tell)
                     "The text to replace does not occur in \"a.md\"."))
      (should (equal (countersign-words-error nil "Lost.") "Lost.")))
    (let ((countersign-language 'ru))
      (should (string-match-p "\\`[^.]*a\\.md[^.]*\\.\\'" (countersign-words-error "EDIT_NO_MATCH" no-match 'tell)))
      (should (string-match-p "\\`«a.b» .*обратная косая черта" (countersign-words-error "PATH_INVALID" path)))
      (should (equal (countersign-words-error "EDIT_NO_MATCH" "Other.") "Other."))
      (should (equal (countersign-words-error "EXECUTION_CANCELLED" "You stopped this run.") "Вы остановили этот запуск."))
      (should (equal (countersign-words-sentence "You stopped this run.") "Вы остановили этот запуск.")))))

(ert-deftest countersign-words-titles-show-the-call ()
  "[AP-8] A title shows who calls and what the English title shows, each value cut by itself."
  (let* ((countersign-language 'ru)
         (long (make-string 300 ?s))
         (titled (lambda (tool params &optional agent)
                   (countersign-title `((tool_name . ,tool) (agent . ,(or agent "Claude Code")) (tool_params . ,params)
                                        (description . "as sent"))))))
    (pcase-dolist (`(,tool ,params ,wanted)
                   `(("execute_command" ((command . "git") (args . ["log" "a b"])) "Claude Code хочет выполнить git log \"a b\"")
                     ("git_push" ((remote . "theirs") (branch . "main")) "Claude Code хочет отправить изменения: theirs main")
                     ("git_push" nil "Claude Code хочет отправить изменения: origin")
                     ("git_commit" ((message . "fix {who}") (files . ["a" "b"]))
                      "Claude Code хочет сделать коммит (файлов: 2): fix {who}")
                     ("move_file" ((source . ,long) (dest . ".git/hooks/pre-commit"))
                      ,(format "Claude Code хочет переместить %s… → .git/hooks/pre-commit" (make-string 159 ?s)))
                     ("write_file" nil "as sent")
                     ("read_file" ((path . "a")) "as sent")))
      (should (equal (funcall titled tool params) wanted)))
    (should (equal (funcall titled "delete_file" '((path . "a")) "Outside agent") "Внешний агент хочет удалить a"))
    (should (string-prefix-p "Zed⟨U+202E⟩ хочет" (funcall titled "delete_file" '((path . "a")) "Zed\u202e")))
    ;; Each parameter of the examples that a title of the page shows.
    (dolist (file (directory-files (expand-file-name "packages/protocol/fixtures/tools" countersign-test-root) nil "\\.json\\'"))
      (let ((tool (file-name-sans-extension file)))
        (dolist (params (countersign-list-of (countersign-test-fixture (concat "tools/" file)) 'params))
          (let ((title (funcall titled tool params)))
            (unless (equal title "as sent")
              (dolist (name '(path source dest command message name remote branch))
                (when (stringp (countersign-get params name))
                  (should (string-search (countersign-one-line (countersign-get params name) 150) title))))
              (dolist (word (countersign-list-of params 'args))
                (should (string-search (string-trim (countersign-json-write word) "\"" "\"") title))))))))))

(ert-deftest countersign-words-unknown-language-is-english ()
  "A language that Countersign does not have reads as English."
  (let ((countersign-language 'xx))
    (should (equal (countersign-words "approve") "approve"))
    (should (equal (countersign-words-reason "CMD-READ" "x") "x"))
    (should-not (countersign-words-title "write_file"))))

(ert-deftest countersign-words-follow-the-person ()
  "The option wins; else the locale or the language environment; else English."
  (pcase-dolist (`(,option ,locale ,environment ,wanted)
                 '((nil "ru_RU.UTF-8" "UTF-8" "Одобрено") (nil "en_US.UTF-8" "UTF-8" "English")
                   (nil "run.UTF-8" "UTF-8" "English") (nil "C" "Russian" "Одобрено") (nil "ru" "English" "Одобрено")
                   (en "ru_RU.UTF-8" "Russian" "English") (ru "C" "English" "Одобрено")))
    (let ((countersign-language option) (current-language-environment environment)
          (process-environment (append (list "LC_ALL" "LC_MESSAGES=" (concat "LANG=" locale)) process-environment)))
      (should (equal (list option locale environment (if (equal (countersign-words "approve") "одобрить") "Одобрено" "English"))
                     (list option locale environment wanted))))))

(ert-deftest countersign-words-card-in-russian ()
  "[UI-6] A card, its second step and its end in Russian; what others wrote stays as it is."
  (let ((countersign-language 'ru))
    (countersign-test-with-approvals project fake
      (let ((pending (countersign-test-arrive project (countersign-test-approval '(risk_level . "HIGH"))))
            (countersign-test-prompts '()))
        (countersign-test-look project pending)
        (dolist (wanted '("Агент хочет изменить config.json\n\nИнструмент write_file\nРиск       HIGH\n"
                          "Что произойдёт\n  config.json  изменён, 15 → 15 байт" "Параметры\n  path = config.json"
                          "y одобрить   n отклонить"))
          (should (string-search wanted (buffer-substring-no-properties (point-min) (point-max)))))
        (should (string-match-p "осталось [0-9]+:[0-9]+.*y n a e \\?" (format "%s" (countersign-approval--header))))
        ;; A mere letter is not enough in Russian either.
        (countersign-test-answering '("д") (should-error (countersign-test-press "y") :type 'user-error))
        (should (string-search "ВЫСОКИЙ риск: Агент хочет изменить config.json.  Введите да: " (car countersign-test-prompts)))
        (countersign-test-look project pending)
        (countersign-test-answering '("да") (countersign-test-press "y"))
        (countersign-test-wait (null (countersign-waiting)))
        (should (equal (countersign-get (cdr (countersign-test-sent fake)) 'digest) (countersign-pending-get pending 'digest)))))))

(provide 'countersign-words-test)

;;; countersign-words-test.el ends here
