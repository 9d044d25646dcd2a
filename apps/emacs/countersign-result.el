;;; countersign-result.el --- Draw the result of a call for what it is  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Draws the results of the known tools: output in its colours, diffs, lists
;; of files, matches with their lines, commits, diagnostics.  A result of an
;; unknown shape is shown as JSON.

;;; Code:

(require 'cl-lib)
(require 'countersign-card)
(require 'countersign-trial)
(require 'countersign-markdown)

(defcustom countersign-chat-output-max 20000
  "Maximum length of the output that an unfolded call shows."
  :type 'integer
  :group 'countersign)

(defun countersign-result-insert (tool params result)
  "Insert RESULT of a call of TOOL with PARAMS, each line indented."
  (let ((start (point)))
    (condition-case nil
        (countersign-result--draw tool params result)
      ;; A newer runner may send another shape.
      (error (delete-region start (point))
             (countersign-result--json result)))
    (unless (bolp) (insert "\n"))
    (countersign-result--indent start)))

(defun countersign-result--indent (start)
  "Indent the lines from START to point."
  (let ((end (copy-marker (point))))
    (goto-char start)
    (while (< (point) end)
      (insert "  ")
      (forward-line 1))
    (goto-char end)
    (set-marker end nil)))

(defun countersign-result--draw (tool params result)
  "Insert RESULT of TOOL with PARAMS by the shape that it has."
  (cl-flet ((has (&rest fields) (cl-every (lambda (field) (assq field result)) fields)))
    (cond
     ((or (has 'stdout) (has 'stderr)) (countersign-result--output result))
     ((and (has 'content) (equal (countersign-get result 'encoding) "base64")) (countersign-result--picture result))
     ((has 'content) (countersign-result--content params result))
     ((and (has 'files) (equal tool "git_diff")) (countersign-result--diff result))
     ((and (has 'files) (has 'branch)) (countersign-result--status result))
     ((has 'files) (countersign-result--files params result))
     ((has 'commits) (mapc #'countersign-result--commit (countersign-list-of result 'commits)))
     ((has 'commit) (countersign-result--commit (countersign-get result 'commit)))
     ((has 'branches) (countersign-result--branches result))
     ((has 'remote 'to) (countersign-result--pushed result))
     ((has 'diagnostics) (mapc #'countersign-result--diagnostic (countersign-list-of result 'diagnostics)))
     ((has 'symbols) (mapc #'countersign-result--symbol (countersign-list-of result 'symbols)))
     ((has 'locations) (countersign-result--locations result))
     ((has 'contents) (countersign-result--counted (countersign-get result 'contents))
                      (countersign-result--text
                       (countersign-markdown (countersign-card-text (countersign-text-of result 'contents)))))
     ((has 'host) (countersign-result--line (countersign-text-of result 'host)))
     ((has 'job_id) (countersign-result--line (countersign-words "Runs as %s" (countersign-text-of result 'job_id))))
     ((has 'host) (countersign-result--line
                   (countersign-words "The command may reach %s" (countersign-one-line (countersign-text-of result 'host) 100))))
     ((has 'exit_code) (let ((code (countersign-get result 'exit_code)))
                         (countersign-result--line
                          (if (integerp code) (countersign-words "Ended with exit code %d" code)
                            (countersign-words "Ended by a signal")))))
     ((has 'path 'changed_files) (mapc #'countersign-result--changed (countersign-list-of result 'changed_files)))
     (t (countersign-result--json result))))
  (when (countersign-get result 'truncated)
    (countersign-result--line (countersign-words "There is more than is shown here.") 'countersign-warning)))

(defun countersign-result--line (text &optional face)
  "Insert TEXT as a line in FACE, with hidden characters visible."
  (countersign-insert text face)
  (insert "\n"))

(defun countersign-result--text (text)
  "Insert TEXT, which may be shown as it is, as lines of its own."
  (insert (string-trim-right text "\n+"))
  (unless (bolp) (insert "\n")))

(defun countersign-result--json (result)
  "Insert RESULT as JSON."
  (let ((countersign-card-max countersign-chat-output-max))
    (countersign-result--text (countersign-fontify (countersign-card-text (countersign-json-pretty result))
                                                   'js-mode))))

(defun countersign-result--counted (found)
  "Say so if FOUND is nil."
  (unless found (countersign-result--line (countersign-words "(nothing)") 'countersign-label)))

;;;; Output of commands

(defun countersign-result-output (result)
  "Return the output of RESULT, a command, unchanged."
  (let ((errors (countersign-text-of result 'stderr))
        (output (countersign-text-of result 'stdout)))
    (concat output
            (unless (or (string-empty-p output) (string-empty-p errors) (string-suffix-p "\n" output)) "\n")
            errors)))

(defun countersign-result-coloured (output)
  "Return OUTPUT of a command with its colours and with long lines broken."
  (mapconcat #'countersign-card--break
             (split-string (string-trim-right (countersign-fontify-output output) "\n+") "\n") "\n"))

(defun countersign-result-insert-lines (output count)
  "Insert the last COUNT lines of OUTPUT, indented."
  (let* ((start (point))
         (end (string-trim-right (substring output (max 0 (- (length output) (* count 500))))))
         (lines (last (split-string end "\n") count)))
    (unless (string-empty-p end)
      (insert (countersign-result-coloured (string-join lines "\n")) "\n")
      (countersign-result--indent start))))

(defun countersign-result--output (result)
  "Insert the output of RESULT, a command: the last part if it is long."
  (countersign-result-insert-tail (countersign-result-output result))
  (let ((code (countersign-get result 'exit_code)))
    (when (and code (not (eql code 0)))
      (countersign-result--line (countersign-words "(exit code %s)" code) 'countersign-warning)))
  (countersign-trial-insert-landed result)
  (when (eq (alist-get 'running result) t)
    (countersign-result--line (countersign-words "(still running)") 'countersign-label)))

(defun countersign-result-insert-tail (output)
  "Insert the end of OUTPUT, and say what is left out before it."
  (let ((left-out (- (length output) countersign-chat-output-max)))
    (when (> left-out 0)
      (let ((from (or (string-search "\n" output left-out) left-out)))
        (countersign-result--line
         (countersign-words "… %d characters before this; %s shows all" from
                            (substring-no-properties
                             (substitute-command-keys "\\<countersign-chat-mode-map>\\[countersign-chat-show-output]")))
         'countersign-warning)
        (setq output (string-trim-left (substring output from) "\n"))))
    (unless (string-empty-p output) (countersign-result--text (countersign-result-coloured output)))))

;;;; Files

(defun countersign-result--content (params result)
  "Insert the content in RESULT, text of the file that PARAMS name."
  (let ((countersign-card-max countersign-chat-output-max)
        (ending (file-name-extension (countersign-text-of params 'path))))
    (countersign-result--text
     (countersign-fontify (countersign-card-text (countersign-text-of result 'content))
                          (and ending (countersign-fontify-mode ending))))))

(defun countersign-result--picture (result)
  "Insert the picture in RESULT, or what it is if it cannot be displayed."
  (let* ((media (countersign-text-of result 'media_type))
         (type (cdr (assoc media '(("image/png" . png) ("image/jpeg" . jpeg) ("image/gif" . gif)
                                   ("image/webp" . webp)))))
         (image (and type (display-images-p) (image-type-available-p type)
                     (ignore-errors
                       (create-image (base64-decode-string (countersign-text-of result 'content)) type t
                                     :max-width 600 :max-height 400)))))
    (when image
      (insert-image image "[picture]")
      (insert "\n"))
    (countersign-result--line (countersign-words "%s, %s bytes" media (countersign-get result 'size))
                              'countersign-label)))

(defun countersign-result--files (params result)
  "Insert the files of RESULT; matches show what PARAMS look for."
  (let ((files (countersign-list-of result 'files)))
    (countersign-result--counted files)
    (dolist (file files)
      (let ((folder (equal (countersign-get file 'type) "directory"))
            (matches (countersign-list-of file 'matches)))
        (countersign-insert (concat (countersign-one-line (countersign-text-of file 'path)) (and folder "/"))
                            (cond (matches 'countersign-heading) (folder 'font-lock-function-name-face)))
        (unless (or folder matches)
          (countersign-insert (format "  %s" (file-size-human-readable (or (countersign-get file 'size) 0) nil " " "B"))
                              'countersign-label))
        (insert "\n")
        (dolist (match matches)
          (countersign-result--located (format "  %s" (countersign-get match 'line))
                                       (countersign-text-of match 'text)
                                       (countersign-text-of params 'content)))))))

(defun countersign-result--located (place text &optional pattern)
  "Insert PLACE and TEXT, a line of a file; PATTERN in it is highlighted."
  (countersign-insert (concat place ": ") 'countersign-label)
  (let ((line (countersign-one-line text 300)))
    ;; The pattern is an expression of another language: highlight it only if it is plain text.
    (when (and pattern (not (string-empty-p pattern)))
      (let ((from (string-search pattern line)))
        (when from (put-text-property from (+ from (length pattern)) 'face 'match line))))
    (insert line "\n")))

(defun countersign-result--changed (file)
  "Insert FILE that a call changed."
  (countersign-result--line
   (format "%s  %s" (countersign-one-line (countersign-text-of file 'path))
           (countersign-card-operation (countersign-get file 'operation)))))

;;;; Git

(defun countersign-result--diff (result)
  "Insert the diff of RESULT in the faces of `diff-mode'."
  (let ((files (countersign-list-of result 'files)))
    (countersign-result--counted files)
    (dolist (file files)
      (countersign-result--line (format "%s  %s" (countersign-one-line (countersign-text-of file 'path))
                                        (countersign-text-of file 'state))
                                'countersign-heading)
      (dolist (hunk (countersign-list-of file 'hunks))
        (insert (countersign-card-diff
                 (concat (format "@@ -%s,%s +%s,%s @@ %s\n"
                                 (countersign-get hunk 'old_start) (countersign-get hunk 'old_lines)
                                 (countersign-get hunk 'new_start) (countersign-get hunk 'new_lines)
                                 (countersign-text-of hunk 'header))
                         (string-join (countersign-list-of hunk 'lines) "\n"))))))))

(defun countersign-result--status (result)
  "Insert RESULT, the status of a repository."
  (countersign-result--line
   (concat (or (countersign-get result 'branch) (countersign-words "(no branch)"))
           (and (countersign-get result 'upstream)
                (format "  %s  +%s -%s" (countersign-get result 'upstream)
                        (countersign-get result 'ahead) (countersign-get result 'behind))))
   'countersign-heading)
  (let ((files (countersign-list-of result 'files)))
    (countersign-result--counted files)
    (dolist (file files)
      (insert (propertize (countersign-result--state (countersign-get file 'staged)) 'face 'diff-added)
              (propertize (countersign-result--state (countersign-get file 'unstaged)) 'face 'diff-removed)
              " ")
      (countersign-result--line
       (concat (and (countersign-get file 'old_path)
                    (concat (countersign-one-line (countersign-get file 'old_path)) " → "))
               (countersign-one-line (countersign-text-of file 'path)))))))

(defun countersign-result--state (state)
  "Return the letter of git for STATE."
  (pcase state
    ('nil " ") ("untracked" "?") ("ignored" "!") ("conflicted" "U") ("type_changed" "T")
    (_ (upcase (substring state 0 1)))))

(defun countersign-result--commit (commit)
  "Insert COMMIT as one line."
  (countersign-insert (truncate-string-to-width (countersign-text-of commit 'id) 8) 'font-lock-constant-face)
  (countersign-insert (format "  %s  %s  "
                              (countersign-one-line (countersign-text-of commit 'date) 10)
                              (countersign-one-line (countersign-text-of commit 'author) 20))
                      'countersign-label)
  (countersign-result--line (countersign-one-line (countersign-text-of commit 'subject) 200)))

(defun countersign-result--branches (result)
  "Insert the branches of RESULT."
  (dolist (branch (countersign-list-of result 'branches))
    (let ((name (countersign-text-of branch 'name)))
      (insert (if (equal name (countersign-get result 'current)) "* " "  "))
      (countersign-insert (countersign-one-line name 100)
                          (and (equal name (countersign-get result 'current)) 'countersign-heading))
      (countersign-result--line (format "  %s  %s" (countersign-one-line (countersign-text-of branch 'commit) 8)
                                        (countersign-one-line (countersign-text-of branch 'upstream) 100))
                                'countersign-label))))

(defun countersign-result--pushed (result)
  "Insert RESULT, what was pushed where."
  (countersign-result--line
   (format "%s → %s  %s..%s" (countersign-one-line (countersign-text-of result 'branch) 100)
           (countersign-one-line (countersign-text-of result 'remote) 100)
           (countersign-one-line (countersign-text-of result 'from) 8)
           (countersign-one-line (countersign-text-of result 'to) 8))))

;;;; Language servers

(defun countersign-result--diagnostic (diagnostic)
  "Insert DIAGNOSTIC with its line."
  (let ((severity (countersign-text-of diagnostic 'severity)))
    (countersign-insert (format "%s:%s " (countersign-get diagnostic 'line) (countersign-get diagnostic 'col))
                        'countersign-label)
    (countersign-insert (countersign-one-line severity 12)
                        (pcase severity ("error" 'error) ("warning" 'warning) (_ 'countersign-label)))
    (countersign-result--line (concat " " (countersign-one-line (countersign-text-of diagnostic 'message) 300)))
    (countersign-result--line (concat "  " (countersign-one-line (countersign-text-of diagnostic 'text) 300))
                              'countersign-label)))

(defun countersign-result--symbol (symbol)
  "Insert SYMBOL with its line."
  (countersign-insert (format "%5s  %-10s " (countersign-get symbol 'line)
                              (countersign-one-line (countersign-text-of symbol 'kind) 12))
                      'countersign-label)
  (countersign-result--line
   (concat (and (countersign-get symbol 'container)
                (concat (countersign-one-line (countersign-get symbol 'container) 60) "."))
           (countersign-one-line (countersign-text-of symbol 'name) 100))))

(defun countersign-result--locations (result)
  "Insert the places of RESULT with their lines."
  (let ((places (countersign-list-of result 'locations)))
    (countersign-result--counted places)
    (dolist (place places)
      (countersign-result--located (format "%s:%s" (countersign-one-line (countersign-text-of place 'path))
                                           (countersign-get place 'line))
                                   (countersign-text-of place 'text)))))

(provide 'countersign-result)

;;; countersign-result.el ends here
