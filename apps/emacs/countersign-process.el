;;; countersign-process.el --- The programs that Emacs starts and stops  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The person decides in Emacs; the runner executes.  The runner is
;; `countersign connect --no-prompt', or part of `countersign up' if Emacs
;; starts the server too.  Both are stopped with the project and with Emacs.
;; They also end when their standard input closes, so they do not outlive a
;; killed Emacs.  The runner gets the token in its environment, never on its
;; command line.

;;; Code:

(require 'cl-lib)
(require 'countersign-project)

(defcustom countersign-program '("countersign")
  "The countersign command and the arguments that always come first.
In a checkout this may be (\"node\" \"…/apps/cli/bin/countersign.mjs\")."
  :type '(repeat string)
  :group 'countersign)

(defcustom countersign-up-arguments '()
  "Further arguments of `countersign up'."
  :type '(repeat string)
  :group 'countersign)

(defcustom countersign-runner-arguments '()
  "Further arguments of `countersign connect', such as \"--log-level=info\"."
  :type '(repeat string)
  :group 'countersign)

(defconst countersign-process--log-max 200000
  "Maximum size of the log, in characters.")

(defvar countersign-process-grace 5
  "Seconds that a program has to end before it is killed.")

(defun countersign-process--log-name (project)
  "Return the name of the buffer with the output of the programs of PROJECT."
  (format "*countersign log: %s*" (countersign-project-name project)))

(defun countersign-process-log (project text)
  "Add TEXT to the log of PROJECT, with hidden characters visible."
  (with-current-buffer (get-buffer-create (countersign-process--log-name project))
    (unless (derived-mode-p 'special-mode) (special-mode))
    (let ((inhibit-read-only t)
          (at-end (= (point) (point-max))))
      (save-excursion
        (save-restriction
          (widen)
          (goto-char (point-max))
          (insert (countersign-visible text))
          (when (> (buffer-size) countersign-process--log-max)
            (delete-region (point-min) (- (point-max) (/ countersign-process--log-max 2))))))
      (when at-end (goto-char (point-max))))))

(defun countersign-process--last-line (project)
  "Return the last line of the log of PROJECT."
  (let ((buffer (get-buffer (countersign-process--log-name project))))
    (if buffer
        (with-current-buffer buffer
          (countersign-one-line
           (or (car (last (split-string (buffer-string) "\n" t "[ \t]+"))) "") 300))
      "")))

(defun countersign-process--start (project name arguments environment filter sentinel)
  "Start the countersign program with ARGUMENTS for PROJECT as NAME.
ENVIRONMENT is added to that of Emacs; FILTER and SENTINEL as usual.
Its standard error is written to the log."
  (let* ((default-directory (file-name-as-directory (countersign-project-root project)))
         (process-environment (append environment process-environment))
         (errors (make-pipe-process
                  :name (concat name " errors") :buffer nil :noquery t :sentinel #'ignore
                  :coding 'utf-8
                  :filter (lambda (_process text) (countersign-process-log project text))))
         (process (condition-case problem
                      (make-process :name name :command (append countersign-program arguments)
                                    :buffer nil :noquery t :connection-type 'pipe :coding 'utf-8
                                    :filter filter :sentinel sentinel :stderr errors)
                    (error
                     (delete-process errors)
                     (user-error "%s" (countersign-words "Cannot start %s: %s.  Customize `countersign-program'"
                                                          (car countersign-program)
                                                          (error-message-string problem)))))))
    (process-put process 'countersign-errors errors)
    process))

;;;; The runner

(defun countersign-process-start-runner (project)
  "Start the runner of PROJECT unless it is running."
  (unless (process-live-p (countersign-project-runner-process project))
    (let ((server (countersign-project-server project)))
      (setf (countersign-project-runner-process project)
            (countersign-process--start
             project (format "countersign runner %s" (countersign-project-name project))
             (append (list "connect" "--no-prompt" "--end-with-input"
                           "--server" (countersign-server-address server)
                           "--project" (countersign-project-id project))
                     countersign-runner-arguments
                     (list (countersign-project-root project)))
             (list (concat "COUNTERSIGN_TOKEN=" (or (countersign-auth-token server) ""))
                   "NO_COLOR=1")
             (lambda (_process text) (countersign-process-log project text))
             (lambda (process _event) (countersign-process--runner-ended project process))))))
  (countersign-project-changed project))

(defun countersign-process--runner-ended (project process)
  "Say why PROCESS, the runner of PROJECT, ended, unless it was asked to."
  (unless (process-live-p process)
    (unless (or (process-get process 'countersign-asked)
                (eq (countersign-project-state project) 'closed))
      ;; Wait for the rest of its standard error.
      (accept-process-output (process-get process 'countersign-errors) 0.1)
      (message "%s" (countersign-words "The runner of %s has ended (%d): %s" (countersign-project-name project)
               (process-exit-status process) (countersign-process--last-line project))))
    (countersign-project-changed project)))

(defun countersign-process-stop-runner (project)
  "Stop the runner of PROJECT if Emacs started it."
  (countersign-process--stop (countersign-project-runner-process project)))

;;;; Server, runner and page in one

(defun countersign-process-start-up (project callback)
  "Start `countersign up' for PROJECT.
CALLBACK gets the line that it prints as an alist, or nil and the reason."
  (let ((gathered "") (told nil))
    (cl-labels
        ((tell (line problem)
           (unless told
             (setq told t)
             (funcall callback line problem)))
         (receive (_process text)
           (unless told
             (setq gathered (concat gathered text))
             (when-let ((end (string-search "\n" gathered)))
               (let ((line (ignore-error countersign-bad-json
                             (countersign-json-read (substring gathered 0 end)))))
                 (if (countersign-get line 'address) (tell line nil)
                   (countersign-process-log project gathered)
                   (tell nil (countersign-words "`countersign up' printed something else than its address")))))))
         (change (process _event)
           (unless (process-live-p process)
             (accept-process-output (process-get process 'countersign-errors) 0.1)
             (if told
                 (unless (or (process-get process 'countersign-asked)
                             (= (process-exit-status process) 0))
                   (message "%s" (countersign-words "`countersign up' for %s has ended (%d): %s  M-x countersign starts it again"
                                                    (countersign-project-name project)
                                                    (process-exit-status process)
                                                    (countersign-process--last-line project))))
               (tell nil (countersign-words "`countersign up' has ended (%d): %s"
                                 (process-exit-status process)
                                 (countersign-process--last-line project))))
             (countersign-project-changed project))))
      (setf (countersign-project-up-process project)
            (countersign-process--start
             project (format "countersign up %s" (countersign-project-name project))
             (append '("up" "--json" "--no-open" "--end-with-input") countersign-up-arguments
                     (list (countersign-project-root project)))
             '("NO_COLOR=1") #'receive #'change)))))

;;;; Stopping

(defun countersign-process-stop (project)
  "Stop the programs that Emacs started for PROJECT."
  (countersign-process-stop-runner project)
  (countersign-process--stop (countersign-project-up-process project)))

(defun countersign-process--stop (process)
  "Ask PROCESS to end, and kill it if it does not."
  (when (process-live-p process)
    (process-put process 'countersign-asked t)
    (signal-process process 'SIGTERM)
    (run-at-time countersign-process-grace nil
                 (lambda () (when (process-live-p process) (kill-process process))))))

(defun countersign-process--end (processes)
  "Stop PROCESSES, and wait a moment for them to end."
  (let ((until (+ (float-time) countersign-process-grace)))
    (mapc #'countersign-process--stop processes)
    (while (and (cl-some #'process-live-p processes) (< (float-time) until))
      (accept-process-output nil 0.05))))

(defun countersign-process--of (project)
  "Return the processes that Emacs started for PROJECT."
  (delq nil (list (countersign-project-runner-process project)
                  (countersign-project-up-process project))))

(defun countersign-process-end (project)
  "Stop the programs of PROJECT, wait a moment for them, and forget them."
  (countersign-process--end (countersign-process--of project))
  (setf (countersign-project-runner-process project) nil
        (countersign-project-up-process project) nil))

(defun countersign-process-stop-all ()
  "Stop all programs that Emacs started, and wait a moment for them to end.
Without this, the commands of a runner would outlive Emacs."
  (countersign-process--end (mapcan #'countersign-process--of countersign-projects)))

(add-hook 'kill-emacs-hook #'countersign-process-stop-all)

(provide 'countersign-process)

;;; countersign-process.el ends here
