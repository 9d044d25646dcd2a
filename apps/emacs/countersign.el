;;; countersign.el --- Approve what an AI agent does on your machine  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; Maintainer: The Countersign authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, processes, convenience
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; An AI agent on a server uses tools on your machine, and you countersign
;; what it does.  `M-x countersign' connects the current project: it starts
;; `countersign up' for it, or connects to `countersign-server' and starts
;; the runner that executes.  You talk to the agent in a chat buffer.  A call
;; that needs your decision is shown in an approval buffer with a preview;
;; you decide with y, n, a, e or ?.  `M-x countersign-menu' has the rest.
;;
;; The README explains the rest.

;;; Code:

(require 'cl-lib)
(require 'project)
(require 'countersign-project)
(require 'countersign-process)
(require 'countersign-approval)
(require 'countersign-chat)
(require 'countersign-files)
(require 'countersign-edit)
(require 'countersign-hunks)
(require 'countersign-choose)
(require 'countersign-send)
(require 'countersign-session)
(require 'countersign-take-back)

(autoload 'countersign-menu "countersign-menu" nil t)

(defcustom countersign-server nil
  "Address of the server, such as \"http://127.0.0.1:4180\".
With nil, `countersign up' is started for each project."
  :type '(choice (const :tag "Start one for each project" nil) string)
  :group 'countersign)

