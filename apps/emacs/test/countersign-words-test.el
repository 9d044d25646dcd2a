;;; countersign-words-test.el --- English and Russian  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Code:

(require 'countersign-test-helper)
(require 'countersign-russian)

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
  (let ((used (countersign-words-test-used)))
    (should (> (length used) 150))
    (should-not (cl-remove-if (lambda (text) (gethash text countersign-russian)) used))
    (should-not (cl-set-difference (hash-table-keys countersign-russian) used :test #'equal))
    (maphash (lambda (english russian)
               (should (equal (list english (countersign-words-test-places russian))
                              (list english (countersign-words-test-places english))))
               (should (equal (string-suffix-p " " english) (string-suffix-p " " russian))))
             countersign-russian)
    (pcase-dolist (`(,tool . ,title) countersign-russian-titles)
      (should (equal (list tool (countersign-words-test-places title)) (list tool '("%s")))))))

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
