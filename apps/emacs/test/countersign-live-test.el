;;; countersign-live-test.el --- Whole stories with the real server and runner  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Code:

(require 'countersign-live)

(ert-deftest countersign-live-connect-message-approve ()
  "[UI-3] Connect, send a message, approve an edit from its buffer by its key."
  (countersign-live-with-project project root
    (let ((visiting (find-file-noselect (expand-file-name "config.json" root))))
      (countersign-live-say project "/edit_file path=config.json old=3000 new=8080")
      (let ((pending (countersign-live-asked project)))
        (countersign-live-shows project "▸ Edit config.json  waits for you")
        (countersign-test-look project pending)
        (dolist (wanted '("Agent wants to change config.json" "edit_file" "MEDIUM" "old = 3000"
                          "-{\"port\": 3000}" "+{\"port\": 8080}" "/edit_file path=config.json"))
          (should (string-search wanted (buffer-string))))
        (should (equal (countersign-live-read root "config.json") "{\"port\": 3000}\n"))
        (countersign-test-press "y")
        (countersign-live-shows project "▸ Edited config.json"))
      (countersign-live-idle project)
      (countersign-live-shows project "You approved this here")
      (countersign-live-shows project "Agent\nedit_file: config.json")
      (should (equal (countersign-live-read root "config.json") "{\"port\": 8080}\n"))
      ;; The buffer that visits it follows.
      (countersign-test-wait (equal (with-current-buffer visiting (buffer-string)) "{\"port\": 8080}\n"))
      (kill-buffer visiting))))

