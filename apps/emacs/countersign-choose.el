;;; countersign-choose.el --- Ask for one of several choices, and show them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; `completing-read' of a plain Emacs shows its choices only after TAB.  Here
;; they are shown at once, unless a completion package shows them anyway.

;;; Code:

(require 'cl-lib)
(require 'countersign-words)

(defun countersign-choose (prompt choices &optional note-of)
  "Ask with PROMPT for one of CHOICES, and show all of them in their order.
CHOICES are (LABEL . VALUE); NOTE-OF returns a note for a value, or nil.
Return the value, or nil if nothing was chosen.  If labels begin with
different numbers, a number chooses."
  (let* ((annotate (lambda (label)
                     (let ((note (and note-of (funcall note-of (cdr (assoc label choices))))))
                       (and note (concat "  " note)))))
         (table (lambda (string predicate action)
                  (if (eq action 'metadata)
                      `(metadata (display-sort-function . identity) (cycle-sort-function . identity)
                                 (annotation-function . ,annotate))
                    (complete-with-action action (mapcar #'car choices) string predicate)))))
    (cdr (assoc (minibuffer-with-setup-hook #'countersign-choose--show
                  (completing-read prompt table nil t))
                choices))))

(defun countersign-choose--show ()
  "Show the choices of this minibuffer, unless a completion package does."
  (unless (or (bound-and-true-p icomplete-mode) (bound-and-true-p fido-mode) (bound-and-true-p vertico-mode)
              (bound-and-true-p ivy-mode) (bound-and-true-p helm-mode) (bound-and-true-p selectrum-mode)
              (bound-and-true-p mct-mode))
    (minibuffer-completion-help)))

(provide 'countersign-choose)

;;; countersign-choose.el ends here
