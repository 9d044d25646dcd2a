;;; countersign-words.el --- The language in which a person reads  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Everything that a person reads is written in English where it is used,
;; inside of `countersign-words'.  Other languages are tables from that
;; English, such as countersign-russian.el, and are loaded when they are
;; needed.  Texts of a server, a tool or a model stay as they are.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defcustom countersign-language nil
  "The language of Countersign.
With nil it is that of the locale or of the language environment, where
Countersign has it, and English otherwise."
  :type '(choice (const :tag "As the environment has it" nil)
                 (const :tag "English" en)
                 (const :tag "Русский" ru))
  :group 'countersign)

(defvar countersign-russian)
(defvar countersign-russian-titles)

(defun countersign-words (text &rest arguments)
  "Return TEXT in the language of the person, with ARGUMENTS as for `format'.
TEXT is English; what has no translation stays so."
  (let ((words (or (and (countersign-words--russian-p) (gethash text countersign-russian)) text)))
    (if arguments (apply #'format words arguments) words)))

(defun countersign-words-title (tool)
  "Return a sentence with a place for what a call of TOOL is about, or nil.
In English that is the server's."
  (and (countersign-words--russian-p) (cdr (assoc tool countersign-russian-titles))))

(defun countersign-words--russian-p ()
  "Return non-nil if the person reads Russian; load the table then."
  (and (eq (or countersign-language (countersign-words--environment)) 'ru)
       (or (featurep 'countersign-russian) (require 'countersign-russian nil t))))

(defun countersign-words--environment ()
  "Return the language of the environment, if it is one of ours, or nil."
  (let ((locale (cl-some (lambda (name)
                           (let ((value (getenv name)))
                             (and value (not (string-empty-p value)) value)))
                         '("LC_ALL" "LC_MESSAGES" "LANG"))))
    (and (or (string-match-p "\\`ru\\(?:[_.@]\\|\\'\\)" (or locale ""))
             (equal current-language-environment "Russian"))
         'ru)))

(provide 'countersign-words)

;;; countersign-words.el ends here
