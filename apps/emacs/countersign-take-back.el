;;; countersign-take-back.el --- Put back what the agent did  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Commands of a chat buffer that take something back: undo a whole run, go
;; back to before a message, send the last message again, go on from a message
;; in a new session.  After each run a line says which files it changed.

;;; Code:

(require 'countersign-chat)
(require 'countersign-choose)

;;;; What a run changed

(defun countersign-take-back--path (run &rest parts)
  "Return the path of RUN and PARTS."
  (apply #'countersign-transport-path "my" "runs" run parts))

(defun countersign-take-back--undoable (answer)
  "Return the files of ANSWER, about a run, that can be put back."
  (cl-remove-if-not (lambda (file) (and (countersign-get file 'undoable) (not (countersign-get file 'undone))))
                    (countersign-list-of answer 'files)))

(defconst countersign-take-back--max-names 20
  "How many files a question or a message names.")

(defun countersign-take-back--named (files)
  "Return the paths of FILES with their numbers of lines, as text.
Only the first ones are named: a command may have changed thousands."
  (let ((more (- (length files) countersign-take-back--max-names)))
    (concat
     (mapconcat (lambda (file)
                  (let ((added (countersign-get file 'added)) (removed (countersign-get file 'removed)))
                    (concat (countersign-one-line (countersign-text-of file 'path) 60)
                            (and (integerp added) (integerp removed) (format " +%d −%d" added removed)))))
                (seq-take files countersign-take-back--max-names) ", ")
     (and (> more 0) (concat ", " (countersign-words "and %d more" more))))))

(defun countersign-take-back-summarize (run)
  "Say at the end of the transcript which files RUN changed."
  (let ((buffer (current-buffer)) (session countersign-chat--session))
    (countersign-project-request
     countersign-chat--project "GET" (countersign-take-back--path run "changes") :retries 2
     :callback
     (lambda (answer _problem)
       (let ((files (countersign-take-back--undoable answer)))
         (when (and files (buffer-live-p buffer))
           (with-current-buffer buffer
             (when (equal session countersign-chat--session)
               (countersign-chat-note
                (concat "changes " run)
                (countersign-words "Files changed: %s  (%s puts them back)" (countersign-take-back--named files)
                                   (countersign-approval--keys
                                    "\\<countersign-chat-mode-map>\\[countersign-chat-undo-run]")))))))))))

(defun countersign-take-back--last-run ()
  "Return the last run of this session with a change that can be put back."
  (let ((answer (countersign-project-await
                 countersign-chat--project "GET"
                 (countersign-transport-path "my" "tools" "history"
                                             `(("session_id" . ,countersign-chat--session) ("limit" . "200"))))))
    (cl-loop for call in (countersign-list-of answer 'executions)
             when (and (countersign-get call 'undoable) (null (countersign-get call 'undone_at))
                       (countersign-get call 'run_id))
             return (countersign-get call 'run_id))))

(defun countersign-chat-undo-run (&optional force)
  "Put back all that the last run changed, or nothing of it.
With a prefix argument FORCE, do so even if files were changed since; what
was changed is lost."
  (interactive "P" countersign-chat-mode)
  (let* ((run (or (and countersign-chat--session (countersign-take-back--last-run))
                  (user-error "%s" (countersign-words "There is no run to undo"))))
         (files (countersign-take-back--undoable
                 (countersign-project-await countersign-chat--project "GET"
                                            (countersign-take-back--path run "changes")))))
    (when (y-or-n-p (countersign-words "Put back what the last run changed (%s)%s? "
                                       (countersign-take-back--named files)
                                       (if force (countersign-words ", losing what was changed since") "")))
      (countersign-take-back--post (countersign-take-back--path run "undo")
                                   (if force '((force . t)) 'empty)
                                   #'countersign-take-back--say-files))))

(defun countersign-take-back--say-files (answer)
  "Say which files ANSWER put back."
  (message "%s" (countersign-words "Put back: %s" (countersign-take-back--named (countersign-list-of answer 'files)))))

(defun countersign-take-back--post (path body done)
  "Post BODY to PATH; call DONE with the answer, in this buffer."
  (let ((buffer (current-buffer)))
    (countersign-project-request
     countersign-chat--project "POST" path :body body
     :callback (lambda (answer problem)
                 (cond (problem (message "%s" (plist-get problem :message)))
                       ((buffer-live-p buffer) (with-current-buffer buffer (funcall done answer))))))))

;;;; Going back to before a message

(defun countersign-take-back--messages (roles)
  "Return the messages of ROLES that were not taken back, the last one first."
  (nreverse (cl-remove-if-not (lambda (item)
                                (and (eq (countersign-item-kind item) 'message)
                                     (member (countersign-item-role item) roles)
                                     (not (eq (countersign-item-note item) 'rewound))))
                              (countersign-chat--in-order))))

(defun countersign-take-back--choose (roles)
  "Ask for one of the messages of ROLES; the last one comes first."
  (let ((messages (or (countersign-take-back--messages roles)
                      (user-error "%s" (countersign-words "There is no message yet")))))
    (or (countersign-choose (countersign-words "Message: ")
                            (cl-loop for item in messages for number from 1
                                     collect (cons (format "%d %s" number
                                                           (countersign-one-line (countersign-item-text item) 80))
                                                   item)))
        (user-error "%s" (countersign-words "Nothing was changed")))))

(defun countersign-take-back--session-path (&rest parts)
  "Return the path of PARTS below the session of this buffer."
  (apply #'countersign-transport-path "my" "sessions" countersign-chat--session parts))

(defun countersign-chat-rewind ()
  "Go back to before a message of yours, with the files or without them.
Its text comes into the input, so that it can be changed and sent again."
  (interactive nil countersign-chat-mode)
  (let* ((item (countersign-take-back--choose '("user")))
         (id (countersign-item-id item))
         (plan (countersign-project-await
                countersign-chat--project "GET"
                (countersign-take-back--session-path "rewind" `(("message_id" . ,id)))))
         (files (countersign-list-of plan 'files))
         (kept (countersign-list-of plan 'kept))
         (connected (countersign-get plan 'runner_connected))
         (what (countersign-choose
                (countersign-words "Go back to before it: ")
                `(,@(and files connected `((,(countersign-words "conversation and files") . files)))
                  (,(countersign-words "conversation only") . messages))
                (lambda (what)
                  (cond ((and (eq what 'messages) files (not connected))
                         (countersign-words "no runner is connected, so files stay"))
                        ((eq what 'files)
                         (string-join
                          (delq nil (list (countersign-words "puts back %s" (countersign-take-back--named files))
                                          (and kept (countersign-words
                                                     "cannot put back %s"
                                                     (mapconcat (lambda (call) (countersign-text-of call 'tool_name))
                                                                kept ", ")))))
                          "; ")))))))
    (unless what (user-error "%s" (countersign-words "Nothing was changed")))
    (countersign-take-back--rewind item (if (eq what 'files) t :false)
                                   (lambda (text)
                                     (when (string-empty-p (string-trim (countersign-chat-input)))
                                       (countersign-chat--set-input text))))))

(defun countersign-take-back--rewind (item files done)
  "Go back to before ITEM, with FILES or without; call DONE with its text."
  (let ((text (countersign-item-text item)))
    (countersign-take-back--post
     (countersign-take-back--session-path "rewind")
     `((message_id . ,(countersign-item-id item)) (files . ,files))
     (lambda (answer)
       (when (countersign-list-of answer 'files) (countersign-take-back--say-files answer))
       (funcall done text)))))

(defun countersign-chat-retry ()
  "Send the last message of yours again, as if its answer had not been given.
Files stay as they are."
  (interactive nil countersign-chat-mode)
  (countersign-take-back--rewind
   (or (car (countersign-take-back--messages '("user")))
       (user-error "%s" (countersign-words "There is no message yet")))
   :false #'countersign-chat-submit))

(defun countersign-chat-branch ()
  "Go on from a message in a new session, which has all up to that message."
  (interactive nil countersign-chat-mode)
  (countersign-take-back--post
   (countersign-take-back--session-path "branch")
   `((message_id . ,(countersign-item-id (countersign-take-back--choose '("user" "assistant")))))
   (lambda (answer) (countersign-chat-show-session (countersign-get answer 'session)))))

(provide 'countersign-take-back)

;;; countersign-take-back.el ends here
