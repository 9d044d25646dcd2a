;;; countersign-card.el --- Draw an approval  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Draws the card of a call: tool, reasons, parameters, preview, and the
;; message that it came from.  Everything that a tool or a model wrote is
;; inserted as plain text: control characters are made visible, and its
;; properties, links and local variables have no effect (UI-6).

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'countersign-protocol)
(require 'countersign-fontify)

(declare-function countersign-trial-insert "countersign-trial")

(defgroup countersign-faces nil
  "How Countersign looks."
  :group 'countersign)

(defface countersign-low '((t :inherit success))
  "LOW risk, which does not ask.")
;; These faces have their own background, because header and mode lines use them too.
(defface countersign-medium '((t :foreground "black" :background "gold" :weight bold))
  "MEDIUM risk, which asks.")
(defface countersign-high '((t :foreground "white" :background "red3" :weight bold))
  "HIGH risk, which takes a second step.")
(defface countersign-heading '((t :inherit bold))
  "Headings of a card and a conversation.")
(defface countersign-label '((t :inherit shadow))
  "Names of facts.")
(defface countersign-warning '((t :inherit warning))
  "Warnings.")
(defface countersign-key '((t :inherit help-key-binding))
  "Keys that can be pressed.")

(defun countersign-card-risk-face (risk)
  "Return the face for RISK."
  (pcase risk
    ("LOW" 'countersign-low)
    ("MEDIUM" 'countersign-medium)
    (_ 'countersign-high)))

;;;; Untrusted text

(defvar countersign-card-max 200000
  "Maximum length of a text on a card.  A longer text is cut, and the card says so.")

(defconst countersign-card--max-line 1000
  "Maximum length of a line before it is broken: Emacs is slow with long lines.")

(defun countersign-insert (text &optional face)
  "Insert TEXT of a tool or a model in FACE, with hidden characters visible."
  (insert (if face (propertize (countersign-visible text) 'face face)
            (countersign-visible text))))

(defun countersign-card-text (text &optional diff)
  "Return TEXT with hidden characters visible and long lines broken.
A very long text is cut, with a note.  In a DIFF each part of a line keeps
the sign of the line."
  (let* ((text (if (stringp text) text (format "%s" text)))
         (more (- (length text) countersign-card-max))
         (shown (countersign-visible (if (> more 0) (substring text 0 countersign-card-max) text))))
    (concat
     (if (string-match-p (format "^[^\n]\\{%d\\}" countersign-card--max-line) shown)
         (mapconcat (lambda (line) (countersign-card--break line diff)) (split-string shown "\n") "\n")
       shown)
     (and (> more 0)
          (concat "\n" (countersign-words "… CUT HERE: %d more characters are not shown" more))))))

(defun countersign-card--break (line &optional diff)
  "Break LINE if it is too long to be displayed quickly.
In a DIFF its sign is repeated: an added line must not look removed."
  (let ((parts '()) (start 0)
        (sign (if (and diff (string-match-p "\\`[-+ ]" line)) (substring line 0 1) (if diff " " ""))))
    (while (> (- (length line) start) countersign-card--max-line)
      (push (substring line start (+ start countersign-card--max-line)) parts)
      (cl-incf start countersign-card--max-line))
    (push (substring line start) parts)
    (string-join (nreverse parts) (concat "↩\n" sign))))

(defun countersign-card--block (text &optional face indent)
  "Insert TEXT as separate lines in FACE, each after INDENT."
  (let ((shown (countersign-card-text text))
        (start (point)))
    (insert (string-trim-right shown "\n") "\n")
    (when indent
      (let ((end (copy-marker (point))))
        (goto-char start)
        (while (< (point) end) (insert indent) (forward-line 1))
        (goto-char end)))
    (when face (put-text-property start (point) 'face face))))

(defun countersign-card--fact (label text &optional face)
  "Insert a line with LABEL and TEXT in FACE."
  (insert (propertize (format "%-11s" (countersign-words label)) 'face 'countersign-label))
  (let ((start (point)))
    (insert (replace-regexp-in-string
             "\n" (concat "\n" (make-string 11 ?\s))
             (string-trim-right (countersign-card-text text)))
            "\n")
    (when face (put-text-property start (point) 'face face))))

(defun countersign-card--heading (text)
  "Insert TEXT as a heading."
  (insert "\n" (propertize (countersign-words text) 'face 'countersign-heading) "\n"))

;;;; The card

(defun countersign-card-insert (data root)
  "Insert the approval DATA of a project at ROOT."
  (countersign-insert (countersign-title data) 'countersign-heading)
  (insert "\n\n")
  (countersign-card--fact "Tool" (countersign-text-of data 'tool_name))
  (countersign-card--fact "Risk" (countersign-text-of data 'risk_level)
                          (countersign-card-risk-face (countersign-get data 'risk_level)))
  (dolist (reason (countersign-list-of data 'reasons))
    (countersign-card--fact "Why" (countersign-card--reason reason)))
  (when (countersign-get data 'network)
    (countersign-card--fact "Network" (countersign-card--network-text (countersign-get data 'preview))
                            'countersign-warning))
  (countersign-card--context data)
  (when (> (or (countersign-get data 'revision) 1) 1)
    (countersign-card--fact "Revision" (countersign-words "%s: it was changed since it was first asked"
                                               (countersign-get data 'revision))))
  (dolist (path (countersign-card--unsaved data root))
    (countersign-card--fact
     "Unsaved" (countersign-words "%s has changes in Emacs that are not saved; they are not in the preview" path)
     'countersign-warning))
  (when-let ((left-out (countersign-list-of data 'left_out)))
    (countersign-card--fact "Left out" (countersign-words "%s: too large to be sent here"
                                               (string-join left-out ", "))
                            'countersign-warning))
  ;; The preview comes first, because the window may be small.
  (countersign-card--heading "Preview")
  (when (countersign-get data 'trying)
    (countersign-insert (concat "  " (countersign-words "It is being tried beside the project, without network …") "\n")
                        'countersign-warning))
  (countersign-card--preview data)
  (countersign-card--heading "Parameters")
  (countersign-card--params (countersign-get data 'tool_params)))

(defun countersign-card--reason (reason)
  "Return REASON in words."
  (let ((operand (countersign-get reason 'operand)))
    (concat (countersign-words-reason (countersign-text-of reason 'rule) (countersign-text-of reason 'why))
            (and operand (format ": %s" operand))
            (format " [%s]" (countersign-text-of reason 'rule)))))

(defun countersign-card--context (data)
  "Insert the excerpt of the conversation that DATA came from."
  (let ((excerpt (countersign-text-of data 'context 'excerpt))
        (step (countersign-get data 'context 'step)))
    (unless (string-empty-p (string-trim excerpt))
      (countersign-card--fact
       "Context" (concat "“" (countersign-one-line excerpt 300) "”"
                         (and step (countersign-words "  (step %s)" (if (integerp step) (1+ step) step))))))))

(defun countersign-card--params (params)
  "Insert PARAMS, one after the other."
  (if (null params)
      (insert (propertize (concat (countersign-words "  (none)") "\n") 'face 'countersign-label))
    (pcase-dolist (`(,name . ,value) params)
      (insert "  ")
      ;; The caller of a custom tool also chooses parameter names: a line feed could imitate a line of the card.
      (countersign-insert (string-replace "\n" "⟨U+000A⟩" (symbol-name name)) 'countersign-label)
      (let ((text (if (stringp value) value
                    (decode-coding-string (countersign-json-write value) 'utf-8))))
        (if (string-search "\n" (countersign-card-text text))
            (progn (insert (propertize " =\n" 'face 'countersign-label))
                   (countersign-card--block text nil "    "))
          (insert (propertize " = " 'face 'countersign-label)
                  (countersign-card-text text) "\n"))))))

(defun countersign-card-insert-tool (data tool)
  "Insert the description of the TOOL of the approval DATA, and of its risk.
TOOL is an entry of tools/available, (problem . WHY) without one, or nil
while it is loading."
  (let ((risk (countersign-text-of data 'risk_level))
        (category (countersign-text-of tool 'category)))
    (countersign-card--heading "The tool")
    (countersign-card--fact
     "Tool" (concat (countersign-text-of data 'tool_name)
                    (unless (string-empty-p category) (format " (%s)" category))))
    (cond
     ((null tool) (countersign-card--fact "About" (countersign-words "Loading…")))
     ((countersign-get tool 'problem)
      (countersign-card--fact "About" (countersign-text-of tool 'problem) 'countersign-warning))
     (t (countersign-card--fact "About" (countersign-text-of tool 'description))
        (countersign-card--heading "What it takes")
        (countersign-card--parameters tool)))
    (countersign-card--heading "What the risk means")
    (countersign-card--fact "Risk" risk (countersign-card-risk-face risk))
    (countersign-card--block (countersign-card--risk-meaning risk) nil "  ")))

(defun countersign-card--parameters (tool)
  "Insert the parameters that TOOL takes, one after the other."
  (let ((parameters (countersign-get tool 'parameters))
        (required (countersign-list-of tool 'input_schema 'required)))
    (if (not (consp parameters))
        (insert (propertize (concat (countersign-words "  (none)") "\n") 'face 'countersign-label))
      (pcase-dolist (`(,name . ,schema) parameters)
        (let* ((type (countersign-get schema 'type))
               (facts (delq nil (list (and (stringp type) (countersign-one-line type 40))
                                      (and (member (symbol-name name) required)
                                           (countersign-words "required")))))
               (about (countersign-one-line (countersign-text-of schema 'description) 500)))
          (insert "  ")
          (countersign-insert (countersign-one-line (symbol-name name) 60) 'countersign-label)
          (when facts (insert " (" (string-join facts ", ") ")"))
          (unless (string-empty-p about) (insert ": " about))
          (insert "\n"))))))

(defun countersign-card--risk-meaning (risk)
  "Return a sentence about the meaning of RISK (RK-1)."
  (pcase risk
    ("LOW" (countersign-words "It only looks.  It runs without asking."))
    ("MEDIUM" (countersign-words "It changes something, in a way that can be seen beforehand.
It asks once and waits 5 minutes; then it expires and does not run."))
    ("HIGH" (countersign-words "It may be hard to undo, reach beyond the project, or do more than can
be seen beforehand.  It asks twice and waits 10 minutes; then it expires
and does not run."))
    (_ (countersign-words "This Emacs does not know that level."))))

(defun countersign-card--unsaved (data root)
  "Return the paths that DATA would change and that have unsaved buffers in ROOT."
  (let ((paths (delete-dups
                (append (mapcar (lambda (file) (countersign-text-of file 'path))
                                (countersign-list-of data 'preview 'files))
                        (list (countersign-text-of data 'tool_params 'path)
                              (countersign-text-of data 'tool_params 'dest))))))
    (cl-remove-if-not
     (lambda (path)
       (when-let* ((file (and root (countersign-file-below root path)))
                   (buffer (let ((file-name-handler-alist nil))
                             (ignore-errors (find-buffer-visiting file)))))
         (buffer-modified-p buffer)))
     paths)))

;;;; The preview

(defun countersign-card--preview (data)
  "Insert the preview of DATA."
  (let ((preview (countersign-get data 'preview)))
    (if (null preview)
        (countersign-insert
         (if (countersign-get data 'runner_id)
             (concat (countersign-words "  It is being made where the files are …") "\n")
           (concat (countersign-words "  There is none yet.  A runner makes it; to start one: M-x countersign-start-runner") "\n"))
         'countersign-warning)
      (pcase (countersign-get preview 'kind)
        ("diff" (mapc #'countersign-card--file (countersign-list-of preview 'files)))
        ("delete"
         (countersign-insert (concat (countersign-words "  Deletes %s (%s bytes).  It begins with:"
                                     (countersign-text-of preview 'path)
                                     (countersign-get preview 'size)) "\n")
                             'countersign-warning)
         (let ((head (countersign-text-of preview 'head)))
           (if (string-empty-p head) (insert (concat (countersign-words "  (the file is empty)") "\n"))
             (countersign-card--block head 'diff-removed "- "))))
        ("directory"
         (countersign-insert (concat (countersign-words "  Makes the folder %s" (countersign-text-of preview 'path)) "\n")))
        ("command" (countersign-card--command preview))
        ("commit"
         (countersign-card--fact "  Message" (countersign-text-of preview 'message))
         (countersign-card--hooks preview)
         (mapc #'countersign-card--file (countersign-list-of preview 'files)))
        ("push" (countersign-card--push preview))
        ("custom"
         (countersign-card--custom preview))
        ("summary" (countersign-card--block (countersign-text-of preview 'summary) nil "  "))
        ("unavailable"
         (countersign-insert (concat (countersign-words "  There is none: %s" (countersign-text-of preview 'reason)) "\n")
                             'countersign-warning))
        ;; A newer server may send unknown previews: show the data, so that no decision is blind.
        (_ (countersign-card--block (countersign-json-pretty preview) nil "  "))))))

(defun countersign-card--custom (preview)
  "Insert PREVIEW of a custom tool: its program, and what the tool claims."
  (let ((tool (countersign-text-of preview 'tool))
        (runs (countersign-text-of preview 'runs))
        (hints (countersign-list-of preview 'hints)))
    (countersign-card--fact "  Server" (countersign-text-of preview 'server))
    (unless (string-empty-p tool) (countersign-card--fact "  Tool" tool))
    (countersign-card--block (countersign-text-of preview 'summary) nil "  ")
    (unless (string-empty-p runs) (countersign-card--fact "  Runs" runs))
    (when (assq 'network preview) (countersign-card--network preview))
    (when (member "destructive" hints)
      (countersign-card--fact "  It says" (countersign-words "it may destroy something") 'countersign-warning))
    (when (member "read_only" hints)
      (countersign-card--fact "  It says" (countersign-words "it only reads")))
    (unless (string-empty-p runs)
      (countersign-insert (concat "  " (countersign-words "This tool's own program decides what it touches.") "\n")))))

(defun countersign-card--network (preview)
  "Insert whether the call of PREVIEW gets network access."
  (let ((network (countersign-get preview 'network)))
    (countersign-card--fact "  Network" (cond ((not network) (countersign-words "no"))
                                        ((equal (countersign-get preview 'kind) "custom") (countersign-words "yes"))
                                        (t (countersign-card--network-text preview)))
                            (and network 'countersign-warning))))

(defun countersign-card--network-text (preview)
  "Return which hosts the call of PREVIEW may reach, as far as it is known."
  (cond ((not (equal (countersign-get preview 'kind) "command")) (countersign-words "Has network access"))
        ((not (assq 'hosts preview)) (countersign-words "Has network access to any host"))
        ((countersign-list-of preview 'hosts)
         (countersign-words "Has network access: %s" (string-join (countersign-list-of preview 'hosts) ", ")))
        (t (countersign-words "Has network access, but to no host: none is known or named"))))

(defun countersign-card--file (file)
  "Insert the change of FILE with the colors of `diff-mode'."
  (insert "  ")
  (countersign-insert (countersign-text-of file 'path) 'countersign-heading)
  (countersign-insert
   (concat "  " (countersign-card-operation (countersign-get file 'operation))
           (countersign-card--sizes file)
           (and (countersign-get file 'unsaved) (countersign-words ", based on an unsaved buffer"))
           "\n")
   'countersign-label)
  (let ((diff (countersign-text-of file 'diff)))
    (if (string-empty-p diff)
        (insert (concat (countersign-words "  (the content stays the same)") "\n"))
      (insert (countersign-card-diff diff))))
  (when (countersign-get file 'truncated)
    (countersign-insert (concat (countersign-words "  The diff was cut for its size: there is more than is shown here.") "\n")
                        'countersign-warning)))

(defun countersign-card-operation (operation)
  "Return OPERATION on a file in words."
  (pcase operation
    ("created" (countersign-words "new file"))
    ("modified" (countersign-words "changed"))
    ("deleted" (countersign-words "deleted"))
    (other (format "%s" other))))

(defun countersign-card--sizes (file)
  "Return a text about the size of FILE before and after."
  (let ((before (countersign-get file 'size_before))
        (after (countersign-get file 'size_after)))
    (cond ((and before after) (countersign-words ", %s → %s bytes" before after))
          ((or before after) (countersign-words ", %s bytes" (or after before)))
          (t ""))))

(defun countersign-card-diff (diff)
  "Return DIFF as text with the faces of `diff-mode' and no other property."
  (let ((text (concat (string-trim-right (countersign-card-text diff t) "\n")
                      "\n")))
    (countersign-fontify text 'diff-mode)))

(defun countersign-card--command (preview)
  "Insert the command of PREVIEW, parsed."
  (dolist (words (countersign-list-of preview 'commands))
    (countersign-card--fact "  Runs" (mapconcat #'countersign-card--word (append words nil) " ")
                            'countersign-heading))
  (countersign-card--fact "  Folder" (let ((cwd (countersign-text-of preview 'cwd)))
                                       (if (member cwd '("" ".")) (countersign-words "project root") cwd)))
  (when-let ((scripts (countersign-list-of preview 'scripts)))
    (countersign-card--fact "  Code" (countersign-words "Runs code from %s" (string-join scripts "  "))))
  (when-let ((fetches (countersign-get preview 'fetches)))
    (countersign-card--fact "  Fetches from"
                            (string-join (cons (countersign-text-of fetches 'url)
                                               (countersign-list-of fetches 'refs))
                                         "  ")
                            'countersign-heading))
  (when-let ((repositories (countersign-list-of preview 'repositories)))
    (countersign-card--fact "  Repository" (string-join repositories "  ") 'countersign-heading))
  (countersign-card--network preview)
  (if (countersign-get preview 'reversible)
      (countersign-card--fact "" (countersign-words "It can be undone."))
    (countersign-card--fact "" (countersign-words "It cannot be undone.") 'countersign-warning))
  (when-let ((trial (countersign-get preview 'trial))) (countersign-trial-insert trial)))

(defun countersign-card--word (word)
  "Return WORD of a command, quoted for a shell if needed."
  (cond ((not (stringp word)) (countersign-words "⟨known only when it runs⟩"))
        ((string-match-p "\\`[[:alnum:]_@%+=:,./-]+\\'" word) word)
        (t (concat "'" (replace-regexp-in-string "'" "'\\\\''" word t) "'"))))

(defun countersign-card--push (preview)
  "Insert the branch and the commits that PREVIEW pushes."
  (countersign-card--fact "  Pushes" (countersign-words "%s to %s" (countersign-text-of preview 'branch)
                                             (countersign-text-of preview 'remote))
                          'countersign-heading)
  (countersign-card--fact "  Where" (countersign-text-of preview 'url))
  (countersign-card--hooks preview)
  (dolist (commit (countersign-list-of preview 'commits))
    (countersign-card--fact
     "  Commit" (format "%s  %s  (%s)"
                        (truncate-string-to-width (countersign-text-of commit 'id) 8)
                        (countersign-text-of commit 'subject)
                        (countersign-text-of commit 'author)))))

(defun countersign-card--hooks (preview)
  "Insert the hooks that PREVIEW would run."
  (when-let ((hooks (countersign-list-of preview 'hooks)))
    (countersign-card--fact "  Hooks" (string-join hooks "  ") 'countersign-warning)))

(provide 'countersign-card)

;;; countersign-card.el ends here
