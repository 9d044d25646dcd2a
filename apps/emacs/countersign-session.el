;;; countersign-session.el --- Choose a session, its mode and its title  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Commands of a chat buffer about the session that it shows: choose another
;; one, switch its mode, give it a title, export it as Markdown.

;;; Code:

(require 'countersign-chat)
(require 'countersign-choose)

(defun countersign-chat-switch-session ()
  "Choose another session of this project."
  (interactive nil countersign-chat-mode)
  (countersign-session--choose
   (countersign-project-await countersign-chat--project "GET"
                              (countersign-project-path countersign-chat--project "sessions"))))

(defun countersign-chat-search (words)
  "Choose a session of this project whose title or messages have WORDS."
  (interactive (list (read-string (countersign-words "Search the conversations: "))) countersign-chat-mode)
  (let ((answer (countersign-project-await
                 countersign-chat--project "GET"
                 (countersign-project-path countersign-chat--project "sessions" `(("q" . ,words))))))
    (unless (countersign-list-of answer 'sessions)
      (user-error "%s" (countersign-words "No conversation has these words")))
    (countersign-session--choose answer)))

(defun countersign-chat-delete-session ()
  "Delete this session: its messages are removed for everybody.
Its calls stay in the history, and files as they are."
  (interactive nil countersign-chat-mode)
  (unless countersign-chat--session (user-error "%s" (countersign-words "This conversation has no message yet")))
  (when (y-or-n-p (countersign-words "Delete this conversation? "))
    (let ((buffer (current-buffer)) (session countersign-chat--session))
      (countersign-project-request
       countersign-chat--project "DELETE" (countersign-transport-path "my" "sessions" session)
       :callback (lambda (_answer problem)
                   (cond (problem (message "%s" (plist-get problem :message)))
                         ((buffer-live-p buffer)
                          (with-current-buffer buffer
                            (countersign-chat--take-session `((session_id . ,session)) t)))))))))

(defun countersign-session--choose (answer)
  "Ask for one of the sessions of ANSWER, and show it."
  (let* ((buffer (current-buffer))
         (choices (cl-loop for session in (countersign-list-of answer 'sessions)
                           for number from 1
                           for title = (countersign-one-line (countersign-text-of session 'title) 60)
                           collect (cons (format "%d %s" number
                                                 (if (string-empty-p title) (countersign-words "(no title)") title))
                                         session)))
         (chosen (countersign-choose (countersign-words "Session: ") choices
                                     (lambda (session)
                                       (countersign-one-line (countersign-text-of session 'last_message_at) 16)))))
    (when (and chosen (buffer-live-p buffer))
      (with-current-buffer buffer
        (countersign-chat-show-session chosen)))))

(defun countersign-chat-switch-mode ()
  "Choose the mode: ask, accept edits of files, or read only."
  (interactive nil countersign-chat-mode)
  (let ((mode (countersign-choose
               (countersign-words "Mode of this conversation: ")
               (mapcar (lambda (mode) (cons (countersign-words-shared "modes" mode "name") mode))
                       '("ask" "accept_edits" "read_only"))
               (lambda (mode) (countersign-words-shared "modes" mode "means")))))
    (when mode
      (countersign-chat--with-session
       (lambda (problem)
         (if problem (message "%s" (plist-get problem :message))
           (countersign-session--change `((mode . ,mode)))))))))

(defun countersign-chat-rename-session (title)
  "Give this conversation TITLE."
  (interactive (list (read-string (countersign-words "Title: ") countersign-chat--title)) countersign-chat-mode)
  (unless countersign-chat--session (user-error "%s" (countersign-words "This conversation has no message yet")))
  (countersign-session--change `((title . ,(string-trim title)))))

(defun countersign-session--change (fields)
  "Change FIELDS of the session of this buffer."
  (let ((buffer (current-buffer)))
    (countersign-project-request
     countersign-chat--project "PATCH"
     (countersign-transport-path "my" "sessions" countersign-chat--session) :body fields
     :callback (lambda (answer problem)
                 (cond (problem (message "%s" (plist-get problem :message)))
                       ((buffer-live-p buffer)
                        (with-current-buffer buffer
                          (countersign-chat--take-session (countersign-get answer 'session)))))))))

(defun countersign-chat-export ()
  "Show this conversation as Markdown, in a buffer that can be saved."
  (interactive nil countersign-chat-mode)
  (let ((items (cl-remove 'note (countersign-chat--in-order) :key #'countersign-item-kind)) (title countersign-chat--title) (chat (current-buffer)))
    (pop-to-buffer (generate-new-buffer "*countersign export*"))
    (unless (member title '(nil "")) (insert "# " (countersign-one-line title) "\n\n"))
    (dolist (item items)
      (insert (if (eq (countersign-item-kind item) 'tool)
                  (concat "- " (with-current-buffer chat
                                 (string-trim-left (countersign-chat--first-line item) "[▸▾] "))
                          "\n\n")
                (concat "**" (countersign-chat--role-words (countersign-item-role item)) "**\n\n"
                        (string-trim (countersign-visible (countersign-item-text item))) "\n\n"))))
    (goto-char (point-min))
    (when (fboundp 'markdown-mode) (funcall 'markdown-mode))))

(provide 'countersign-session)

;;; countersign-session.el ends here
