;;; countersign-fontify.el --- Colours for text of tools and models  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Returns untrusted text with faces and no other property: code in the faces
;; of its major mode, and output with its ANSI colours.  The major mode comes
;; from the list `countersign-code-modes', its hooks do not run, and local
;; variables in the text have no effect.

;;; Code:

(require 'ansi-color)
(require 'cl-lib)
(require 'countersign-protocol)

(defcustom countersign-code-modes
  '((c-mode "c" "h") (c++-mode "cpp" "c++" "cc" "cxx" "hpp") (conf-mode "ini" "properties" "env")
    (conf-toml-mode "toml") (css-mode "css") (diff-mode "diff" "patch") (emacs-lisp-mode "elisp" "emacs-lisp" "el")
    (go-mode "go" "golang") (html-mode "html" "htm" "svelte" "vue") (java-mode "java")
    (js-mode "js" "javascript" "mjs" "cjs" "jsx" "json" "jsonc") (lisp-mode "lisp" "common-lisp")
    (lua-mode "lua") (makefile-mode "make" "makefile" "mk") (markdown-mode "markdown" "md")
    (nxml-mode "xml" "svg") (perl-mode "perl" "pl") (python-mode "python" "py" "py3") (ruby-mode "ruby" "rb")
    (rust-mode "rust" "rs") (scheme-mode "scheme" "scm")
    (sh-mode "sh" "bash" "shell" "zsh" "console" "shellsession" "shell-session") (sql-mode "sql")
    (typescript-mode "typescript" "ts" "tsx" "mts" "cts") (js-mode "typescript" "ts" "tsx" "mts" "cts")
    (yaml-mode "yaml" "yml") (conf-mode "yaml" "yml"))
  "Major modes for code, each with names of languages and endings of files.
The first mode that is installed is used.  A model names the language, so
list only modes that are safe for any text."
  :type '(alist :key-type function :value-type (repeat string))
  :group 'countersign)

(defconst countersign-fontify--max 50000
  "Longest text that is fontified; a longer text stays plain.")

(defun countersign-fontify-mode (language)
  "Return the major mode for LANGUAGE, a name or the ending of a file, or nil."
  (let ((language (downcase language)))
    (car (cl-find-if (lambda (entry) (and (member language (cdr entry)) (fboundp (car entry))))
                     countersign-code-modes))))

(defun countersign-fontify (text mode)
  "Return TEXT with the faces of the major MODE and no other property.
TEXT stays plain if it is very long, or if MODE fails or is nil."
  (if (or (null mode) (> (length text) countersign-fontify--max)) (substring-no-properties text)
    (condition-case nil
        (with-temp-buffer
          (insert (substring-no-properties text))
          ;; The mode must not open files, refine in the background or run hooks.
          (let ((inhibit-message t) (message-log-max nil)
                (diff-font-lock-syntax nil) (diff-font-lock-prettify nil) (diff-refine nil)
                (change-major-mode-after-body-hook nil) (after-change-major-mode-hook nil)
                (enable-local-variables nil) (enable-dir-local-variables nil))
            (delay-mode-hooks (funcall mode))
            (let ((noninteractive nil)) (font-lock-mode 1))
            (font-lock-ensure)
            (countersign-fontify--faces-only (buffer-string) 'face)))
      (error (substring-no-properties text)))))

(defun countersign-fontify--faces-only (text property)
  "Return TEXT with its PROPERTY as `face', and no other property."
  (let ((result (substring-no-properties text)) (position 0))
    (while position
      (let ((next (next-single-property-change position property text))
            (face (get-text-property position property text)))
        (when face
          (put-text-property position (or next (length text)) 'face
                             ;; The signs of `diff-mode' are hard to see on its own colours.
                             (pcase face
                               ('diff-indicator-added 'diff-added)
                               ('diff-indicator-removed 'diff-removed)
                               (_ face))
                             result))
        (setq position next)))
    result))

;;;; Output of commands

(defconst countersign-fontify--colour "\e\\[[0-9;]*m"
  "A sequence that sets colours.  Only these take effect.")

(defun countersign-fontify-output (text)
  "Return TEXT, output of a command, with its ANSI colours as faces.
Other hidden characters are made visible, and an overwritten line is kept."
  (let* ((text (replace-regexp-in-string "\r+\n?" "\n" text t t))
         (ansi-color-context nil)
         (start 0) (pieces '()))
    (while (string-match countersign-fontify--colour text start)
      (let ((from (match-beginning 0)) (to (match-end 0)))
        (push (countersign-visible (substring text start from)) pieces)
        (push (substring text from to) pieces)
        (setq start to)))
    (push (countersign-visible (substring text start)) pieces)
    (if (null (cdr pieces)) (car pieces)
      (countersign-fontify--faces-only (ansi-color-apply (string-join (nreverse pieces))) 'font-lock-face))))

(provide 'countersign-fontify)

;;; countersign-fontify.el ends here
