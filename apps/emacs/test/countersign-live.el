;;; countersign-live.el --- The real server, runner and model for tests  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Starts `countersign serve' with a database of its own and signs in with
;; the link that it prints.  The token is put into an authinfo file, where
;; Emacs finds it as it does for a person.  All programs have a home of
;; their own.

;;; Code:

(require 'countersign-test-helper)

(defvar countersign-live--folder nil "Where everything of the tests is.")
(defvar countersign-live--process nil "The server.")
(defvar countersign-live--port nil)
(defvar countersign-live--tls-port nil "Where a proxy may stand in front of the server.")
(defvar countersign-live--model nil "A model server inside this Emacs.")
(defvar countersign-live--turns '() "What the model answers next: functions of its exchange.")

(defun countersign-live-program ()
  "Return the countersign command of this checkout."
  (list (expand-file-name "node_modules/.bin/node" countersign-test-root)
        (expand-file-name "apps/cli/bin/countersign.mjs" countersign-test-root)))

(defun countersign-live-source-has-p (file text)
  "Return non-nil if FILE of this checkout has TEXT.
Some stories need a part of the runner that is merged separately."
  (with-temp-buffer
    (insert-file-contents (expand-file-name file countersign-test-root))
    (search-forward text nil t)))

(defun countersign-live-address ()
  "Return the address of the server."
  (format "http://127.0.0.1:%d" countersign-live--port))

(defun countersign-live-start ()
  "Start the server and sign in, once."
  (unless countersign-live--folder
    (setq countersign-live--folder (file-truename (make-temp-file "countersign-emacs-" t)))
    (setenv "HOME" countersign-live--folder)
    (dolist (name '("CONFIG" "STATE" "DATA" "CACHE"))
      (setenv (format "XDG_%s_HOME" name)
              (expand-file-name (downcase name) countersign-live--folder)))
    (setq countersign-live--model (countersign-fake-start
                                   (lambda (exchange)
                                     (let ((turn (pop countersign-live--turns)))
                                       (if turn (funcall turn exchange)
                                         (countersign-fake-answer exchange 500 "{}")))))
          countersign-live--port (countersign-live--free-port)
          countersign-live--tls-port (countersign-live--free-port))
    (add-hook 'kill-emacs-hook #'countersign-live-stop)
    (let ((link (countersign-live-serve)) (done nil)
          (server (countersign-server-at (countersign-live-address))))
      (countersign-auth-sign-in server (cdr (countersign-auth-read-link link))
                                (lambda (problem) (setq done (list problem))))
      (countersign-test-wait done)
      (should (equal done '(nil)))
      (let ((file (expand-file-name "authinfo" countersign-live--folder)))
        (with-temp-file file
          (insert (format "machine 127.0.0.1 port %d login countersign password %s\n"
                          countersign-live--port
                          (gethash (countersign-live-address) countersign-auth--fresh))))
        (set-file-modes file #o600)
        (clrhash countersign-auth--fresh)
        (setq auth-sources (list file))))))

(defun countersign-live--free-port ()
  "Return a port that was free a moment ago; a server that restarts keeps it."
  (let ((fake (countersign-fake-start)))
    (prog1 (countersign-fake-port fake) (countersign-fake-stop fake))))

(defun countersign-live-serve ()
  "Start the server process; answer its sign-in link when it listens."
  (let ((output "")
        (process-environment
         (append (list (format "COUNTERSIGN_MODEL_URL=http://127.0.0.1:%d/v1"
                               (countersign-fake-port countersign-live--model))
                       (format "COUNTERSIGN_PUBLIC_ORIGINS=https://localhost:%d" countersign-live--tls-port)
                       "COUNTERSIGN_LOG_LEVEL=error" "COUNTERSIGN_REQUESTS_PER_SECOND=100000")
                 process-environment)))
    (setq countersign-live--process
          (make-process :name "countersign serve" :noquery t :connection-type 'pipe
                        :command (append (countersign-live-program)
                                         (list "serve" "--port" (number-to-string countersign-live--port)
                                               "--database" (expand-file-name "countersign.db" countersign-live--folder)))
                        :filter (lambda (_process text) (setq output (concat output text)))))
    (countersign-test-until (lambda () (format "the server listens; it says: %s" output))
                            (lambda () (string-match "http[^ ]*#sign-in=[^ \n]+\n" output)))
    (string-trim (match-string 0 output))))

(defun countersign-live-kill ()
  "Kill the server as a crash would, and with it the launcher that started it."
  (signal-process (- (process-id countersign-live--process)) 'SIGKILL)
  (countersign-test-wait (not (process-live-p countersign-live--process))))

(defun countersign-live-stop ()
  "Stop everything and remove it."
  (when countersign-live--folder
    (when (process-live-p countersign-live--process)
      (signal-process (- (process-id countersign-live--process)) 'SIGKILL))
    (when countersign-live--model (countersign-fake-stop countersign-live--model))
    (ignore-errors (delete-directory countersign-live--folder t))
    (setq countersign-live--folder nil)))

(defun countersign-live-workspace (name)
  "Make the workspace NAME with a file; answer its folder."
  (let ((root (expand-file-name (concat "work/" name) countersign-live--folder)))
    (make-directory root t)
    (write-region "{\"port\": 3000}\n" nil (expand-file-name "config.json" root) nil 'quiet)
    root))

(defun countersign-live-read (root file)
  "Return what FILE in ROOT holds on disk."
  (with-temp-buffer (insert-file-contents (expand-file-name file root)) (buffer-string)))

(defun countersign-live-connect (root)
  "Do M-x countersign in ROOT; answer the project when it is connected with a runner."
  (let ((default-directory (file-name-as-directory root))
        (countersign-server (countersign-live-address)))
    (cl-letf (((symbol-function 'project-current) #'ignore))
      (call-interactively #'countersign))
    (let ((project (countersign-project-at root)))
      (countersign-test-until
       (lambda () (format "connected; state %s, problem %s, log: %s" (countersign-project-state project)
                          (countersign-project-problem project) (countersign-process--last-line project)))
       (lambda () (and (eq (countersign-project-state project) 'open)
                       (countersign-project-runners project)))
       60)
      project)))

(defmacro countersign-live-with-project (project root &rest body)
  "Run BODY with PROJECT connected in ROOT, its chat buffer current."
  (declare (indent 2) (debug t))
  `(progn
     (countersign-live-start)
     (countersign-test-with-clean-state
       (let* ((countersign-program (countersign-live-program))
              (countersign-model "manual")
              (,root (countersign-live-workspace (symbol-name (gensym "w"))))
              (,project (countersign-live-connect ,root))
              (runner (countersign-project-runner-process ,project)))
         (unwind-protect (progn ,@body)
           (countersign-disconnect ,project)
           (countersign-test-wait (not (process-live-p runner))))))))

