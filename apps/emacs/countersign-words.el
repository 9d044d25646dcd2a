;;; countersign-words.el --- Translations of all texts  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The code contains most texts in English, as arguments of
;; `countersign-words'.  Other languages, and the texts that all front ends
;; share, are in countersign-words.json, which is made from packages/words and
;; loaded when it is needed.  The server's
;; reasons are translated by their rule.  Text of a tool or a model is not
;; translated.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)

(defcustom countersign-language nil
  "The language of Countersign.
With nil, it is the language of the locale or of the language environment.
If there is no translation to that language, it is English."
  :type '(choice (const :tag "As the environment has it" nil)
                 (const :tag "English" en)
                 (symbol :tag "Another of countersign-words.json, such as ru"))
  :group 'countersign)

(defconst countersign-words--file
  (expand-file-name "countersign-words.json" (file-name-directory (or load-file-name byte-compile-current-file buffer-file-name)))
  "The file with all languages.")

(defvar countersign-words--all nil
  "Content of `countersign-words--file': hash tables by language, or nil.")

(defun countersign-words (text &rest arguments)
  "Return TEXT in the language of the person, with ARGUMENTS as for `format'.
TEXT is English.  Without a translation it stays English."
  (let ((words (or (countersign-words--find "texts" text) text)))
    (if arguments (apply #'format words arguments) words)))

(defun countersign-words-title (tool)
  "Return a title with placeholders for a call of TOOL, or nil.
It is nil in English, where the server's sentence is used."
  (countersign-words--find "titles" tool))

(defun countersign-words-shared (&rest path)
  "Return the text at PATH, names of tables and keys, or nil.
These texts are those of all front ends, in English too."
  (let ((languages (countersign-words--all)))
    (cl-some (lambda (language)
               (let ((found (gethash (symbol-name language) languages)))
                 (dolist (key path) (setq found (and (hash-table-p found) (gethash key found))))
                 found))
             (list (or countersign-language (countersign-words--environment) 'en) 'en))))

(defun countersign-words-caller (name)
  "Return the caller's NAME, translated if it is a default name."
  (or (countersign-words--find "callers" name) name))

(defun countersign-words-reason (rule why)
  "Return WHY, the sentence of RULE, in the language of the person.
A sentence that differs from that of its rule is not translated, so that
the card shows what was sent."
  (pcase (countersign-words--find "reasons" rule)
    (`[,english ,words] (if (equal english why) words why))
    (_ why)))

;;;; What server and runner say

(defun countersign-words-error (code message &optional tell)
  "Return MESSAGE, the text of an error with CODE, in words for a person.
TELL is non-nil for an error that came to the agent, whose advice for the
agent is left out.  A text that differs from that of its code, and is no
sentence of ours either, is not changed."
  (pcase-let* ((`[,english ,said ,told] (or (countersign-words-shared "errors" (or code "")) [nil nil nil]))
               (values (and english (countersign-words--match english message))))
    (if (null values) (countersign-words-sentence message)
      (countersign-words--fill (if tell told said) (cdr values)))))

(defun countersign-words-sentence (text)
  "Return TEXT, a sentence of server or runner, in the person's language."
  (or (countersign-words--find "sentences" text) text))

(defun countersign-words--parts (template)
  "Return the texts and names of TEMPLATE in turn; names are symbols."
  (let ((start 0) (parts '()))
    (while (string-match "{\\([a-zA-Z_]+\\)}" template start)
      (push (substring template start (match-beginning 0)) parts)
      (push (intern (match-string 1 template)) parts)
      (setq start (match-end 0)))
    (nreverse (cons (substring template start) parts))))

(defun countersign-words--match (template text)
  "Return (t . VALUES) if TEMPLATE with VALUES, an alist, is TEXT, or nil."
  (let* ((parts (countersign-words--parts template))
         (names (cl-remove-if-not #'symbolp parts))
         (regexp (concat "\\`" (mapconcat (lambda (part) (if (stringp part) (regexp-quote part) "\\(\\(?:.\\|\n\\)*?\\)"))
                                          parts "")
                         "\\'")))
    (save-match-data
      (when (and (< (length text) 2000) (string-match regexp text))
        (let ((values (cl-loop for name in names for index from 1
                               collect (cons name (match-string index text)))))
          (and (equal (countersign-words--fill template values 'unchanged) text) (cons t values)))))))

(defun countersign-words--fill (template values &optional unchanged)
  "Fill VALUES, an alist, into TEMPLATE.
A value that is a sentence is translated, unless UNCHANGED is non-nil."
  (let ((sentences (countersign-words-shared "places")))
    (mapconcat (lambda (part)
                 (if (stringp part) part
                   (let ((value (alist-get part values)))
                     (cond ((null value) (format "{%s}" part))
                           ((and (not unchanged) (seq-contains-p sentences (symbol-name part)))
                            (countersign-words-sentence value))
                           (t value)))))
               (countersign-words--parts template) "")))

(defun countersign-words--find (table key)
  "Return the translation of KEY in TABLE of the person's language, or nil."
  (let ((language (or countersign-language (countersign-words--environment))))
    (unless (memq language '(nil en))
      (when-let* ((tables (gethash (symbol-name language) (countersign-words--all))))
        (gethash key (gethash table tables #s(hash-table)))))))

(defun countersign-words--all ()
  "Return all languages: hash tables by language."
  (or countersign-words--all
      (setq countersign-words--all
            (with-temp-buffer
              (let ((coding-system-for-read 'utf-8))
                (insert-file-contents countersign-words--file))
              (json-parse-buffer)))))

(defun countersign-words--environment ()
  "Return the language of the environment, or nil without a translation."
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
