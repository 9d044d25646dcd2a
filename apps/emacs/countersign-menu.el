;;; countersign-menu.el --- A menu of all commands  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; `M-x countersign-menu' shows the commands with their keys.  Commands of a
;; buffer are there only in that buffer.

;;; Code:

(require 'transient)
(require 'countersign-words)
(require 'countersign-chat)
(require 'countersign-send)
(require 'countersign-session)
(require 'countersign-take-back)

(declare-function countersign "countersign")
(declare-function countersign-sign-in "countersign")
(declare-function countersign-disconnect "countersign")
(declare-function countersign-start-runner "countersign")
(declare-function countersign-stop-runner "countersign")
(declare-function countersign-show-log "countersign")

(defun countersign-menu--in-chat-p ()
  "Return non-nil in the buffer of a conversation."
  (derived-mode-p 'countersign-chat-mode))

;;;###autoload (autoload 'countersign-menu "countersign-menu" nil t)
(transient-define-prefix countersign-menu ()
  "Show the commands of Countersign."
  [[:description (lambda () (countersign-words "Conversation"))
    ("c" countersign :description (lambda () (countersign-words "open, reconnect")))
    ("n" countersign-chat-new-session :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "new session")))
    ("s" countersign-chat-switch-session :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "another session")))
    ("m" countersign-chat-switch-mode :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "switch its mode")))
    ("t" countersign-chat-rename-session :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "give it a title")))
    ("e" countersign-chat-export :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "export as Markdown")))
    ("/" countersign-chat-search :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "search")))
    ("b" countersign-chat-branch :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "branch")))
    ("d" countersign-chat-delete-session :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "delete it")))
    ("k" countersign-chat-stop :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "stop the agent")))
    ("g" countersign-chat-reload :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "read it again")))]
   [:description (lambda () (countersign-words "Decide"))
    ("a" countersign-approval-next :description (lambda () (countersign-words "next that waits")))
    ("l" countersign-approvals :description (lambda () (countersign-words "all that wait")))
    ("o" countersign-chat-show-output :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "output of a call")))
    ("u" countersign-chat-undo :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "undo a call")))
    ("U" countersign-chat-undo-run :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "undo the last run")))
    ("w" countersign-chat-rewind :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "rewind to before a message")))
    ("y" countersign-chat-retry :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "ask again")))
    ("x" countersign-chat-cancel :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "cancel a call")))]
   [:description (lambda () (countersign-words "Send"))
    ("r" countersign-send-region :description (lambda () (countersign-words "the region")))
    ("q" countersign-chat-edit-queued :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "edit the queued one")))
    ("Q" countersign-chat-send-queued :if countersign-menu--in-chat-p
     :description (lambda () (countersign-words "send the queued one")))
    ("f" countersign-send-defun :description (lambda () (countersign-words "the function")))]
   [:description (lambda () (countersign-words "Project"))
    ("i" countersign-sign-in :description (lambda () (countersign-words "sign in again")))
    ("R" countersign-start-runner :description (lambda () (countersign-words "start the runner")))
    ("K" countersign-stop-runner :description (lambda () (countersign-words "stop the runner")))
    ("L" countersign-show-log :description (lambda () (countersign-words "show the log")))
    ("D" countersign-disconnect :description (lambda () (countersign-words "disconnect")))]])

(provide 'countersign-menu)

;;; countersign-menu.el ends here