(defun countersign-live-say (project text)
  "Type TEXT in the chat buffer of PROJECT and press RET."
  (switch-to-buffer (countersign-project-chat project))
  (goto-char (point-max))
  (insert text)
  (countersign-test-press "RET"))

(defun countersign-live-chat-text (project)
  "Return what the chat buffer of PROJECT shows."
  (with-current-buffer (countersign-project-chat project)
    (buffer-substring-no-properties (point-min) (point-max))))

(defun countersign-live-shows (project wanted)
  "Wait until the chat buffer of PROJECT shows WANTED, a regexp."
  (countersign-test-until (lambda () (format "%S in:\n%s" wanted (countersign-live-chat-text project)))
                          (lambda () (string-match-p wanted (countersign-live-chat-text project)))))

(defun countersign-live-idle (project)
  "Wait until the agent of PROJECT is idle."
  (let ((session (buffer-local-value 'countersign-chat--session (countersign-project-chat project))))
    (countersign-test-wait (equal (car (countersign-project-agent project session)) "idle"))))

(defun countersign-live-asked (project &optional count)
  "Wait until COUNT calls wait in PROJECT with previews; answer the last of them."
  (countersign-test-until
   (lambda () (format "%d calls wait; the chat:\n%s" (or count 1) (countersign-live-chat-text project)))
   (lambda ()
     (let ((waiting (countersign-project-waiting project)))
       (and (= (length waiting) (or count 1))
            (cl-every (lambda (pending) (countersign-pending-get pending 'preview)) waiting)))))
  (car (last (countersign-project-waiting project))))

(defun countersign-live-request (project method path &rest more)
  "Send METHOD and PATH with MORE as another device of the person of PROJECT."
  (let ((result nil))
    (apply #'countersign-transport-request (countersign-project-server project) method path
           :callback (lambda (answer problem) (setq result (list answer problem))) more)
    (countersign-test-until "an answer" (lambda () result))
    (should-not (cadr result))
    (car result)))

(provide 'countersign-live)

;;; countersign-live.el ends here
