;;; countersign-trial.el --- Try a command before deciding about it  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A trial runs a command beside the project, without network, before anybody
;; approved it (RN-13).  Draws on the card what it would change, and on the
;; result of a command what it changed and what did not land.

;;; Code:

(require 'cl-lib)
(require 'countersign-card)

(defconst countersign-trial-max-diffs 40
  "How many diffs a card shows.  A larger trial lists the other files.")

(defconst countersign-trial--max-text 60000
  "Length of all diffs that a card shows: drawing them takes time.")

(defconst countersign-trial--max-output 20000
  "Maximum length of the output that a card shows; the end is shown.")

(defconst countersign-trial--max-names 20
  "How many paths a line names.")

;;;; What a command would change

(defun countersign-trial-possible-p (data)
  "Return non-nil if a runner may try the call of the approval DATA.
The server decides, and says why not."
  (and (member (countersign-get data 'tool_name) '("execute_command" "shell_exec"))
       (equal (countersign-get data 'preview 'kind) "command")
       (not (countersign-get data 'network))
       (not (countersign-get data 'preview 'network))
       (not (countersign-get data 'preview 'trial))
       (not (countersign-get data 'trying))))

(defun countersign-trial-lands-p (data)
  "Return non-nil if the files of a trial land when DATA is approved."
  (let ((trial (countersign-get data 'preview 'trial)))
    (and (equal (countersign-get trial 'ended) "exit") (countersign-trial--counts trial) t)))

(defun countersign-trial-files (data)
  "Return the files that the tried call of the approval DATA would change."
  (countersign-list-of data 'preview 'trial 'files))

(defun countersign-trial-insert (trial)
  "Insert TRIAL, what a command did when it was tried."
  (countersign-card--heading "Tried")
  (if-let ((problem (countersign-get trial 'problem)))
      (countersign-trial--warn (countersign-words "It could not be tried: %s.  If you approve it, it runs as without a trial."
                                                  (string-trim-right (countersign-words-sentence (format "%s" problem)) "\\.")))
    (countersign-trial--insert-outcome trial)
    (when-let ((paths (countersign-list-of trial 'withheld)))
      (countersign-card--fact "  Withheld" (countersign-words "%s\nwould run something later, so it stays out if you approve"
                                                              (countersign-trial-paths paths))
                              'countersign-warning))
    (when-let ((paths (countersign-list-of trial 'left_out)))
      (countersign-card--fact "  Left out" (countersign-words "%s\npipes, sockets and devices stay out"
                                                              (countersign-trial-paths paths))
                              'countersign-warning))
    (when-let ((hosts (countersign-list-of trial 'hosts)))
      (countersign-card--fact "  Hosts" (countersign-words "%s\na trial has no network, so it reached none of them"
                                                           (countersign-trial-paths hosts))
                              'countersign-warning))
    (countersign-trial--insert-files trial)
    (countersign-trial--insert-output trial)))

(defun countersign-trial--warn (text)
  "Insert TEXT as a warning."
  (countersign-insert (concat "  " text "\n") 'countersign-warning))

(defun countersign-trial--insert-outcome (trial)
  "Insert how TRIAL ended, how many files it would change, and what approving does."
  (let* ((counts (countersign-trial--counts trial))
         (ended (countersign-text-of trial 'ended))
         (code (countersign-get trial 'exit_code))
         (seconds (format "%.1f" (/ (or (countersign-get trial 'duration_ms) 0) 1000.0))))
    (countersign-card--fact
     "  Ended" (pcase ended
                 ("exit" (countersign-words "exit %s, after %s s" code seconds))
                 ("timeout" (countersign-words "stopped after %s s: it took too long" seconds))
                 ("limit" (countersign-words "stopped after %s s: it wrote too much" seconds))
                 (_ (countersign-words "ended by a signal after %s s" seconds)))
     (unless (and (equal ended "exit") (eql code 0)) 'countersign-warning))
    (if (equal ended "exit")
        (progn
          (countersign-card--fact "  Changes" (if counts (string-join counts ", ") (countersign-words "nothing"))
                                  'countersign-heading)
          (insert "  "
                  (if counts (countersign-words "The project is as it was.  Approving makes exactly these changes, without running it again.")
                    (countersign-words "Approving gives this output to the agent, without running it again."))
                  "\n"))
      (countersign-trial--warn (countersign-words "What it would change is not known.  If you approve it, it runs as without a trial.")))))

(defun countersign-trial--counts (trial)
  "Return how many files TRIAL would delete, change and create, each in words."
  (cl-flet ((count (field) (or (countersign-get trial 'counts field) 0)))
    (delq nil (list (and (> (count 'deleted) 0) (countersign-words "deleted: %d" (count 'deleted)))
                    (and (> (count 'modified) 0) (countersign-words "changed: %d" (count 'modified)))
                    (and (> (count 'created) 0) (countersign-words "new: %d" (count 'created)))
                    (and (> (count 'mode) 0) (countersign-words "permissions: %d" (count 'mode)))))))

(defun countersign-trial-paths (paths)
  "Return PATHS as text: the first ones, and how many more there are."
  (let ((more (- (length paths) countersign-trial--max-names)))
    (concat (mapconcat #'countersign-one-line (seq-take paths countersign-trial--max-names) "  ")
            (and (> more 0) (concat "  " (countersign-words "and %d more" more))))))

(defun countersign-trial--insert-files (trial)
  "Insert the files that TRIAL would change, deletions first, with their diffs.
When there are many, only the first ones have their diffs here."
  (let ((files (cl-remove-if #'countersign-trial--git-p (countersign-list-of trial 'files)))
        (git (cl-count-if #'countersign-trial--git-p (countersign-list-of trial 'files)))
        (diffs countersign-trial-max-diffs)
        (room countersign-trial--max-text)
        (hidden 0))
    (dolist (file files)
      (let* ((diff (countersign-text-of file 'diff))
             (shown (and (not (string-empty-p diff)) (> diffs 0) (<= (length diff) room))))
        (countersign-trial--insert-file file)
        (cond
         (shown (cl-decf diffs)
                (cl-decf room (length diff))
                (insert (countersign-card-diff diff))
                (when (countersign-get file 'truncated)
                  (countersign-trial--warn
                   (countersign-words "The diff was cut for its size: there is more than is shown here."))))
         ((not (string-empty-p diff)) (cl-incf hidden)))))
    (when (> git 0) (insert "  " (countersign-words "git's own data: %d" git) "\n"))
    (when (> hidden 0)
      (countersign-trial--warn (countersign-words "%d diffs are not shown here; d shows all" hidden)))
    (let* ((deleted (countersign-trial--unlisted trial '(deleted)))
           (more (- (countersign-trial--unlisted trial '(created modified deleted mode)) deleted)))
      (when (> deleted 0)
        (countersign-trial--warn (countersign-words "and %d more files in the deleted folders" deleted)))
      (when (> more 0)
        (countersign-trial--warn (countersign-words "and %d more files, too many to be listed" more))))))

(defun countersign-trial--unlisted (trial kinds)
  "Return how many files of KINDS are counted in TRIAL and not listed."
  (- (apply #'+ (mapcar (lambda (kind) (or (countersign-get trial 'counts kind) 0)) kinds))
     (cl-count-if (lambda (file) (memq (intern (countersign-text-of file 'change)) kinds))
                  (countersign-list-of trial 'files))))

(defun countersign-trial--git-p (file)
  "Return non-nil if FILE of a trial is git's own data."
  (member ".git" (split-string (countersign-text-of file 'path) "/")))

(defun countersign-trial--insert-file (file)
  "Insert a line about FILE: its path, what would happen to it, its size."
  (insert "  ")
  (countersign-insert (countersign-one-line (countersign-text-of file 'path)) 'countersign-heading)
  (let ((change (countersign-text-of file 'change)) (size (countersign-get file 'size)))
    (countersign-insert
     (concat "  " (if (equal change "mode") (countersign-words "other permissions") (countersign-card-operation change))
             (and size (countersign-words ", %s bytes" size))
             (and size (member change '("created" "modified")) (null (countersign-get file 'diff))
                  (countersign-words ", binary or large"))
             "\n")
     (if (equal change "deleted") 'countersign-warning 'countersign-label))))

(defun countersign-trial--insert-output (trial)
  "Insert what TRIAL printed, with its colours: the end if it is long."
  (let* ((errors (countersign-text-of trial 'stderr))
         (output (countersign-text-of trial 'stdout))
         (all (concat output
                      (unless (or (string-empty-p output) (string-suffix-p "\n" output)) "\n")
                      errors))
         (left-out (- (length all) countersign-trial--max-output)))
    (unless (string-empty-p (string-trim all))
      (countersign-card--heading "Output")
      (when (> left-out 0)
        (countersign-trial--warn (countersign-words "… %d characters before this are not shown" left-out))
        (setq all (substring all left-out)))
      (insert (mapconcat #'countersign-card--break
                         (split-string (string-trim-right (countersign-fontify-output all) "\n+") "\n") "\n")
              "\n"))))

(defun countersign-trial-diff (file)
  "Return the diff of FILE of a trial as a text for `diff-mode'."
  (let ((diff (countersign-visible (countersign-text-of file 'diff))))
    (if (string-empty-p diff)
        (format "# %s: %s\n" (countersign-one-line (countersign-text-of file 'path))
                (let ((change (countersign-text-of file 'change)))
                  (if (equal change "mode") (countersign-words "other permissions") (countersign-card-operation change))))
      (if (string-suffix-p "\n" diff) diff (concat diff "\n")))))

;;;; What a command has changed

(defun countersign-trial-left (result)
  "Return how many paths of RESULT, a command, did not land."
  (+ (length (countersign-list-of result 'withheld)) (length (countersign-list-of result 'conflicts))))

(defun countersign-trial-insert-landed (result)
  "Insert the files that RESULT, a command, changed, and what did not land."
  (let* ((files (countersign-list-of result 'changed_files))
         (more (- (length files) countersign-trial--max-names)))
    (dolist (file (seq-take files countersign-trial--max-names))
      (countersign-insert (concat (countersign-one-line (countersign-text-of file 'path)) "  "
                                  (countersign-card-operation (countersign-get file 'operation)) "\n")))
    (when (> more 0) (insert (propertize (concat (countersign-words "and %d more" more) "\n") 'face 'countersign-label)))
    (when-let ((incomplete (countersign-get result 'changed_files_incomplete)))
      (countersign-trial--say (countersign-words "The list is not complete: %s" (countersign-words-sentence incomplete))))
    (when-let ((left (countersign-trial--left-paths result 'withheld)))
      (countersign-trial--say (countersign-words "Left out of the project, because it would run something later: %s" left)))
    (when-let ((left (countersign-trial--left-paths result 'conflicts)))
      (countersign-trial--say (countersign-words "Left out of the project, because it was changed meanwhile: %s" left)))
    (when (> (countersign-trial-left result) 0)
      (insert (propertize (concat (countersign-words "What was left out is kept aside by the runner.") "\n")
                          'face 'countersign-label)))
    (when-let ((why (countersign-get result 'not_undoable)))
      (countersign-trial--say (countersign-words "It cannot be undone: %s" (countersign-words-sentence why))))))

(defun countersign-trial--left-paths (result field)
  "Return the paths in FIELD of RESULT as text, or nil."
  (when-let ((left (countersign-list-of result field)))
    (countersign-trial-paths (mapcar (lambda (entry) (countersign-text-of entry 'path)) left))))

(defun countersign-trial--say (text)
  "Insert TEXT as a line that warns."
  (countersign-insert (concat text "\n") 'countersign-warning))

(provide 'countersign-trial)

;;; countersign-trial.el ends here
