;;; countersign-call.el --- Draw a tool call in the transcript  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A call is one line: its title, its outcome, how long it took and who
;; decided.  TAB unfolds the rest.  A call that failed shows the end of
;; its output without being asked, and so does a command while it runs.

;;; Code:

(require 'cl-lib)
(require 'countersign-card)
(require 'countersign-result)

(defface countersign-tool '((t :inherit font-lock-type-face))
  "A tool call."
  :group 'countersign-faces)

(defcustom countersign-chat-tail 8
  "How many lines of output a running or failed command shows by itself."
  :type 'integer
  :group 'countersign)

(cl-defstruct (countersign-item (:copier nil))
  "Something in the transcript.
KIND is `message' or `tool'; START is a marker; NEXT is the next item."
  id kind start next (open nil) drawn-at
  role (text "")
  tool-name params status note decision preview result error time-ms exit-code (output "") not-started undoable undo fetching)

;;;; The line

(defun countersign-call-insert (item)
  "Insert ITEM, a tool call: one line, and its details if it is open."
  (let ((start (point)))
    (insert (if (countersign-item-open item) "▾ " "▸ "))
    (pcase-let ((`(,before ,object ,after) (countersign-call--title item)))
      (insert (propertize (if (string-empty-p object) (string-trim-right before) before) 'face 'countersign-tool)
              object (propertize after 'face 'countersign-tool)))
    (dolist (part (list (countersign-call--outcome item)
                        (countersign-call--landed item)
                        (and (countersign-item-time-ms item)
                             (countersign-call--quiet (countersign-call--duration (countersign-item-time-ms item))))
                        (countersign-call--quiet (countersign-item-note item))
                        ;; Its request was withdrawn because it was not started.
                        (and (not (countersign-item-not-started item))
                             (countersign-call--quiet (countersign-item-decision item)))))
      (unless (member part '(nil "")) (insert "  " part)))
    (pcase (countersign-item-undo item)
      ('nil nil)
      ('undone (insert "  " (propertize (countersign-words "undone") 'face 'countersign-warning)))
      (words (insert "  ") (countersign-insert (countersign-one-line words 200) 'countersign-warning)))
    (insert "\n")
    (put-text-property start (point) 'mouse-face 'highlight)
    (put-text-property start (point) 'help-echo (countersign-words "TAB folds and unfolds"))
    (if (countersign-item-open item) (countersign-call--insert-details item)
      (countersign-call--insert-end item))))

(defun countersign-call--quiet (text)
  "Return TEXT, which may be nil, on one line in a quiet face."
  (and text (propertize (countersign-one-line text 300) 'face 'countersign-label)))

(defun countersign-call--title (item)
  "Return (BEFORE OBJECT AFTER), the title of ITEM in the tense of its state."
  (let* ((tool (or (countersign-item-tool-name item) "?"))
         (tense (pcase (countersign-item-status item) ("completed" "done") ("executing" "doing") (_ "plan")))
         (known (countersign-words-shared "calls" tool tense))
         (words (or known (countersign-words-shared "calls" "other" tense)))
         (place (string-search "{object}" words))
         (object (countersign-call--object item)))
    (list (string-replace "{tool}" (countersign-one-line tool 60) (substring words 0 place))
          object
          (string-trim-right (substring words (+ place (length "{object}")))))))

(defun countersign-call--object (item)
  "Return what ITEM is about.  A search is about its pattern, not its folder."
  (let* ((params (countersign-item-params item))
         (path (countersign-text-of params 'path))
         (object (if (equal (countersign-item-tool-name item) "search_files")
                     (concat (countersign-one-line
                              (string-trim (concat (countersign-text-of params 'content) " "
                                                   (countersign-text-of params 'pattern)))
                              60)
                             (unless (member path '("" ".")) (format " (%s)" (countersign-one-line path 60))))
                   (countersign-operand params))))
    (if (equal object ".") (countersign-words-shared "root") object)))

(defconst countersign-call--blocked
  '("DENIED_BY_POLICY" "COMMAND_NOT_ALLOWED" "ARGUMENT_REFUSED" "SHELL_CATASTROPHE" "SHELL_TOO_COMPLEX"
    "PATH_OUTSIDE_WORKSPACE" "PATH_SENSITIVE" "PATH_IS_ROOT" "EXTENSION_REFUSED" "REJECTED_BEFORE"
    "SESSION_READ_ONLY" "TOOL_SERVER_NOT_ALLOWED" "REPOSITORY_UNSAFE")
  "Codes of calls that a policy refused, so that they never ran.")

(defun countersign-call--outcome (item)
  "Return the outcome of ITEM beyond its title, as text with a face, or nil."
  (pcase (countersign-item-status item)
    ((and "completed" (guard (countersign-call-nonzero-p item)))
     (propertize (countersign-words "exit %s" (countersign-item-exit-code item)) 'face 'countersign-warning))
    ("completed" (countersign-call--quiet (countersign-call--amount item)))
    ("awaiting_approval"
     (propertize (countersign-words "waits for you (%s)"
                                    (substring-no-properties
                                     (substitute-command-keys
                                      "\\<countersign-chat-mode-map>\\[countersign-approval-next]")))
                 'face 'countersign-warning))
    ((and "failed" (guard (member (countersign-text-of (countersign-item-error item) 'code)
                                  countersign-call--blocked)))
     (propertize (countersign-words "blocked") 'face 'error))
    ("failed" (propertize (countersign-words "failed") 'face 'error))
    ("rejected" (propertize (countersign-words "rejected") 'face 'error))
    ("timeout" (propertize (countersign-words "expired") 'face 'error))
    ((and "cancelled" (guard (countersign-item-not-started item)))
     (propertize (countersign-words "not started") 'face 'countersign-label))
    ("cancelled" (propertize (countersign-words "cancelled") 'face 'error))
    ("executing" "…")
    (status (propertize (countersign-one-line (or status "…") 20) 'face 'countersign-label))))

(defun countersign-call--amount (item)
  "Return how much ITEM changed or found, or nil."
  (let* ((result (countersign-item-result item))
         (result (and (consp result) result))
         (content (countersign-get result 'content))
         (files (countersign-list-of (countersign-item-preview item) 'files)))
    (cl-flet ((amount (field) (let ((list (alist-get field result))) (and (vectorp list) (length list)))))
      (cond
       (files
        (let ((text (mapconcat (lambda (file) (countersign-text-of file 'diff)) files "\n")))
          ;; Each diff begins with the names of its two files.
          (format "+%d −%d"
                  (- (countersign-call--count "^\\+" text) (countersign-call--count "^\\+\\+\\+ " text))
                  (- (countersign-call--count "^-" text) (countersign-call--count "^--- " text)))))
       ((amount 'files) (countersign-words "files: %d" (amount 'files)))
       ((amount 'locations) (countersign-words "places: %d" (amount 'locations)))
       ((amount 'diagnostics) (countersign-words "problems: %d" (amount 'diagnostics)))
       ((amount 'commits) (countersign-words "commits: %d" (amount 'commits)))
       ((and (stringp content) (not (equal (countersign-get result 'encoding) "base64")))
        (countersign-words "lines: %d" (length (countersign-call--lines content))))
       ((stringp (alist-get 'stdout result))
        (countersign-words "lines: %d" (length (countersign-call--lines (countersign-call-output item)))))))))

(defun countersign-call--landed (item)
  "Return how many files ITEM, a command, changed, and how many did not land."
  (let* ((result (and (consp (countersign-item-result item)) (countersign-item-result item)))
         (files (and (assq 'stdout result) (countersign-list-of result 'changed_files)))
         (left (countersign-trial-left result))
         (texts (delq nil
                      (list (and files
                                 (countersign-call--quiet
                                  (concat (countersign-words "files changed: %d" (length files))
                                          (and (countersign-get result 'changed_files_incomplete) "+"))))
                            (and (> left 0)
                                 (propertize (countersign-words "left out: %d" left) 'face 'countersign-warning))))))
    (and texts (string-join texts "  "))))

(defun countersign-call--lines (text)
  "Return the lines of TEXT."
  (split-string (string-trim-right text "\n") "\n"))

(defun countersign-call--count (regexp text)
  "Count the lines of TEXT that match REGEXP."
  (with-temp-buffer
    (insert text)
    (how-many regexp (point-min) (point-max))))

(defun countersign-call--duration (milliseconds)
  "Return MILLISECONDS as text."
  (cond ((< milliseconds 1000) (format "%d ms" milliseconds))
        ((< milliseconds 60000) (format "%.1f s" (/ milliseconds 1000.0)))
        (t (format "%d:%02d" (/ milliseconds 60000) (% (/ milliseconds 1000) 60)))))

(defun countersign-call-nonzero-p (item)
  "Return non-nil if ITEM is a command that ended with a nonzero exit code."
  (let ((code (countersign-item-exit-code item)))
    (and (integerp code) (/= code 0))))

(defun countersign-call-failed-p (item)
  "Return non-nil if ITEM failed, or is a command with a nonzero exit code."
  (or (equal (countersign-item-status item) "failed")
      (and (equal (countersign-item-status item) "completed") (countersign-call-nonzero-p item))))

;;;; Below the line

(defun countersign-call--insert-end (item)
  "Insert the last lines of ITEM while it is running, or if it failed."
  (let ((running (equal (countersign-item-status item) "executing"))
        (failed (countersign-call-failed-p item)))
    (when (or running failed)
      (countersign-result-insert-lines (countersign-call-output item) countersign-chat-tail)
      (when failed (countersign-call--insert-error item)))))

(defun countersign-call-output (item)
  "Return all known output of ITEM, unchanged."
  (let ((result (countersign-item-result item)))
    (if (and (consp result) (or (assq 'stdout result) (assq 'stderr result)))
        (countersign-result-output result)
      (countersign-item-output item))))

(defun countersign-call--insert-error (item)
  "Insert the error of ITEM, unless ITEM was not started.
The note at the end of its run tells why it was not."
  (when-let ((problem (and (not (countersign-item-not-started item)) (countersign-item-error item))))
    (let ((code (countersign-text-of problem 'code)))
      (insert "  ")
      (countersign-insert
       (countersign-one-line (countersign-words-error code (countersign-text-of problem 'message) 'tell) 500)
       'error)
      (insert (propertize (format " [%s]" (countersign-one-line code 40)) 'face 'countersign-label) "\n"))))

(defun countersign-call--insert-details (item)
  "Insert the parameters, the change and the result of ITEM."
  (let* ((params (countersign-item-params item))
         (result (countersign-item-result item))
         (files (countersign-call--changes item))
         (rest (countersign-call--rest-of-params params files (countersign-call--object item))))
    (when rest (countersign-card--params rest))
    (dolist (file files)
      (let ((start (point)))
        (insert (countersign-card-diff (countersign-text-of file 'diff)))
        (countersign-result--indent start)))
    (countersign-call--insert-error item)
    (cond
     ((countersign-item-fetching item) (insert "  …\n"))
     ((eq result 'omitted))
     ((null result)
      (let ((start (point)))
        (countersign-result-insert-tail (countersign-call-output item))
        (countersign-result--indent start)))
     ;; The diff has said which file was changed, and how.
     ((and files (assq 'changed_files result) (not (assq 'stdout result))))
     (t (countersign-result-insert (countersign-item-tool-name item) params result)))))

(defun countersign-call--changes (item)
  "Return the changed files of ITEM with diffs, as far as they are known."
  (or (cl-remove-if (lambda (file) (string-empty-p (countersign-text-of file 'diff)))
                    (countersign-list-of (countersign-item-preview item) 'files))
      (let* ((params (countersign-item-params item))
             (old (countersign-get params 'old))
             (new (countersign-get params 'new)))
        (when (and (equal (countersign-item-tool-name item) "edit_file") (stringp old) (stringp new))
          (list `((diff . ,(concat (countersign-call--signed "-" old) (countersign-call--signed "+" new)))))))))

(defun countersign-call--signed (sign text)
  "Return the lines of TEXT, each after SIGN."
  (if (string-empty-p text) ""
    (concat sign (replace-regexp-in-string "\n" (concat "\n" sign) (string-trim-right text "\n")) "\n")))

(defun countersign-call--rest-of-params (params files title)
  "Return those of PARAMS that neither TITLE nor the diffs of FILES show."
  (cl-remove-if
   (lambda (param)
     (pcase-let ((`(,name . ,value) param))
       (or (and files (memq name '(old new content)))
           ;; Defaults that the server filled in.
           (eq value :false)
           (equal param '(pattern . "*"))
           (and (stringp value) (string-search (countersign-one-line value) title))
           (and (eq name 'args) (not (string-search "…" title))))))
   params))

(provide 'countersign-call)

;;; countersign-call.el ends here
