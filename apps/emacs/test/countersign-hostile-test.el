;;; countersign-hostile-test.el --- Others who mean harm, and a person who does as they like  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Names and texts that a model, a tool or a broken server may send, and
;; what people do to buffers: narrowing, undoing, killing.

;;; Code:

(require 'tramp)
(require 'countersign-test-helper)

;;;; Names of files

(ert-deftest countersign-hostile-names-are-only-compared ()
  "[UI-6] A name that others wrote is a file below the root, or nothing."
  (dolist (path '("" "/etc/passwd" "../x" "a/../../x" "~/x" "~root/x" "a\0b" "/sudo:root@localhost:/etc/x"
                  "/ssh:evil.example:/x" "/work/shopping/x"))
    (should-not (countersign-file-below "/work/shop" path)))
  (should-not (countersign-file-below "/" "sudo:root@localhost:/etc/x"))
  (should (equal (countersign-file-below "/work/shop" "src/../a b.md") "/work/shop/a b.md"))
  (should (equal (countersign-file-below "/work/shop" "/work/shop/я.md") "/work/shop/я.md")))

(ert-deftest countersign-hostile-card-opens-no-connection ()
  "[UI-6] A card about /sudo:… or /ssh:… is drawn without asking Tramp for anything."
  (let ((asked '()))
    (cl-letf (((symbol-function 'tramp-file-name-handler)
               (lambda (operation &rest _) (push operation asked) nil)))
      (countersign-test-with-approvals project fake
        (dolist (path '("/sudo:root@localhost:/etc/x" "/ssh:evil.example:/x" "a\0b" "~nobody-of-this-name/x"))
          (countersign-test-arrive
           project (countersign-test-approval
                    `(approval_id . ,path) `(tool_params . ((path . ,path) (dest . ,path)))
                    `(preview . ((kind . "diff") (files . [((path . ,path) (diff . "+x\n"))])))))
          (countersign-project-receive project "file.changed" `((path . ,path) (operation . "modified"))))
        (should (= (length (countersign-waiting)) 4))
        (should-not asked)))))

(ert-deftest countersign-hostile-local-variables-do-nothing ()
  "A buffer that follows its file takes the text, and nothing that the text asks for."
  (let* ((folder (file-truename (make-temp-file "countersign-files" t)))
         (file (expand-file-name "a.txt" folder)))
    (unwind-protect
        (progn
          (write-region "one\n" nil file nil 'quiet)
          (with-current-buffer (find-file-noselect file)
            (let ((enable-local-variables :all) (enable-local-eval t) (inhibit-message t))
              (write-region ";; -*- mode: emacs-lisp; eval: (setq fill-column 7) -*-\n;; Local Variables:\n;; eval: (setq fill-column 7)\n;; tab-width: 3\n;; End:\n"
                            nil file nil 'quiet)
              (set-file-times file (time-add nil 10))
              (countersign-files-changed folder "a.txt" "modified")
              (should (string-search "tab-width: 3" (buffer-string)))
              (should (equal (list fill-column tab-width major-mode)
                             (list (default-value 'fill-column) (default-value 'tab-width) 'text-mode))))
            (kill-buffer)))
      (delete-directory folder t))))

;;;; Cards

(ert-deftest countersign-hostile-card-that-cannot-be-drawn-is-shown-as-it-came ()
  "Nobody decides blindly: whatever a server sends, there is a card, and it says what came."
  (dolist (odd `((revision . "x") (tool_params . 5) (preview . ((kind . "commit") (hooks . [1])))
                 (preview . ((kind . "command") (commands . [1])))))
    (countersign-test-with-approvals project fake
      (let* ((pending (countersign-test-arrive project (countersign-test-approval odd)))
             (text (countersign-test-card-text pending)))
        (should (string-search "could not be drawn" text))
        (should (string-search (format "\"%s\"" (car odd)) text))
        (should (string-search "Agent wants to change config.json" text))))))

(ert-deftest countersign-hostile-deep-parameters-can-be-read-and-edited ()
  "Parameters as deep as the protocol has them are drawn and edited; deeper ones do not stop a card."
  (dolist (depth '(200 1500))
    (countersign-test-with-approvals project fake
      (let* ((params (countersign-json-read (concat (apply #'concat (make-list depth "{\"a\":")) "\"deep\""
                                                    (make-string depth ?}))))
             (pending (countersign-test-arrive project (countersign-test-approval `(tool_params . ,params))))
             (text (countersign-test-card-text pending)))
        (if (= depth 1500) (should (string-search "could not be drawn" text))
          (should (string-search "\"deep\"" (string-replace "↩\n    " "" text)))
          (countersign-test-look project pending)
          (countersign-test-press "e")
          (should (string-search "\"deep\"" (buffer-string))))))))

(ert-deftest countersign-hostile-help-has-no-links ()
  "[UI-6] Nothing that others wrote becomes a link, also not in the help of a card."
  (countersign-test-with-approvals project fake
    (let ((pending (countersign-test-arrive
                    project (countersign-test-approval
                             '(agent . "see URL `https://evil.example/' and `countersign-disconnect'")
                             '(offered_scopes . [((scope . "class") (label . "URL `https://evil.example/'")
                                                  (max_risk . "MEDIUM"))])))))
      (countersign-test-look project pending)
      (countersign-test-press "?")
      (with-current-buffer "*countersign help*"
        (should (string-search "evil.example" (buffer-string)))
        (should-not (next-button (point-min) t))
        (should-not (text-property-not-all (point-min) (point-max) 'keymap nil))))))

(ert-deftest countersign-hostile-long-text-does-not-stop-emacs ()
  "[UI-6] A megabyte in two alphabets, or full of marks, is made visible in a moment."
  (dolist (line '("строка of output аb\n" "a\u202eb\u202ec\u202ed\u202e\n"))
    (let* ((text (apply #'concat (make-list (/ 1000000 (length line)) line)))
           (started (float-time (get-internal-run-time)))
           (shown (with-temp-buffer (countersign-card--block text) (buffer-string))))
      (should (string-search "CUT HERE: " shown))
      (should-not (string-search "\u202e" shown))
      ;; It was 30 seconds (of the processor; others may be busy).
      (should (< (- (float-time (get-internal-run-time)) started) 5)))))

;;;; What people do to a conversation

(defmacro countersign-hostile-with-chat (project &rest body)
  "Run BODY in the chat buffer of PROJECT, which shows a message."
  (declare (indent 1) (debug t))
  `(countersign-test-with-clean-state
     (let ((,project (countersign-fake-project)))
       (switch-to-buffer (countersign-chat-buffer ,project))
       (setq countersign-chat--session "s1")
       (countersign-hostile-message ,project "m1" "hello")
       ,@body)))

(defun countersign-hostile-message (project id text)
  "Let the message ID with TEXT arrive in PROJECT."
  (countersign-project-receive project "message.created"
                               `((session_id . "s1") (message_id . ,id) (role . "assistant")
                                 (content . ,text) (complete . t))))

(ert-deftest countersign-hostile-chat-bears-narrowing ()
  "What arrives in a narrowed conversation stands where it belongs, and the input is whole."
  (countersign-hostile-with-chat project
    (goto-char (point-max))
    (insert "typed")
    (narrow-to-region 2 6)
    (countersign-hostile-message project "m2" "second")
    (countersign-project-receive project "tool.call" '((session_id . "s1") (tool_id . "t1") (tool_name . "x")
                                                       (status . "executing")))
    (should (buffer-narrowed-p))
    (should (equal (countersign-chat-input) "typed"))
    (widen)
    (should (equal (buffer-substring-no-properties (point-min) (point-max))
                   "Agent\nhello\n\nAgent\nsecond\n\n▸ Using x  …\n\n> typed"))))

(ert-deftest countersign-hostile-chat-undo-takes-back-only-what-was-typed ()
  "Undo, also over what arrived in between, never touches the transcript."
  (countersign-hostile-with-chat project
    (goto-char (point-max))
    (undo-boundary)
    (insert "abc")
    (undo-boundary)
    (countersign-hostile-message project "m2" "second")
    (goto-char (point-max))
    (insert "def")
    (undo-boundary)
    (let ((transcript (buffer-substring-no-properties (point-min) countersign-chat--end)))
      (dolist (left '("abc" "" ""))
        (setq last-command (if (equal left "abc") 'ignore 'undo) this-command 'undo)
        (ignore-errors (undo))
        (undo-boundary)
        (should (equal (countersign-chat-input) left))
        (should (equal (buffer-substring-no-properties (point-min) countersign-chat--end) transcript))))))

(ert-deftest countersign-hostile-transcript-is-read-only ()
  "Nobody types, yanks or deletes in the transcript; typing there goes to the input."
  (countersign-hostile-with-chat project
    (let ((before (buffer-substring-no-properties (point-min) countersign-chat--end)))
      (dolist (position (number-sequence (point-min) (1- countersign-chat--input)))
        (goto-char position)
        (should-error (insert "x"))
        (should-error (delete-char 1)))
      (goto-char 3)
      (let ((last-command-event ?z)) (countersign-test-press "z"))
      (should (equal (countersign-chat-input) "z"))
      (should (equal (buffer-substring-no-properties (point-min) countersign-chat--end) before)))))

(ert-deftest countersign-hostile-chat-that-was-killed-comes-back ()
  "M-x countersign after the chat buffer was killed shows the latest session again."
  (let* ((session '((session_id . "s7") (title . "Ports") (last_message_at . "2026-11-16T00:00:00.000Z")))
         (fake (countersign-fake-start
                (lambda (exchange)
                  (countersign-fake-answer
                   exchange 200
                   (countersign-json-write
                    (if (string-suffix-p "/sessions" (countersign-fake-exchange-path exchange))
                        `((success . t) (sessions . [,session]))
                      '((success . t) (messages . []) (executions . [])))))))))
    (unwind-protect
        (countersign-test-with-clean-state
          (let* ((project (countersign-fake-project nil fake))
                 (default-directory (file-name-as-directory (countersign-project-root project))))
            (kill-buffer (countersign-chat-buffer project))
            (cl-letf (((symbol-function 'project-current) #'ignore)) (countersign))
            (countersign-test-wait (equal "s7" (buffer-local-value 'countersign-chat--session
                                                                   (countersign-project-chat project))))))
      (countersign-fake-stop fake))))

(ert-deftest countersign-hostile-home-is-no-project-by-accident ()
  "M-x countersign in *scratch* does not hand the home folder to an agent; nothing is started."
  (countersign-test-with-clean-state
    (dolist (folder '("~/" "/"))
      (let ((default-directory folder) (countersign-server nil) (countersign-program '("false")))
        (cl-letf (((symbol-function 'project-current) #'ignore))
          (should (string-search "home folder" (cadr (should-error (countersign) :type 'user-error)))))
        (should-not countersign-projects)))))

(ert-deftest countersign-hostile-remote-buffer-does-not-get-in-the-way ()
  "In a buffer of another machine, commands are about the project that is connected."
  (countersign-test-with-approvals project fake
    (with-temp-buffer
      (setq default-directory "/ssh:elsewhere.example:/srv/")
      (should (eq (countersign--current) project)))))

;;; countersign-hostile-test.el ends here