(defcustom countersign-run-here t
  "Whether a runner is started when Emacs connects to a server.
With nil, `countersign connect' must be running elsewhere for the project."
  :type 'boolean
  :group 'countersign)

;;;; Connecting

;;;###autoload
(defun countersign (&optional ask)
  "Talk to the agent of the current project; connect first if needed.
With a prefix argument ASK, ask for the folder and for the server."
  (interactive "P")
  (let* ((root (countersign--root ask))
         (address (if ask (countersign--read-address) countersign-server))
         (known (countersign-project-at root)))
    (when (and known ask address) (countersign--check-server known address))
    (unless (or known ask) (countersign--check-root root))
    (let* ((project (or known (countersign-connect root address)))
           (was-killed (not (buffer-live-p (countersign-project-chat project)))))
      (pop-to-buffer (countersign-chat-buffer project)
                     '((display-buffer-reuse-window display-buffer-same-window)))
      (when (and was-killed (countersign-project-id project))
        (countersign-chat-open-latest project))
      (when known (countersign--restart-stopped project address)))))

(defun countersign--read-address ()
  "Ask for the address of a server.  With nil, Emacs will start one."
  (let ((typed (string-trim (read-string (countersign-words "Server (empty starts one for this project): ")
                                         countersign-server))))
    (unless (string-empty-p typed) typed)))

(defun countersign-project-here ()
  "Return the project of the current buffer; connect it if needed."
  (let* ((root (countersign--root nil))
         (known (countersign-project-at root)))
    (unless known (countersign--check-root root))
    (or known (countersign-connect root countersign-server))))

(defun countersign--restart-stopped (project address)
  "Reconnect PROJECT, or restart its runner, if that has stopped.
ADDRESS is the address of its server; with nil, Emacs starts one."
  (let ((runner (countersign-project-runner-process project)))
    (cond
     ((memq (countersign-project-state project) '(failed signed-out))
      (countersign--reconnect project address))
     ((countersign-project-up-ended-p project)
      (message "%s" (countersign-words "`countersign up' for %s has ended; starting it again …"
                                       (countersign-project-name project)))
      (countersign--reconnect project nil))
     ;; Its server hangs: the process lives, and yet two tries failed.
     ((and (memq (countersign-project-state project) '(waiting connecting))
           (countersign-project-stream project)
           (process-live-p (countersign-project-up-process project))
           (>= (countersign-stream-failures (countersign-project-stream project)) 2))
      (message "%s" (countersign-words "`countersign up' for %s does not answer; starting it again …"
                                       (countersign-project-name project)))
      (countersign--reconnect project nil))
     ((eq (countersign-project-state project) 'waiting)
      (message "%s" (countersign-words "Countersign for %s: %s" (countersign-project-name project)
                                       (countersign-chat--state-words project)))
      (countersign-stream-retry-now (countersign-project-stream project)))
     ;; The runner ended without being asked to.
     ((and runner (not (process-live-p runner)) (not (process-get runner 'countersign-asked)))
      (countersign-process-start-runner project)))))

(defun countersign--root (ask)
  "Return the folder of the current project; ask for it when ASK."
  (let ((root (or (when-let ((project (project-current)))
                    (if (fboundp 'project-root) (project-root project)
                      (car (with-no-warnings (project-roots project)))))
                  default-directory)))
    (when ask (setq root (read-directory-name (countersign-words "Project: ") root nil t)))
    (when (file-remote-p root)
      (user-error "%s" (countersign-words "%s is on another machine, and the runner of Emacs executes on this one.  Connect from a folder of this machine"
                  root)))
    (countersign-project-root-name root)))

(defun countersign--check-server (project address)
  "Signal an error if PROJECT is not on the server at ADDRESS."
  (let ((server (countersign-project-server project)))
    (unless (and server (equal (countersign-server-address server)
                               (countersign-server-address (countersign-server-at address))))
      (user-error "%s" (countersign-words "%s is on another server already.  End that first: M-x countersign-disconnect"
                                          (countersign-project-name project))))))

(defun countersign--check-root (root)
  "Signal an error if the home folder is in ROOT.
The home folder is the default directory of many buffers."
  (when (file-in-directory-p (expand-file-name "~") root)
    (user-error "%s" (countersign-words "%s has your home folder in it, and the agent would work in all of that.  Begin in a buffer of a project, or choose a folder with C-u M-x countersign"
                                        (abbreviate-file-name root)))))

(defun countersign-connect (root &optional address)
  "Connect the folder ROOT to the server at ADDRESS; with nil, start a server.
Return the project at once, while it is still connecting."
  (countersign--install)
  (let ((project (make-countersign-project
                  :root root :name (file-name-nondirectory root))))
    (push project countersign-projects)
    ;; If signing in fails, forget the project: otherwise it would block the next try.
    (condition-case problem
        (countersign--begin project address)
      ((error quit)
       (countersign-disconnect project)
       (signal (car problem) (cdr problem))))
    project))

(defun countersign--reconnect (project address)
  "Reconnect PROJECT to the server at ADDRESS; with nil, start a server.
The chat buffer stays, with the typed text."
  (let ((stream (countersign-project-stream project))
        (state (countersign-project-state project))
        (reason (countersign-project-problem project)))
    (when stream
      (setf (countersign-project-stream project) nil)
      (countersign-stream-close stream))
    (countersign-process-end project)
    (countersign-project-changed project 'starting)
    (condition-case problem
        (countersign--begin project address)
      ((error quit)
       (countersign-project-changed project (if (eq state 'signed-out) state 'failed) reason)
       (signal (car problem) (cdr problem))))))

(defun countersign--begin (project address)
  "Connect PROJECT to the server at ADDRESS; without one, start `countersign up'."
  (if address
      (progn
        (setf (countersign-project-server project) (countersign--server address))
        (countersign-chat-buffer project)
        (countersign--with-token project (lambda () (countersign--join project countersign-run-here))))
    (countersign-process-start-up
     project (lambda (line problem) (countersign--up-started project line problem)))
    (countersign-chat-buffer project)))

(defun countersign--server (address)
  "Return the server at ADDRESS with the token that auth-source has for it."
  (let ((server (countersign-server-at address)))
    (setf (countersign-server-token server) (lambda () (countersign-auth-token server)))
    server))

(defun countersign--up-started (project line problem)
  "Connect PROJECT with LINE, which `countersign up' printed.
PROBLEM is an error message if it did not start."
  (cond
   ((eq (countersign-project-state project) 'closed))
   (problem (countersign--fail project problem))
   (t
    (condition-case trouble
        (let ((link (countersign-auth-read-link (countersign-text-of line 'sign_in_link))))
          (setf (countersign-project-server project)
                (countersign--server (countersign-get line 'address)))
          (countersign-auth-sign-in
           (countersign-project-server project) (cdr link)
           (lambda (problem)
             (if problem (countersign--fail project (plist-get problem :message))
               ;; `countersign up' has its own runner.
               (countersign--join project nil)))))
      (error (countersign--fail project (error-message-string trouble)))))))

(defun countersign--with-token (project callback)
  "Call CALLBACK when there is a token for PROJECT.
Without a token, ask for the sign-in link that the server printed."
  (let ((server (countersign-project-server project)))
    (if (countersign-auth-token server) (funcall callback)
      (let ((link (if noninteractive (error "%s" (countersign-words "Not signed in to %s" (countersign-server-address server)))
                    (countersign--read-link server))))
        (countersign-auth-sign-in
         server (cdr link)
         (lambda (problem)
           (if problem (countersign--fail project (plist-get problem :message))
             (funcall callback)))
         t)))))

(defun countersign--read-link (server)
  "Ask for a sign-in link of SERVER.  It is a secret, so it is not shown."
  (let ((link (countersign-auth-read-link
               (read-passwd (countersign-words "Sign-in link that %s printed (good once, for 60 s): "
                                    (countersign-server-address server))))))
    (when (and (car link)
               (not (equal (countersign-server-address (countersign-server-at (car link)))
                           (countersign-server-address server))))
      (user-error "%s" (countersign-words "That link is for %s" (car link))))
    link))

(defun countersign--join (project with-runner)
  "Find PROJECT on its server and listen to it; start a runner if WITH-RUNNER."
  (let ((again (countersign-project-id project)))
    (countersign-project-find-or-make
     project
     (lambda (problem)
       (cond
        ((eq (countersign-project-state project) 'closed))
        (problem (unless (eq (countersign-project-state project) 'signed-out)
                   (countersign--fail project (plist-get problem :message))))
        (t
         (countersign-project-listen project)
         ;; Events after an earlier stream were missed: read everything again.
         (when again (countersign-project-receive project "stream.reset" nil))
         (countersign-chat-open-latest project)
         (when with-runner
           (condition-case trouble
               (countersign-process-start-runner project)
             (error (message "%s" (error-message-string trouble)))))))))))

(defun countersign--fail (project words)
  "Report that connecting PROJECT failed; WORDS is the reason."
  (countersign-project-changed project 'failed words)
  (message "%s" (countersign-words "Countersign for %s: %s" (countersign-project-name project) words)))

(defun countersign--current ()
  "Return the project that the current buffer is about, or ask for one."
  (or countersign-chat--project
      countersign-approval--project
      (and (not (file-remote-p default-directory))
           (countersign-project-at (countersign--root nil)))
      (if (cdr countersign-projects)
          (countersign-choose (countersign-words "Project: ")
                              (mapcar (lambda (project) (cons (countersign-project-root project) project))
                                      countersign-projects))
        (car countersign-projects))
      (user-error "%s" (countersign-words "No project is connected; M-x countersign connects one"))))

;;;###autoload
(defun countersign-sign-in ()
  "Sign in again, with a link that the server printed."
  (interactive)
  (let* ((project (countersign--current))
         (server (or (countersign-project-server project) (user-error "%s" (countersign-words "There is no server yet"))))
         (link (countersign--read-link server)))
    (countersign-auth-sign-in
     server (cdr link)
     (lambda (problem)
       (if problem (message "%s" (countersign-words "Not signed in: %s" (plist-get problem :message)))
         (message "%s" (countersign-words "Signed in to %s" (countersign-server-address server)))
         (when (countersign-project-stream project)
           (countersign-stream-close (countersign-project-stream project)))
         (countersign-project-changed project 'connecting)
         (countersign--join project (and countersign-run-here
                                         (not (process-live-p (countersign-project-up-process project)))))))
     t)))

(defun countersign-disconnect (project)
  "Disconnect PROJECT and stop the programs that Emacs started for it.
Pending approvals stay pending."
  (interactive (list (countersign--current)))
  (countersign-project-close project)
  (countersign-process-stop project))

(defun countersign-start-runner (project)
  "Start the runner of PROJECT, which is for what you approve."
  (interactive (list (countersign--current)))
  (unless (countersign-project-id project) (user-error "%s" (countersign-words "The project is not connected yet")))
  (countersign-process-start-runner project))

(defun countersign-stop-runner (project)
  "Stop the runner of PROJECT, with all that is running there."
  (interactive (list (countersign--current)))
  (countersign-process-stop-runner project))

(defun countersign-show-log (project)
  "Show the output of the programs of PROJECT."
  (interactive (list (countersign--current)))
  (pop-to-buffer (get-buffer-create (countersign-process--log-name project))))

;;;; The mode line

(defvar countersign--mode-line-map
  (let ((map (make-sparse-keymap)))
    (define-key map [mode-line mouse-1] #'countersign-approvals)
    map)
  "Keymap for clicks on the mode line.")

(defun countersign-mode-line ()
  "Return the mode line text: how much is waiting, or a lost connection."
  (let ((waiting (countersign-waiting))
        (lost (cl-some (lambda (project)
                         (memq (countersign-project-state project) '(waiting failed signed-out)))
                       countersign-projects)))
    (when countersign-projects
      (concat " "
              (propertize (cond (waiting (countersign-words "[CS: %d to decide]" (length waiting)))
                                (lost (countersign-words "[CS: not connected]"))
                                (t "[CS]"))
                          'face (cond ((cl-some #'countersign-pending-high-p (mapcar #'cdr waiting))
                                       'countersign-high)
                                      (waiting 'countersign-medium)
                                      (lost 'countersign-warning))
                          'help-echo (countersign-words "Countersign: mouse-1 lists what waits for a decision")
                          'mouse-face 'mode-line-highlight
                          'local-map countersign--mode-line-map)
              " "))))

;;;###autoload
(define-minor-mode countersign-mode-line-mode
  "Show in the mode line how many calls wait for a decision."
  :global t
  :group 'countersign
  (setq global-mode-string
        (delete '(:eval (countersign-mode-line)) (or global-mode-string '(""))))
  (when countersign-mode-line-mode
    (setq global-mode-string (append global-mode-string '((:eval (countersign-mode-line)))))))

(defun countersign--update-mode-line (&rest _)
  "Redraw the mode lines."
  (force-mode-line-update t))

(defvar countersign--installed nil "Whether the hooks are installed.")

(defun countersign--install ()
  "Install the hooks of all parts, once."
  (unless countersign--installed
    (setq countersign--installed t)
    (countersign-files-install)
    (countersign-chat-install)
    (countersign-approval-install)
    (add-hook 'countersign-state-functions #'countersign--update-mode-line)
    (countersign-mode-line-mode 1)))

;;;; Keys

;;;###autoload (autoload 'countersign-command-map "countersign" nil t 'keymap)
(defvar countersign-command-map
  (let ((map (make-sparse-keymap)))
    (define-key map "c" #'countersign)
    (define-key map "a" #'countersign-approval-next)
    (define-key map "l" #'countersign-approvals)
    (define-key map "s" #'countersign-sign-in)
    (define-key map "r" #'countersign-start-runner)
    (define-key map "k" #'countersign-stop-runner)
    (define-key map "d" #'countersign-disconnect)
    (define-key map "o" #'countersign-show-log)
    (define-key map "m" #'countersign-menu)
    (define-key map "w" #'countersign-send-region)
    (define-key map "f" #'countersign-send-defun)
    map)
  "Commands of Countersign; bind it to a prefix of your choice.")
(fset 'countersign-command-map countersign-command-map)

(provide 'countersign)

;;; countersign.el ends here
