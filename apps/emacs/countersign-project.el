;;; countersign-project.el --- The state and the requests of a project  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A `countersign-project' is a folder on this machine, its project on a
;; server and the event stream between the two.  It applies events and
;; informs the buffers through hooks.  It draws nothing.

;;; Code:

(require 'cl-lib)
(require 'countersign-protocol)
(require 'countersign-transport)
(require 'countersign-auth)

(defcustom countersign-device nil
  "Device name of this Emacs in lists of decisions; nil means \"Emacs on HOST\"."
  :type '(choice (const :tag "Emacs on HOST" nil) string)
  :group 'countersign)

(defun countersign-device ()
  "Return the device name of this Emacs in lists of decisions."
  (truncate-string-to-width (or countersign-device (format "Emacs on %s" (system-name))) 100))

(cl-defstruct (countersign-project (:copier nil))
  "A folder and its project on a server.
STATE is `starting', `connecting', `open', `waiting', `signed-out',
`failed' or `closed'; PROBLEM says why, in words."
  root name server id stream (state 'starting) problem
  (approvals (countersign-approvals-create))
  (agents (make-hash-table :test #'equal)) ; session id -> (STATE . RUN-ID)
  (decided-here (make-hash-table :test #'equal))
  (runners nil)                            ; (ID . CAPABILITIES) of each connected one
  runner-process up-process chat)

(defvar countersign-projects '()
  "Projects that are open in this Emacs, the latest first.")

(defvar countersign-event-functions '()
  "Functions called with a project, the name and the payload of each event.
After a reset of the stream the name is \"stream.reset\".")

(defvar countersign-approval-functions '()
  "Functions called with a project, a `countersign-pending' and what happened.
The latter is `new', `changed', `closed' or the payload of `approval.resolved'.")

(defvar countersign-state-functions '()
  "Functions called with a project when its state or its data changes.")

(defun countersign-project-at (root)
  "Return the open project of the folder ROOT, or nil."
  (let ((name (countersign-project-root-name root)))
    (cl-find name countersign-projects :key #'countersign-project-root :test #'equal)))

(defun countersign-project-root-name (folder)
  "Return FOLDER as a runner names it: absolute, links resolved, no slash."
  (directory-file-name (file-truename (expand-file-name folder))))

(defun countersign-project-waiting (project)
  "Return the pending approvals of PROJECT, oldest first."
  (countersign-approvals-waiting (countersign-project-approvals project)))

(defun countersign-waiting ()
  "Return (PROJECT . PENDING) for each pending approval of all projects."
  (cl-loop for project in countersign-projects
           append (mapcar (lambda (pending) (cons project pending))
                          (countersign-project-waiting project))))

(defun countersign-project-find-pending (project id)
  "Return the pending approval of PROJECT with ID, or nil."
  (countersign-approvals-find (countersign-project-approvals project) id))

(defun countersign-project-changed (project &optional state problem)
  "Run the state hook of PROJECT, after setting STATE and PROBLEM if given."
  (when state
    (setf (countersign-project-state project) state
          (countersign-project-problem project) problem))
  (run-hook-with-args 'countersign-state-functions project))

(defun countersign-project-agent (project session)
  "Return (STATE . RUN-ID) of the agent of PROJECT in SESSION."
  (or (gethash session (countersign-project-agents project)) '("idle")))

;;;; Requests

(cl-defun countersign-project-request (project method path &key body callback (retries 0))
  "Send METHOD, PATH and BODY for PROJECT.
CALLBACK and RETRIES are as for `countersign-transport-request'.  If the
token is refused, the state becomes `signed-out'."
  (countersign-transport-request
   (countersign-project-server project) method path :body body :retries retries
   :callback
   (lambda (answer problem)
     (when (eql (plist-get problem :status) 401)
       (countersign-auth-forget (countersign-project-server project))
       (unless (eq (countersign-project-state project) 'closed)
         (countersign-project-changed project 'signed-out (plist-get problem :message))))
     ;; The server is back: do not wait until the next try to hear of what was just asked for.
     (when-let* ((stream (and (null problem) (countersign-project-stream project)))
                 (lost (eql (plist-get (countersign-stream-problem stream) :status) 0)))
       (countersign-stream-retry-now stream))
     (when callback (funcall callback answer problem)))))

(defun countersign-project-await (project method path &optional body)
  "Return the response of PROJECT to METHOD, PATH and BODY; \\[keyboard-quit] gives up.
Signal a `user-error' for an error, or without a response in 10 seconds."
  (let ((done nil) (answer nil) (problem nil)
        (until (+ (float-time) 10)))
    (countersign-project-request
     project method path :body body
     :callback (lambda (value failure) (setq done t answer value problem failure)))
    (while (and (not done) (< (float-time) until))
      (accept-process-output nil 0.05))
    (cond (problem (user-error "%s" (plist-get problem :message)))
          ((not done) (user-error "%s" (countersign-words "The server did not answer in time"))))
    answer))

(defun countersign-project-path (project &rest parts)
  "Return the path of PARTS below PROJECT."
  (apply #'countersign-transport-path "my" "projects" (countersign-project-id project) parts))

;;;; Opening and closing

(defun countersign-project-find-or-make (project callback)
  "Find the server's project for the root of PROJECT, or create it.
CALLBACK gets nil, or an error."
  (countersign-project-request
   project "GET" "/my/projects" :retries 3
   :callback
   (lambda (answer problem)
     (let ((found (cl-find (countersign-project-root project)
                           (countersign-list-of answer 'projects)
                           :key (lambda (known) (countersign-get known 'workspace))
                           :test #'equal)))
       (cond
        (problem (funcall callback problem))
        (found (setf (countersign-project-id project) (countersign-get found 'project_id))
               (funcall callback nil))
        (t (countersign-project-request
            project "POST" "/my/projects"
            :body `((name . ,(countersign-project-name project))
                    (workspace . ,(countersign-project-root project)))
            :callback
            (lambda (made problem)
              (setf (countersign-project-id project) (countersign-get made 'project 'project_id))
              (funcall callback problem)))))))))

(defun countersign-project-up-ended-p (project)
  "Return non-nil if PROJECT cannot connect because its `countersign up' has ended.
If another program runs the server, the `countersign up' of Emacs ends at
once while the stream is open.  It is needed again when that server ends."
  (and (countersign-project-up-process project)
       (not (process-live-p (countersign-project-up-process project)))
       (pcase (countersign-project-state project)
         ('waiting t)
         ;; Reconnecting after a lost connection.
         ('connecting (and (countersign-project-problem project) t)))))

(defun countersign-project-listen (project)
  "Open the event stream of PROJECT."
  (setf (countersign-project-stream project)
        (countersign-stream-open
         (countersign-project-server project)
         (countersign-project-path project "chat" "stream")
         :on-event (lambda (name payload) (countersign-project-receive project name payload))
         :on-state (lambda (stream) (countersign-project--stream-state project stream)))))

(defun countersign-project--stream-state (project stream)
  "Update the state of PROJECT from that of STREAM."
  (unless (eq (countersign-project-state project) 'closed)
    (let* ((problem (countersign-stream-problem stream))
           (words (plist-get problem :message)))
      (pcase (countersign-stream-state stream)
        ('closed
         (if (eql (plist-get problem :status) 401)
             (progn (countersign-auth-forget (countersign-project-server project))
                    (countersign-project-changed project 'signed-out words))
           (countersign-project-changed project 'failed words)))
        ('connecting
         ;; When reconnecting, keep showing why the connection was lost.
         (countersign-project-changed project 'connecting
                                      (or words (countersign-project-problem project))))
        ('open
         (countersign-project-changed project 'open)
         (countersign-project--fetch-runners project))
        (state (countersign-project-changed project state words))))))

(defun countersign-project-close (project)
  "Stop listening to PROJECT and forget it.  Approvals stay pending (AP-3)."
  (let ((stream (countersign-project-stream project)))
    (setf (countersign-project-state project) 'closed)
    (when stream (countersign-stream-close stream))
    (setq countersign-projects (delq project countersign-projects))
    (dolist (pending (countersign-project-waiting project))
      (run-hook-with-args 'countersign-approval-functions project pending 'closed))
    (countersign-project-changed project)))

(defun countersign-project--fetch-runners (project)
  "Fetch the connected runners of PROJECT."
  (countersign-project-request
   project "GET" "/my/runners"
   :callback
   (lambda (answer _problem)
     (when answer
       (setf (countersign-project-runners project)
             (cl-loop for runner in (countersign-list-of answer 'runners)
                      when (and (equal (countersign-get runner 'project_id)
                                       (countersign-project-id project))
                                (countersign-get runner 'connected))
                      collect (countersign-project--runner runner)))
       (countersign-project-changed project)))))

(defun countersign-project--runner (data)
  "Return (ID . CAPABILITIES) of the runner DATA."
  (cons (countersign-get data 'runner_id) (countersign-list-of data 'capabilities)))

(defun countersign-project-able-p (project capability &optional id)
  "Return non-nil if a connected runner of PROJECT has CAPABILITY.
With ID, only that runner counts."
  (cl-some (lambda (runner) (and (member id (list nil (car runner))) (member capability (cdr runner))))
           (countersign-project-runners project)))

(defun countersign-project-preview-coming-p (project pending)
  "Return non-nil if a runner of PROJECT is making the preview of PENDING.
The server refuses approvals before the preview (AP-7)."
  (and (not (countersign-pending-get pending 'preview))
       (countersign-project-able-p project "preview")))

;;;; Events

(defun countersign-project-receive (project name payload)
  "Apply the event NAME with PAYLOAD to PROJECT and run the hooks."
  (pcase name
    ((or "tool.approval_request" "approval.updated") (countersign-project--keep project payload))
    ("approval.resolved" (countersign-project-settle project payload))
    ("agent.state"
     (puthash (countersign-get payload 'session_id)
              (cons (countersign-text-of payload 'state) (countersign-get payload 'run_id))
              (countersign-project-agents project)))
    ("runner.changed"
     (let ((id (countersign-get payload 'runner_id)))
       (setf (countersign-project-runners project)
             (assoc-delete-all id (countersign-project-runners project)))
       (when (equal (countersign-get payload 'state) "connected")
         (push (countersign-project--runner payload) (countersign-project-runners project)))))
    ("stream.reset" (countersign-project--read-pending project)))
  (run-hook-with-args 'countersign-event-functions project name payload)
  (when (member name '("agent.state" "runner.changed"))
    (countersign-project-changed project)))

(defun countersign-project--keep (project data)
  "Add or update the approval DATA in PROJECT."
  (let* ((approvals (countersign-project-approvals project))
         (what (countersign-approvals-keep approvals data (float-time))))
    (pcase what
      ('fetch (countersign-project-refetch project (countersign-get data 'approval_id)))
      ((or 'new 'changed)
       (run-hook-with-args 'countersign-approval-functions project
                           (countersign-approvals-find approvals (countersign-get data 'approval_id))
                           what)
       (countersign-project-changed project)))))

(defun countersign-project-refetch (project id &optional callback)
  "Fetch the approval ID of PROJECT in full.
Afterwards call CALLBACK with an error or nil."
  (countersign-project-request
   project "GET" (countersign-transport-path "my" "approvals" id) :retries 3
   :callback
   (lambda (answer problem)
     (let ((approval (countersign-get answer 'approval)))
       (cond
        ((null approval))
        ((equal (countersign-get approval 'status) "pending")
         ;; Parts that are still missing cannot be fetched; the card says so.
         (countersign-project--keep
          project `((left_out . ,(or (countersign-get approval 'omitted) []))
                    ,@(assq-delete-all 'omitted (copy-alist approval)))))
        (t (countersign-project-settle project approval))))
     (when callback (funcall callback problem)))))

(defun countersign-project-settle (project resolution)
  "Remove the approval of RESOLUTION from PROJECT and run the hooks."
  (let* ((id (countersign-get resolution 'approval_id))
         (pending (and id (countersign-approvals-settle
                           (countersign-project-approvals project) id))))
    (when pending
      (run-hook-with-args 'countersign-approval-functions project pending resolution)
      (countersign-project-changed project))))

(defun countersign-project--read-pending (project)
  "Read the pending approvals of PROJECT after a reset of the stream."
  (countersign-project-request
   project "GET" "/my/approvals" :retries 3
   :callback
   (lambda (answer problem)
     (unless problem
       (let* ((waiting (cl-remove-if-not
                        (lambda (approval) (equal (countersign-get approval 'project_id)
                                                  (countersign-project-id project)))
                        (countersign-list-of answer 'approvals)))
              (ids (mapcar (lambda (approval) (countersign-get approval 'approval_id)) waiting)))
         (dolist (pending (copy-sequence (countersign-project-waiting project)))
           (unless (member (countersign-pending-id pending) ids)
             (countersign-project-settle
              project `((approval_id . ,(countersign-pending-id pending))
                        (status . ,(countersign-words "settled while the connection was away"))))))
         (dolist (approval waiting) (countersign-project--keep project approval)))))))

;;;; Deciding

(cl-defun countersign-project-approve (project pending callback &key scope params include-high)
  "Approve PENDING of PROJECT, with the digest that was displayed (AP-8).
CALLBACK gets nil, or an error.  SCOPE, PARAMS and INCLUDE-HIGH are as
for `countersign-body-approve'."
  (when (countersign-pending-get pending 'unfit)
    (user-error "%s" (countersign-words "The preview does not fit its digest: this call can only be rejected")))
  (countersign-project--decide
   project pending "approve" "approved"
   (countersign-body-approve (countersign-pending-get pending 'digest) (countersign-device)
                             scope params include-high)
   callback))

(defun countersign-project-reject (project pending message callback)
  "Reject PENDING of PROJECT with MESSAGE for the agent; CALLBACK as above."
  (countersign-project--decide
   project pending "reject" "rejected"
   (countersign-body-reject message (countersign-device)) callback))

(defun countersign-project-try (project pending callback)
  "Have PENDING of PROJECT tried before anybody decides (RN-13).
CALLBACK gets nil, or an error.  Events bring what comes of it."
  (countersign-project-request
   project "POST" (countersign-project-path project "approvals" (countersign-pending-id pending) "try")
   :body `((device . ,(countersign-device)))
   :callback (lambda (_answer problem) (funcall callback problem))))

(defun countersign-project--decide (project pending route status body callback)
  "Send a decision about PENDING of PROJECT to ROUTE with BODY.
STATUS is the status that results.  CALLBACK gets nil, or an error.  The
request is retried without a response.  If the approval was decided
already, that is not an error: the standing decision is shown."
  (let ((id (countersign-pending-id pending)))
    (puthash id t (countersign-project-decided-here project))
    (countersign-project-request
     project "POST" (countersign-project-path project "approvals" id route) :body body :retries 3
     :callback
     (lambda (answer problem)
       (let ((standing (countersign-get (plist-get problem :body) 'standing)))
         (cond
          (standing
           (unless (equal (countersign-get standing 'device) (countersign-device))
             (remhash id (countersign-project-decided-here project)))
           (countersign-project-settle project `((approval_id . ,id) ,@standing))
           (funcall callback nil))
          (problem
           (remhash id (countersign-project-decided-here project))
           ;; The server has a newer version than the displayed one.
           (when (eql (plist-get problem :status) 409) (countersign-project-refetch project id))
           (funcall callback problem))
          (t (countersign-project-settle
              project `((approval_id . ,id) (status . ,(or (countersign-get answer 'status) status))
                        (device . ,(countersign-device))
                        (grant_id . ,(countersign-get answer 'grant_id))
                        (rule_id . ,(countersign-get answer 'rule_id))))
             (funcall callback nil))))))))

(defun countersign-project-decided-here-p (project pending)
  "Return non-nil if PENDING of PROJECT was decided in this Emacs."
  (gethash (countersign-pending-id pending) (countersign-project-decided-here project)))

(provide 'countersign-project)

;;; countersign-project.el ends here
