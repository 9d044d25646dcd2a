;;; countersign-words.el --- The language in which a person reads  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Everything that a person reads is written in English where it is used,
;; inside of `countersign-words'.  Other languages are in
;; countersign-words.json, which is made from packages/words and loaded when
;; it is needed.  Of what a server says, reasons are known by their rule;
;; texts of a tool or a model stay as they are.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defcustom countersign-language nil
  "The language of Countersign.
With nil it is that of the locale or of the language environment, where
Countersign has it, and English otherwise."
  :type '(choice (const :tag "As the environment has it" nil)
                 (const :tag "English" en)
                 (symbol :tag "Another of countersign-words.json, such as ru"))
  :group 'countersign)

(defconst countersign-words--file
  (expand-file-name "countersign-words.json" (file-name-directory (or load-file-name byte-compile-current-file buffer-file-name)))
  "Where all languages but English are.")

(defvar countersign-words--all nil
  "What `countersign-words--file' holds, once it was read: hash tables by name.")

(defun countersign-words (text &rest arguments)
  "Return TEXT in the language of the person, with ARGUMENTS as for `format'.
TEXT is English; what has no translation stays so."
  (let ((words (or (countersign-words--find "texts" text) text)))
    (if arguments (apply #'format words arguments) words)))

(defun countersign-words-title (tool)
  "Return a sentence with places for a call of TOOL, or nil.
In English that is the server's."
  (countersign-words--find "titles" tool))

(defun countersign-words-caller (name)
  "Return NAME, that of who calls, or a word for it where nobody gave one."
  (or (countersign-words--find "callers" name) name))

(defun countersign-words-reason (rule why)
  "Return WHY, the sentence of RULE, in the language of the person.
A sentence that is not the one of its rule stays as it came: nobody can make
a card say something else than was sent."
  (pcase (countersign-words--find "reasons" rule)
    (`[,english ,words] (if (equal english why) words why))
    (_ why)))

(defun countersign-words--find (table key)
  "Return what TABLE of the person's language has for KEY, or nil."
  (let ((language (or countersign-language (countersign-words--environment))))
    (unless (memq language '(nil en))
      (when-let* ((tables (gethash (symbol-name language) (countersign-words--all))))
        (gethash key (gethash table tables))))))

(defun countersign-words--all ()
  "Return every language but English: hash tables by name."
  (or countersign-words--all
      (setq countersign-words--all
            (with-temp-buffer
              (let ((coding-system-for-read 'utf-8))
                (insert-file-contents countersign-words--file))
              (json-parse-buffer)))))

(defun countersign-words--environment ()
  "Return the language of the environment, if it is one of ours, or nil."
  (let* ((locale (or (cl-some (lambda (name)
                                (let ((value (getenv name)))
                                  (and value (not (string-empty-p value)) value)))
                              '("LC_ALL" "LC_MESSAGES" "LANG"))
                     ""))
         (named (car (split-string locale "[_.@]"))))
    (cl-loop for code being the hash-keys of (countersign-words--all) using (hash-values tables)
             when (or (equal named code)
                      (equal current-language-environment (gethash "environment" tables)))
             return (intern code))))

(provide 'countersign-words)

;;; countersign-words.el ends here
