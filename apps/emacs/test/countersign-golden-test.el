;;; countersign-golden-test.el --- The text of every card, kept  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The approval requests of packages/protocol/fixtures/cards.json as cards, in
;; English and Russian, byte for byte as in goldens/.  When a card is meant to
;; change: COUNTERSIGN_WRITE_GOLDENS=1 COUNTERSIGN_ERT_SELECTOR=golden
;; emacs -Q --batch -l apps/emacs/test/run.el

;;; Code:

(require 'countersign-test-helper)

(defconst countersign-golden--folder
  (expand-file-name "apps/emacs/test/goldens/" countersign-test-root)
  "Where the texts are kept.")

(defun countersign-golden--cards (language)
  "Return the text of every card in LANGUAGE."
  (countersign-test-with-approvals project fake
    (let ((countersign-language language))
      (mapconcat
       (lambda (request)
         (format "=== %s\n%s\n" (countersign-get request 'approval_id)
                 (substring-no-properties
                  (countersign-test-card-text
                   (countersign-test-arrive
                    project (countersign--merge request '((project_id . "p1"))))))))
       (countersign-test-fixture "cards.json") "\n"))))

(defun countersign-golden--check (language)
  "Compare the cards in LANGUAGE with what is kept, or keep them."
  (let ((file (expand-file-name (format "cards.%s.txt" language) countersign-golden--folder))
        (text (countersign-golden--cards language))
        (coding-system-for-read 'utf-8)
        (coding-system-for-write 'utf-8))
    (when (getenv "COUNTERSIGN_WRITE_GOLDENS")
      (make-directory countersign-golden--folder t)
      (with-temp-file file (insert text)))
    (should (equal (split-string text "\n")
                   (split-string (with-temp-buffer (insert-file-contents file) (buffer-string)) "\n")))))

(ert-deftest countersign-golden-cards-in-english ()
  "[AP-1] [UI-3] Every card has the text that is kept."
  (countersign-golden--check 'en))

(ert-deftest countersign-golden-cards-in-russian ()
  "[AP-1] [UI-3] Every card has the text that is kept, in Russian."
  (countersign-golden--check 'ru))

(provide 'countersign-golden-test)

;;; countersign-golden-test.el ends here