(ert-deftest countersign-live-reject-with-a-message ()
  "[AP-5] The agent gets the message; nothing runs."
  (countersign-live-with-project project root
    (countersign-live-say project "/write_file path=notes.md content=hello")
    (let ((pending (countersign-live-asked project)))
      (countersign-test-look project pending)
      (countersign-test-answering '("Put it into README.md")
        (countersign-test-press "n")))
    (countersign-live-shows project "▸ Write notes.md  rejected")
    (countersign-live-shows project "You rejected this here: Put it into README.md")
    (countersign-live-idle project)
    ;; Why is there also when the session is read again, and when it was never seen.
    (with-current-buffer (countersign-project-chat project)
      (countersign-chat-reload)
      (countersign-test-wait (null countersign-chat--loading)))
    (countersign-live-shows project "▸ Write notes.md  rejected  You rejected this here: Put it into README.md")
    (with-current-buffer (countersign-project-chat project)
      (countersign-chat--clear)
      (clrhash (countersign-project-decided-here project))
      (countersign-chat-reload))
    (countersign-live-shows project "▸ Write notes.md  rejected  You rejected this ")
    (countersign-live-shows project ": Put it into README.md")
    (should-not (file-exists-p (expand-file-name "notes.md" root)))
    (let* ((session (buffer-local-value 'countersign-chat--session (countersign-project-chat project)))
           (messages (countersign-live-request
                      project "GET" (countersign-project-path project "chat" "messages"
                                                              `(("session_id" . ,session))))))
      (should (cl-some (lambda (message)
                         (and (equal (countersign-get message 'role) "tool")
                              (string-search "Put it into README.md" (countersign-get message 'content))))
                       (countersign-list-of messages 'messages))))))

(defun countersign-live-forget-rules (project)
  "Take back what was saved in the policy through PROJECT, for the other tests."
  (countersign-live-request project "PUT" "/my/policy" :body '((version . 1) (rules . []))))

(defun countersign-live-always-write (project)
  "Let the agent of PROJECT write a file, and always allow that from its card."
  (countersign-live-say project "/write_file path=one.md content=1")
  (let ((pending (countersign-live-asked project)))
    (countersign-test-look project pending)
    (countersign-test-answering '("Always: all calls of write_file" "yes")
      (countersign-test-press "a"))
    ;; [RK-5] What it would have decided is said first.
    (should (string-match-p "This rule would have decided \\([0-9]+\\|one\\|none\\) " (car countersign-test-prompts))))
  (countersign-live-shows project "Wrote one.md")
  (countersign-live-idle project))

(ert-deftest countersign-live-always ()
  "[AP-4] Always for a tool is saved as a rule of the person's own policy."
  (countersign-live-with-project project root
    (let ((rules (unwind-protect
                     (progn
                       (countersign-live-always-write project)
                       (countersign-list-of (countersign-live-request project "GET" "/my/policy") 'policy 'rules))
                   (countersign-live-forget-rules project))))
      (should (equal (countersign-live-read root "one.md") "1"))
      (should (equal (mapcar (lambda (rule) (list (countersign-get rule 'effect) (countersign-get rule 'tool)
                                                  (countersign-get rule 'path)))
                             rules)
                     '(("allow" "write_file" nil)))))))

(ert-deftest countersign-live-always-is-not-asked-again ()
  "[AP-4] The next call of a tool that is always allowed runs without a card."
  (skip-unless (countersign-live-source-has-p "packages/tool-runner/src/call-permission.ts" "signal.rule"))
  (countersign-live-with-project project root
    (unwind-protect
        (progn
          (countersign-live-always-write project)
          (countersign-live-say project "/write_file path=two.md content=2")
          (countersign-live-shows project "Wrote two.md"))
      (countersign-live-forget-rules project))
    (should (equal (countersign-live-read root "two.md") "2"))
    (should-not (countersign-waiting))))

(ert-deftest countersign-live-a-class-in-this-session ()
  "[AP-4] A class: what it covers is not asked about, other things are."
  (countersign-live-with-project project root
    (countersign-live-say project "/edit_file path=config.json old=3000 new=3001")
    (let ((pending (countersign-live-asked project)))
      (countersign-test-look project pending)
      (countersign-test-answering '("Changes to config.json in this session")
        (countersign-test-press "a")))
    (countersign-live-shows project "Edited config.json")
    (countersign-live-idle project)
    (countersign-live-say project "/edit_file path=config.json old=3001 new=3002\n/write_file path=other.md content=x")
    (let ((pending (countersign-live-asked project)))
      (should (equal (countersign-pending-get pending 'tool_params 'path) "other.md")))
    (countersign-test-wait (equal (countersign-live-read root "config.json") "{\"port\": 3002}\n"))))

(ert-deftest countersign-live-decided-elsewhere ()
  "[AP-2] Approved on a phone: the card is withdrawn at once and says who."
  (countersign-live-with-project project root
    (countersign-live-say project "/edit_file path=config.json old=3000 new=9999")
    (let* ((pending (countersign-live-asked project))
           (id (countersign-pending-id pending)))
      (countersign-test-look project pending)
      (let ((card (current-buffer)))
        (countersign-live-request project "POST" (countersign-project-path project "approvals" id "approve")
                                  :body `((digest . ,(countersign-pending-get pending 'digest))
                                          (device . "phone")))
        (countersign-test-wait (with-current-buffer card
                                 (string-search "Withdrawn: You approved this on phone" (buffer-string))))
        (should-error (countersign-test-press "y") :type 'user-error)
        (should-error (countersign-test-press "n") :type 'user-error)))
    (countersign-live-shows project "Edited config.json.*You approved this on phone")))

(ert-deftest countersign-live-server-restart-in-the-middle ()
  "[AP-10] [EV-2] The server is killed while a call waits; it is there again and decided once."
  (countersign-live-with-project project root
    (countersign-live-say project "/edit_file path=config.json old=3000 new=4000")
    (let ((pending (countersign-live-asked project)))
      (countersign-test-look project pending)
      (countersign-live-kill)
      (countersign-test-wait (memq (countersign-project-state project) '(waiting connecting)))
      (should (string-match-p "lost\\|connecting" (with-current-buffer (countersign-project-chat project)
                                                    (countersign-chat--header))))
      ;; A decision that cannot be sent is told, and can be made again.
      (should (eq (countersign-approval--buffer pending) (current-buffer)))
      (countersign-live-serve)
      (countersign-test-wait (eq (countersign-project-state project) 'open))
      (countersign-test-wait (countersign-project-runners project))
      (let ((again (countersign-live-asked project)))
        (should (equal (countersign-pending-id again) (countersign-pending-id pending)))
        (countersign-test-look project again)
        (countersign-test-press "y"))
      (countersign-live-shows project "Edited config.json")
      (should (equal (countersign-live-read root "config.json") "{\"port\": 4000}\n"))
      (countersign-live-idle project)
      ;; Nothing came twice.
      (should (equal 1 (cl-count-if (lambda (line) (string-match-p "\\`▸ Edit" line))
                                    (split-string (countersign-live-chat-text project) "\n"))))
      (should (equal 2 (length (split-string (countersign-live-chat-text project) "^Agent\n")))))))

(ert-deftest countersign-live-two-projects ()
  "Two projects at once: each has its runner, its chat and its approvals."
  (countersign-live-with-project one root-one
    (let* ((root-two (countersign-live-workspace "second"))
           (two (countersign-live-connect root-two)))
      (should-not (eq one two))
      (should-not (equal (countersign-project-id one) (countersign-project-id two)))
      (countersign-live-say one "/edit_file path=config.json old=3000 new=1111")
      (countersign-live-say two "/edit_file path=config.json old=3000 new=2222")
      (let ((first (countersign-live-asked one)) (second (countersign-live-asked two)))
        (should (equal (length (countersign-waiting)) 2))
        (should (equal (countersign-mode-line) " [CS: 2 to decide] "))
        (countersign-test-look two second)
        (countersign-test-press "y")
        (countersign-live-shows two "Edited config.json")
        (should (equal (countersign-live-read root-two "config.json") "{\"port\": 2222}\n"))
        (should (equal (countersign-live-read root-one "config.json") "{\"port\": 3000}\n"))
        (countersign-test-look one first)
        (countersign-test-press "y")
        (countersign-live-shows one "Edited config.json")
        (should (equal (countersign-live-read root-one "config.json") "{\"port\": 1111}\n"))
        (should-not (string-search "2222" (countersign-live-chat-text one))))
      ;; M-x countersign in a project that is connected shows its chat.
      (let ((default-directory (file-name-as-directory root-one)))
        (cl-letf (((symbol-function 'project-current) #'ignore)) (countersign))
        (should (eq (window-buffer (selected-window)) (countersign-project-chat one)))))))

(ert-deftest countersign-live-high-takes-a-typed-yes ()
  "[RK-1] A deletion is HIGH: its preview and a typed yes."
  (countersign-live-with-project project root
    (countersign-live-say project "/delete_file path=config.json")
    (let ((pending (countersign-live-asked project)))
      (countersign-test-look project pending)
      (should (string-search "Deletes config.json" (buffer-string)))
      (countersign-test-answering '("y")
        (should-error (countersign-test-press "y") :type 'user-error))
      (should (file-exists-p (expand-file-name "config.json" root)))
      (countersign-approval-visit project pending)
      (countersign-test-wait (countersign-approval-armed-p))
      (countersign-test-answering '("yes") (countersign-test-press "y")))
    (countersign-live-shows project "Deleted config.json")
    (should-not (file-exists-p (expand-file-name "config.json" root)))))

(ert-deftest countersign-live-edit-then-approve ()
  "[AP-6] The parameters are edited first; what ran is what was edited."
  (countersign-live-with-project project root
    (countersign-live-say project "/edit_file path=config.json old=3000 new=8080")
    (let ((pending (countersign-live-asked project)))
      (countersign-test-look project pending)
      (countersign-test-press "e")
      (goto-char (point-min))
      (search-forward "8080")
      (replace-match "7070")
      (countersign-test-answering '("yes") (countersign-test-press "C-c C-c")))
    (countersign-live-shows project "Edited config.json")
    (should (equal (countersign-live-read root "config.json") "{\"port\": 7070}\n"))))

(ert-deftest countersign-live-edit-that-raises-the-risk ()
  "[AP-6] An edit that raises the risk is not approved in the same step."
  (countersign-live-with-project project root
    (countersign-live-say project "/write_file path=run.md content=x")
    (let ((pending (countersign-live-asked project)))
      (countersign-test-look project pending)
      (countersign-test-press "e")
      (goto-char (point-min))
      (search-forward "run.md")
      (replace-match "run.sh")
      (countersign-test-answering '("yes") (countersign-test-press "C-c C-c"))
      (countersign-test-wait (and (equal (countersign-pending-get pending 'risk_level) "HIGH")
                                  (countersign-pending-get pending 'preview)))
      (should (countersign-waiting))
      (should-not (file-exists-p (expand-file-name "run.sh" root)))
      (countersign-test-look project pending)
      (should (string-search "run.sh" (buffer-string)))
      (countersign-test-answering '("yes") (countersign-test-press "y")))
    (countersign-live-shows project "Wrote run")
    (should (equal (countersign-live-read root "run.sh") "x"))))

(ert-deftest countersign-live-unsaved-work-is-never-lost ()
  "[UI-3] A tool changes a file that has unsaved changes here: it warns."
  (countersign-live-with-project project root
    (let ((visiting (find-file-noselect (expand-file-name "config.json" root))) (warnings '()))
      (with-current-buffer visiting (goto-char (point-max)) (insert "// mine\n"))
      (cl-letf (((symbol-function 'display-warning) (lambda (_type text &rest _) (push text warnings))))
        (countersign-live-say project "/edit_file path=config.json old=3000 new=8080")
        (let ((pending (countersign-live-asked project)))
          (countersign-test-look project pending)
          (should (string-search "config.json has changes in Emacs that are not saved" (buffer-string)))
          (countersign-test-press "y"))
        (countersign-test-wait warnings))
      (with-current-buffer visiting
        (should (equal (buffer-string) "{\"port\": 3000}\n// mine\n"))
        (should (buffer-modified-p))
        (set-buffer-modified-p nil))
      (kill-buffer visiting))))

(ert-deftest countersign-live-undo ()
  "[RN-3] A call is undone from the chat; where the file was changed since, it says so."
  (countersign-live-with-project project root
    (countersign-live-say project "/edit_file path=config.json old=3000 new=8080")
    (countersign-test-look project (countersign-live-asked project))
    (countersign-test-press "y")
    (countersign-live-shows project "Edited config.json")
    (countersign-live-idle project)
    (write-region "changed since\n" nil (expand-file-name "config.json" root) nil 'quiet)
    (switch-to-buffer (countersign-project-chat project))
    (countersign-test-answering '("y") (countersign-test-press "C-c C-u"))
    (countersign-live-shows project "not undone: .*changed")
    (should (equal (countersign-live-read root "config.json") "changed since\n"))
    (switch-to-buffer (countersign-project-chat project))
    (let ((current-prefix-arg '(4)))
      (countersign-test-answering '("y") (countersign-test-press "C-c C-u")))
    (countersign-live-shows project "Edited config.json.*  undone")
    (should (equal (countersign-live-read root "config.json") "{\"port\": 3000}\n"))))

(ert-deftest countersign-live-try-first ()
  "[RN-13] [RN-3] A command is tried, seen, approved without running again, followed by buffers, and undone."
  (countersign-live-with-project project root
    (countersign-test-wait (countersign-project-runners project))
    (skip-unless (countersign-project-able-p project "trials"))
    (let ((visiting (find-file-noselect (expand-file-name "config.json" root)))
          (before (countersign-live-read root "config.json")))
      (countersign-live-say project "/shell_exec command=\"echo 8080 > config.json; date +%N > once.txt\"")
      (let ((pending (countersign-live-asked project)))
        (countersign-test-look project pending)
        (should (string-search "t try it first" (buffer-string)))
        (countersign-test-press "t")
        (countersign-test-wait (countersign-pending-get pending 'preview 'trial))
        (dolist (wanted '("exit 0, after" "Changes  changed: 1, new: 1" "+8080\n" "once.txt  new file" "It can be undone."))
          (should (string-search wanted (buffer-string))))
        (should (equal (countersign-live-read root "config.json") before))
        (should-not (file-exists-p (expand-file-name "once.txt" root)))
        (let ((seen (cl-find "once.txt" (countersign-trial-files (countersign-pending-data pending))
                             :key (lambda (file) (countersign-get file 'path)) :test #'equal)))
          (countersign-test-look project pending)
          (countersign-test-answering '("yes") (countersign-test-press "y"))
          (countersign-live-shows project "files changed: 2")
          (countersign-live-idle project)
          ;; The time that was seen is the time that landed, so it ran once.
          (should (string-search (concat "+" (countersign-live-read root "once.txt")) (countersign-get seen 'diff)))))
      (countersign-test-wait (equal (with-current-buffer visiting (buffer-string)) "8080\n"))
      (with-current-buffer (countersign-project-chat project)
        (countersign-test-answering '("y") (countersign-chat-undo)))
      (countersign-test-wait (equal (countersign-live-read root "config.json") before))
      (countersign-test-wait (equal (with-current-buffer visiting (buffer-string)) before))
      (should-not (file-exists-p (expand-file-name "once.txt" root)))
      (kill-buffer visiting))))

(ert-deftest countersign-live-large-result-and-reload ()
  "[EV-2] A result that fits into no event is fetched when it is unfolded; sessions are read again."
  (countersign-live-with-project project root
    (write-region (mapconcat (lambda (n) (format "line %d ünïcode" n)) (number-sequence 1 9000) "\n")
                  nil (expand-file-name "big.txt" root) nil 'quiet)
    (countersign-live-say project "/read_file path=big.txt")
    (countersign-live-shows project "Read big.txt  [0-9]")
    (countersign-live-idle project)
    (switch-to-buffer (countersign-project-chat project))
    (goto-char (point-min))
    (search-forward "▸ Read")
    (should-not (string-search "line 500 ünïcode" (buffer-string)))
    (countersign-test-press "TAB")
    (countersign-live-shows project "line 500 ünïcode")
    (countersign-live-shows project "CUT HERE")
    ;; A new session is empty; the old one can be chosen and is as it was.
    (let ((before (countersign-live-chat-text project)))
      (countersign-test-press "C-c C-n")
      (should (equal (countersign-live-chat-text project) "> "))
      (countersign-live-say project "/list_directory path=.")
      (countersign-live-shows project "Listed the project root")
      (countersign-live-idle project)
      (switch-to-buffer (countersign-project-chat project))
      (countersign-test-answering '("big") (countersign-test-press "C-c C-s"))
      (countersign-live-shows project "Read big.txt  [0-9]")
      (should-not (string-search "Listed the" (countersign-live-chat-text project)))
      (should (string-search "You\n/read_file path=big.txt" before))
      (should (string-search "You\n/read_file path=big.txt" (countersign-live-chat-text project))))))

(defun countersign-live-model-piece (exchange text)
  "Let the model say TEXT on EXCHANGE, a chat completion."
  (countersign-fake-write
   exchange
   (format "data: %s\n\n"
           (decode-coding-string
            (countersign-json-write
             `((id . "c") (object . "chat.completion.chunk") (created . 1) (model . "m")
               (choices . [((index . 0) (delta . ((role . "assistant") (content . ,text)))
                            (finish_reason . :null))])))
            'utf-8))))

(defun countersign-live-model-end (exchange)
  "Let the model end its answer on EXCHANGE."
  (countersign-fake-write
   exchange (format "data: %s\n\ndata: [DONE]\n\n"
                    (countersign-json-write
                     '((id . "c") (object . "chat.completion.chunk") (created . 1) (model . "m")
                       (choices . [((index . 0) (delta) (finish_reason . "stop"))])))))
  (process-send-string (countersign-fake-exchange-connection exchange) "0\r\n\r\n"))

(ert-deftest countersign-live-streamed-answer-and-stop ()
  "[AG-3] An answer is seen while it is written; stop ends it."
  (countersign-live-with-project project root
    (let ((countersign-model "openai-compatible:scripted") (exchanges '()))
      (setq countersign-live--turns
            (make-list 2 (lambda (exchange) (push exchange exchanges) (countersign-fake-stream exchange))))
      (countersign-live-say project "Tell me something")
      (countersign-test-wait exchanges)
      (countersign-live-model-piece (car exchanges) "Once upon 🧪")
      (countersign-live-shows project "Agent\nOnce upon 🧪")
      (should-not (string-search "a time" (countersign-live-chat-text project)))
      (countersign-live-model-piece (car exchanges) " a time.\u202e")
      (countersign-live-shows project "Once upon 🧪 a time.⟨U\\+202E⟩")
      (countersign-live-model-end (car exchanges))
      (countersign-live-idle project)
      (countersign-live-say project "And then?")
      (countersign-test-wait (cdr exchanges))
      (countersign-live-model-piece (car exchanges) "And then the")
      (countersign-live-shows project "And then the")
      (switch-to-buffer (countersign-project-chat project))
      (countersign-test-press "C-c C-c")
      (countersign-live-idle project)
      (should-error (countersign-test-press "C-c C-c") :type 'user-error))))

(ert-deftest countersign-live-output-is-shown-as-it-comes ()
  "[RN-4] What a command prints is in its folded call."
  (countersign-live-with-project project root
    (write-region "console.log('hello from the script')\n" nil (expand-file-name "say.js" root) nil 'quiet)
    (countersign-live-say project "/run node say.js")
    (let ((pending (countersign-live-asked project)))
      (countersign-test-look project pending)
      (should (string-search "node say.js" (buffer-string)))
      (if (countersign-pending-high-p pending)
          (countersign-test-answering '("yes") (countersign-test-press "y"))
        (countersign-test-press "y")))
    (countersign-live-shows project "Ran node say.js")
    (countersign-live-idle project)
    (switch-to-buffer (countersign-project-chat project))
    (goto-char (point-min))
    (search-forward "▸ Ran")
    (countersign-test-press "TAB")
    (countersign-live-shows project "hello from the script")))

(ert-deftest countersign-live-a-message-is-queued-while-the-agent-works ()
  "What is sent during a run is queued by the server, shown, and taken at the next step."
  (countersign-live-with-project project root
    (countersign-live-say project "/edit_file path=config.json old=3000 new=8080")
    (let ((pending (countersign-live-asked project))
          (shown (lambda () (with-current-buffer (countersign-project-chat project)
                              (or (overlay-get countersign-chat--queue 'before-string) "")))))
      (countersign-live-say project "/list_directory path=.")
      (countersign-test-wait (string-search "Queued: /list_directory path=." (funcall shown)))
      ;; It can be taken back, changed and sent again; a reload still shows it.
      (countersign-test-press "C-c C-q")
      (countersign-test-wait (equal (countersign-chat-input) "/list_directory path=."))
      (countersign-test-wait (equal (funcall shown) ""))
      (countersign-chat--set-input "/read_file path=config.json")
      (countersign-test-press "RET")
      (countersign-test-wait (string-search "Queued: /read_file path=config.json" (funcall shown)))
      (countersign-chat-reload)
      (countersign-test-wait (null countersign-chat--loading))
      (should (string-search "Queued: /read_file path=config.json" (funcall shown)))
      (countersign-test-look project pending)
      (countersign-test-press "y")
      (countersign-live-shows project "Read config.json  lines: 1")
      (countersign-test-wait (equal (funcall shown) ""))
      (countersign-live-idle project)
      (should-not (string-search "list_directory" (countersign-live-chat-text project))))))

(ert-deftest countersign-live-accept-edits-is-a-mode ()
  "The mode of a conversation is switched at the server, and edits run unasked then."
  (countersign-live-with-project project root
    (switch-to-buffer (countersign-project-chat project))
    (countersign-test-answering '("Accept edits") (countersign-test-press "<backtab>"))
    (countersign-test-wait (string-search "Accept edits" (with-current-buffer (countersign-project-chat project)
                                                           (countersign-chat--header))))
    (countersign-live-say project "/edit_file path=config.json old=3000 new=8080")
    (countersign-live-shows project "▸ Edited config.json")
    (should-not (countersign-waiting))
    (should (equal (countersign-live-read root "config.json") "{\"port\": 8080}\n"))))

(ert-deftest countersign-live-token-refused ()
  "[RE-5] A token that the server does not take is told, and nothing is asked from a timer."
  (countersign-live-start)
  (countersign-test-with-clean-state
    (let* ((file (make-temp-file "authinfo" nil nil
                                 (format "machine 127.0.0.1 port %d login countersign password not-a-token\n"
                                         countersign-live--port)))
           (auth-sources (list file)) (auth-source-do-cache nil)
           (project (countersign-connect (countersign-live-workspace "refused") (countersign-live-address))))
      (countersign-test-wait (eq (countersign-project-state project) 'signed-out))
      (should (string-search "sign-in" (countersign-chat--state-words project)))
      (should-not (countersign-project-runner-process project))
      (delete-file file))))

(ert-deftest countersign-live-runner-ends-with-the-project ()
  "The runner is started by Emacs, and gone when the project is disconnected."
  (let (project runner)
    (countersign-live-with-project connected root
      (setq project connected runner (countersign-project-runner-process connected))
      (should (process-live-p runner))
      (should (member "--no-prompt" (process-command runner)))
      ;; Stopped and started again by commands.
      (countersign-stop-runner project)
      (countersign-test-wait (not (process-live-p runner)))
      (countersign-start-runner project)
      (setq runner (countersign-project-runner-process project))
      (countersign-live-say project "/read_file path=config.json")
      (countersign-live-shows project "Read config.json  lines:"))
    (countersign-test-wait (not (process-live-p runner)))))

(defun countersign-live-is-up (project)
  "Wait until PROJECT is connected with a runner."
  (countersign-test-until
   (lambda () (format "%s %s %s" (countersign-project-state project) (countersign-project-problem project)
                      (countersign-process--last-line project)))
   (lambda () (and (eq (countersign-project-state project) 'open) (countersign-project-runners project)))))

(ert-deftest countersign-live-up ()
  "[UI-4] M-x countersign without a server: the real `countersign up' for the project."
  (countersign-live-start)
  (skip-unless (file-exists-p (expand-file-name "apps/cli/src/up-command.ts" countersign-test-root)))
  (countersign-test-with-clean-state
    (let* ((countersign-program (countersign-live-program))
           (root (countersign-live-workspace "up"))
           (project (countersign-connect root)))
      (countersign-live-is-up project)
      (countersign-live-say project "/edit_file path=config.json old=3000 new=5555")
      (countersign-test-look project (countersign-live-asked project))
      (countersign-test-press "y")
      (countersign-live-shows project "Edited config.json")
      (should (equal (countersign-live-read root "config.json") "{\"port\": 5555}\n"))
      (let ((process (countersign-project-up-process project)))
        (countersign-disconnect project)
        (countersign-test-wait (not (process-live-p process)))))))

(defun countersign-live-m-x-countersign (root)
  "Do M-x countersign in a buffer of ROOT."
  (let ((default-directory (file-name-as-directory root)))
    (cl-letf (((symbol-function 'project-current) #'ignore))
      (call-interactively #'countersign))))

(ert-deftest countersign-live-up-is-started-again ()
  "[UI-3] After its `countersign up' died, M-x countersign starts it again; what was typed stays."
  (countersign-live-start)
  (countersign-test-with-clean-state
    (let* ((countersign-program (countersign-live-program))
           (countersign-model "manual")
           (root (countersign-live-workspace "dies"))
           (project (progn (countersign-live-m-x-countersign root) (countersign-project-at root)))
           (chat (countersign-project-chat project)))
      (countersign-live-is-up project)
      (countersign-live-say project "/read_file path=config.json")
      (countersign-live-shows project "Read config.json  lines:")
      (countersign-live-idle project)
      (with-current-buffer chat (goto-char (point-max)) (insert "a long draft"))
      ;; As the system kills it: nothing of it is left that could say something.
      (let ((process (countersign-project-up-process project)))
        (signal-process (- (process-id process)) 'SIGKILL)
        (countersign-test-wait (not (process-live-p process))))
      (countersign-test-wait (eq (countersign-project-state project) 'waiting))
      (with-current-buffer chat
        (should (string-search "`countersign up' has ended: M-x countersign starts it again"
                               (countersign-chat--header))))
      (countersign-live-m-x-countersign root)
      (should (eq (countersign-project-at root) project))
      (should (eq (window-buffer) chat))
      (countersign-live-is-up project)
      (should (equal (with-current-buffer chat (countersign-chat-input)) "a long draft"))
      (countersign-live-shows project "Read config.json  lines:")
      (with-current-buffer chat (countersign-chat--set-input ""))
      (countersign-live-say project "/edit_file path=config.json old=3000 new=5556")
      (countersign-test-look project (countersign-live-asked project))
      (countersign-test-press "y")
      (countersign-live-shows project "Edited config.json")
      (should (equal (countersign-live-read root "config.json") "{\"port\": 5556}\n"))
      (let ((process (countersign-project-up-process project)))
        (countersign-disconnect project)
        (countersign-test-wait (not (process-live-p process)))))))

(ert-deftest countersign-live-up-that-hangs-is-started-again ()
  "[UI-3] A server that lives and does not answer is replaced by M-x countersign; what was typed stays."
  (countersign-live-start)
  (countersign-test-with-clean-state
    (let* ((countersign-program (countersign-live-program))
           (root (countersign-live-workspace "hangs"))
           (project (progn (countersign-live-m-x-countersign root) (countersign-project-at root)))
           (chat (countersign-project-chat project))
           (hung (progn (countersign-live-is-up project) (countersign-project-up-process project))))
      (with-current-buffer chat (goto-char (point-max)) (insert "a long draft"))
      (signal-process (- (process-id hung)) 'SIGSTOP)
      (let ((countersign-stream-silence 0.3) (countersign-stream-pause 0.1)
            (stream (countersign-project-stream project)))
        (countersign-stream--connect stream)
        (countersign-test-wait (>= (countersign-stream-failures stream) 2)))
      (should (process-live-p hung))
      (let ((countersign-process-grace 1)) (countersign-live-m-x-countersign root))
      (countersign-test-wait (not (process-live-p hung)))
      (countersign-live-is-up project)
      (should-not (eq (countersign-project-up-process project) hung))
      (should (equal (with-current-buffer chat (countersign-chat-input)) "a long draft"))
      (let ((process (countersign-project-up-process project)))
        (countersign-disconnect project)
        (countersign-test-wait (not (process-live-p process)))))))

(ert-deftest countersign-live-up-of-another-program-is-replaced ()
  "[UI-3] Where another program had the server and ended, M-x countersign starts one."
  (countersign-live-start)
  (countersign-test-with-clean-state
    (let* ((countersign-program (countersign-live-program))
           (root (countersign-live-workspace "others"))
           (other (make-process :name "up in a terminal" :noquery t :connection-type 'pipe
                                :command (append countersign-program (list "up" "--json" "--no-open" root))
                                :filter (lambda (process text)
                                          (process-put process 'said (concat (process-get process 'said) text)))))
           (project nil))
      (unwind-protect
          (progn
            (countersign-test-until "the other one is there"
                                    (lambda () (string-search "\n" (or (process-get other 'said) ""))))
            (countersign-live-m-x-countersign root)
            (setq project (countersign-project-at root))
            (countersign-live-is-up project)
            (countersign-test-wait (not (process-live-p (countersign-project-up-process project))))
            (signal-process (- (process-id other)) 'SIGKILL)
            (countersign-test-wait (eq (countersign-project-state project) 'waiting))
            (countersign-live-m-x-countersign root)
            (countersign-live-is-up project)
            (should (process-live-p (countersign-project-up-process project))))
        (when (process-live-p other) (signal-process (- (process-id other)) 'SIGKILL))
        (when project
          (let ((process (countersign-project-up-process project)))
            (countersign-disconnect project)
            (countersign-test-wait (not (process-live-p process)))))))))

(ert-deftest countersign-live-a-failed-connection-keeps-the-draft ()
  "[UI-3] M-x countersign after a failure connects the same buffer, with what was typed."
  (countersign-live-start)
  (countersign-test-with-clean-state
    (let* ((countersign-program '("false"))
           (countersign-model "manual")
           (root (countersign-live-workspace "fails"))
           (project (progn (countersign-live-m-x-countersign root) (countersign-project-at root)))
           (chat (countersign-project-chat project)))
      (countersign-test-wait (eq (countersign-project-state project) 'failed))
      (with-current-buffer chat (goto-char (point-max)) (insert "typed too soon"))
      (let ((countersign-program (countersign-live-program)))
        (countersign-live-m-x-countersign root)
        (countersign-live-is-up project)
        (should (eq (window-buffer) chat))
        (should (equal (with-current-buffer chat (countersign-chat-input)) "typed too soon"))
        (let ((process (countersign-project-up-process project)))
          (countersign-disconnect project)
          (countersign-test-wait (not (process-live-p process))))))))

(ert-deftest countersign-live-a-runner-that-died-is-started-again ()
  "[UI-3] M-x countersign starts the runner again where it ended by itself."
  (countersign-live-with-project project root
    (let ((before (countersign-project-runner-process project)))
      (signal-process (- (process-id before)) 'SIGKILL)
      (countersign-test-wait (not (process-live-p before)))
      (let ((countersign-server (countersign-live-address)))
        (countersign-live-m-x-countersign root))
      (setq runner (countersign-project-runner-process project))
      (should-not (eq runner before))
      (should (process-live-p runner))
      (countersign-live-is-up project))))

;;; countersign-live-test.el ends here
