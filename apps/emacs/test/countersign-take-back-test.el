;;; countersign-take-back-test.el --- Undo a run, rewind, retry, branch, search  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Code:

(require 'countersign-test-helper)

(defconst countersign-take-back-test-answers
  `(("GET /my/tools/history" (executions . [((tool_id . "t3") (run_id . "r3") (undoable . :false) (undone_at . :null))
                                            ((tool_id . "t2") (run_id . "r2") (undoable . t) (undone_at . :null))]))
    ("GET /my/runs/r2/changes"
     (files . [((path . "a.md") (added . 3) (removed . 1) (undoable . t) (undone . :false))
               ((path . "b.bin") (added . :null) (removed . :null) (undoable . t) (undone . :false))
               ((path . "c") (added . 1) (removed . 1) (undoable . t) (undone . t))]))
    ("GET /my/runs/r3/changes" (files . []))
    ("POST /my/runs/r2/undo" (files . [((path . "a.md")) ((path . "b.bin"))]))
    ("GET /my/sessions/s1/rewind" (files . [((path . "a.md"))]) (kept . [((tool_name . "execute_command"))])
     (runner_connected . t))
    ("POST /my/sessions/s1/rewind" (messages . 2) (files . [((path . "a.md"))]))
    ("POST /my/sessions/s1/branch" (session (session_id . "s2") (title . "Other") (mode . "ask")))
    ("DELETE /my/sessions/s1")
    ("GET /my/projects/p1/sessions?q=no" (sessions . []))
    ("GET /my/projects/p1/sessions" (sessions . [((session_id . "s9") (title . "Found it") (mode . "ask"))]))
    ("" (success . t)))
  "Answers by the beginning of method and path; the first that fits counts.")

(defun countersign-take-back-test--answer (exchange)
  "Answer EXCHANGE with one of `countersign-take-back-test-answers'."
  (let ((asked (format "%s %s" (countersign-fake-exchange-method exchange) (countersign-fake-exchange-path exchange))))
    (countersign-fake-answer
     exchange 200
     (encode-coding-string
      (countersign-json-write
       `((success . t)
         ,@(cdr (cl-find-if (lambda (known) (string-prefix-p (car known) asked)) countersign-take-back-test-answers))))
      'utf-8))))

(defun countersign-take-back-test--asked (fake beginning)
  "Return the body of the request to FAKE whose method and path have BEGINNING."
  (cl-loop for exchange in (countersign-fake-exchanges fake)
           when (string-prefix-p beginning (format "%s %s" (countersign-fake-exchange-method exchange)
                                                   (countersign-fake-exchange-path exchange)))
           return (or (ignore-errors (countersign-json-read (countersign-fake-exchange-body exchange))) 'empty)))

(defmacro countersign-take-back-test-with (fake &rest body)
  "Run BODY in a chat buffer whose server is FAKE, after two messages."
  (declare (indent 1) (debug t))
  `(countersign-test-with-approvals project ,fake
     (setf (countersign-fake-handler ,fake) #'countersign-take-back-test--answer)
     (switch-to-buffer (countersign-chat-buffer project))
     (setq countersign-chat--session "s1")
     (countersign-test-say project "message.created" '(message_id . "m1") '(role . "user") '(content . "First") '(complete . t))
     (countersign-test-say project "message.created" '(message_id . "m2") '(role . "user") '(content . "Raise it") '(complete . t))
     ,@body))

(defun countersign-take-back-test--text ()
  "Return what this buffer shows."
  (buffer-substring-no-properties (point-min) (point-max)))

(ert-deftest countersign-run-says-at-its-end-what-it-changed ()
  "The files of a run, once; a run that changed nothing says nothing."
  (countersign-take-back-test-with fake
    (dolist (run '("r3" "r2" "r2"))
      (countersign-test-say project "agent.state" '(state . "idle") `(run_id . ,run)))
    (countersign-test-wait (string-search "Files changed" (countersign-take-back-test--text)))
    (should (string-suffix-p "Raise it\n\nFiles changed: a.md +3 −1, b.bin  (C-c C-z puts them back)\n\n> "
                             (countersign-take-back-test--text)))
    (countersign-chat-export)
    (should-not (string-search "Files changed" (buffer-string)))))

(ert-deftest countersign-run-says-what-it-changed-after-a-reload-too ()
  "The files of the last run stay below it; while it is under way, its end tells them."
  (countersign-take-back-test-with fake
    (let ((messages `[((message_id . "m2") (role . "user") (content . "Raise it") (complete . t) (run_id . "r2")
                       (created_at . "2026-01-01T00:00:00Z"))])
          (changes (lambda () (countersign-take-back-test--asked fake "GET /my/runs/r2/changes"))))
      (setf (countersign-fake-handler fake)
            (lambda (exchange)
              (if (string-search "/chat/messages" (countersign-fake-exchange-path exchange))
                  (countersign-fake-answer exchange 200 (countersign-json-write `((success . t) (messages . ,messages))))
                (countersign-take-back-test--answer exchange))))
      (countersign-test-say project "agent.state" '(state . "thinking") '(run_id . "r2"))
      (countersign-chat-reload)
      (countersign-test-wait (null countersign-chat--loading))
      (countersign-test-pass 0.1)
      (should-not (funcall changes))
      (countersign-test-say project "agent.state" '(state . "idle") '(run_id . "r2"))
      (countersign-test-wait (string-search "Files changed" (countersign-take-back-test--text)))
      (countersign-chat-reload)
      (countersign-test-wait (null countersign-chat--loading))
      (countersign-test-wait (string-search "Files changed: a.md" (countersign-take-back-test--text))))))

(ert-deftest countersign-run-is-undone-with-two-keys ()
  "[RN-3] A key and y put back all of the last run; any other answer nothing."
  (countersign-take-back-test-with fake
    (countersign-test-answering '("n") (countersign-test-press "C-c C-z"))
    (should-not (countersign-take-back-test--asked fake "POST /my/runs/"))
    (countersign-test-answering '("y") (countersign-test-press "C-c C-z"))
    (countersign-test-wait (countersign-take-back-test--asked fake "POST /my/runs/r2/undo"))
    (should (eq (countersign-get (countersign-take-back-test--asked fake "POST /my/runs/r2/undo") 'force) nil))
    (countersign-test-answering '("y") (countersign-chat-undo-run t))
    (countersign-test-wait (eq t (countersign-get (countersign-take-back-test--asked fake "POST /my/runs/r2/undo") 'force)))))

(ert-deftest countersign-rewind-goes-back-to-before-a-message ()
  "The list says what it does; the text comes into the input; what was taken back is marked."
  (countersign-take-back-test-with fake
    (countersign-test-answering '("2 First" "conversation and files") (countersign-chat-rewind))
    (countersign-test-wait (equal (countersign-chat-input) "First"))
    (should (equal (countersign-take-back-test--asked fake "POST /my/sessions/s1/rewind")
                   '((message_id . "m1") (files . t))))
    (countersign-test-say project "message.created" '(message_id . "m2") '(role . "user") '(content . "Raise it")
                          '(complete . t) '(rewound . t))
    (should (string-search "You  taken back\nRaise it" (countersign-take-back-test--text)))
    (countersign-test-answering '("1 First" "conversation only") (countersign-chat-rewind))
    (countersign-test-wait (equal (countersign-take-back-test--asked fake "POST /my/sessions/s1/rewind")
                                  '((message_id . "m1") (files . :false))))))

(ert-deftest countersign-retry-sends-the-last-message-again ()
  "It goes back without files, then sends the same text."
  (countersign-take-back-test-with fake
    (countersign-chat-retry)
    (countersign-test-wait (countersign-take-back-test--asked fake "POST /my/projects/p1/chat/messages"))
    (should (equal (countersign-take-back-test--asked fake "POST /my/sessions/s1/rewind")
                   '((message_id . "m2") (files . :false))))
    (should (equal (countersign-get (countersign-take-back-test--asked fake "POST /my/projects/p1/chat/messages") 'content)
                   "Raise it"))))

(ert-deftest countersign-branch-search-and-delete ()
  "Each shows the session that comes of it."
  (countersign-take-back-test-with fake
    (countersign-test-answering '("2 First") (countersign-chat-branch))
    (countersign-test-wait (equal countersign-chat--session "s2"))
    (should (equal (countersign-take-back-test--asked fake "POST /my/sessions/s1/branch") '((message_id . "m1"))))
    (should-error (countersign-chat-search "no") :type 'user-error)
    (countersign-test-answering '("Found it") (countersign-chat-search "it"))
    (should (equal (list countersign-chat--session countersign-chat--title) '("s9" "Found it")))
    (setq countersign-chat--session "s1")
    (countersign-test-answering '("n") (countersign-chat-delete-session))
    (should-not (countersign-take-back-test--asked fake "DELETE "))
    (countersign-test-answering '("y") (countersign-chat-delete-session))
    (countersign-test-wait (null countersign-chat--session))
    (should-error (countersign-chat-delete-session) :type 'user-error)
    (should-error (countersign-chat-rewind) :type 'user-error)))

(provide 'countersign-take-back-test)

;;; countersign-take-back-test.el ends here
