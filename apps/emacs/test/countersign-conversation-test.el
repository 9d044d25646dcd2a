;;; countersign-conversation-test.el --- Markdown, results, index, menu, queue, windows  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Code:

(require 'imenu)
(require 'countersign-test-helper)
(require 'countersign-menu)
(require 'countersign-buffers-test)

(defun countersign-test-face-at (text wanted)
  "Return the faces of the first place in TEXT where WANTED is, as a list."
  (let ((face (get-text-property (or (string-search wanted text) (ert-fail (format "no %s in %s" wanted text))) 'face text)))
    (if (and (listp face) (not (keywordp (car face)))) (or face (list nil)) (list face))))

(defun countersign-test-shown (text)
  "Return TEXT as it is displayed, without what is invisible."
  (let ((shown "") (position 0))
    (while (< position (length text))
      (let ((next (next-single-property-change position 'invisible text (length text))))
        (unless (get-text-property position 'invisible text)
          (setq shown (concat shown (substring-no-properties text position next))))
        (setq position next)))
    shown))

;;;; Markdown

(ert-deftest countersign-markdown-draws-a-message ()
  "Headings, emphasis, code in its mode, lists; the text itself stays."
  (let* ((text "# Title\n\nA **bold** and *slanted* word, `code`, ~~gone~~.\n\n- item\n> quoted\n\n```python\ndef f(): return 1\n```\nsee [docs](https://x.org)")
         (drawn (countersign-markdown text)))
    (should (equal (substring-no-properties drawn) text))
    (should (memq 'countersign-markdown-heading (countersign-test-face-at drawn "Title")))
    (should (memq 'bold (countersign-test-face-at drawn "bold")))
    (should (memq 'italic (countersign-test-face-at drawn "slanted")))
    (should (memq 'countersign-markdown-code (countersign-test-face-at drawn "code")))
    (should (memq 'font-lock-keyword-face (countersign-test-face-at drawn "def")))
    (should (string-search "A bold and slanted word, code, gone." (countersign-test-shown drawn)))
    ;; The address of a link stays in sight, and cannot be followed.
    (should (string-search "[docs](https://x.org)" (countersign-test-shown drawn)))
    (let ((position 0))
      (while (setq position (next-property-change position drawn))
        (should-not (cl-set-difference (cl-loop for (name) on (text-properties-at position drawn) by #'cddr collect name)
                                       '(face invisible)))))))

(ert-deftest countersign-markdown-hides-only-signs ()
  "Names, addresses and signs after a backslash keep every character that belongs to them."
  (pcase-dolist (`(,text ,shown)
                 '(("set foo__bar__baz and snake_case_name to __main__" "set foo__bar__baz and snake_case_name to main")
                   ("**keep my__own__name** and _this_" "keep my__own__name and this")
                   ("***both*** \\*not\\* 2 * 3 * 4" "both *not* 2 * 3 * 4")
                   ("see https://x.org/__a__/*b*" "see https://x.org/__a__/*b*")
                   ("``a`b`` **open __mixed**" "a`b open __mixed")))
    (should (equal (countersign-test-shown (countersign-markdown text)) shown)))
  (should (equal (countersign-test-face-at (countersign-markdown "***both***") "both") '(bold italic))))

(ert-deftest countersign-markdown-aligns-tables ()
  "Columns are as wide as their widest cell as it is displayed, and keep their alignment."
  (should (equal (countersign-test-shown
                  (countersign-markdown "| name | n |\n|---|--:|\n| **long name** | 1 |\n| `a|b` | 200 |\n| ü |\nafter"))
                 "│ name      │   n │\n├───────────┼─────┤\n│ long name │   1 │\n│ a|b       │ 200 │\n│ ü         │     │\nafter"))
  ;; The outer bars may be missing.
  (should (equal (countersign-test-shown (countersign-markdown "a | b\n--- | :-:\nlong | 2\n\nafter"))
                 "│ a    │  b  │\n├──────┼─────┤\n│ long │  2  │\n\nafter"))
  ;; Bars without a rule below them are text.
  (dolist (text '("| a | b |\nno rule" "a | b\n---" "one\n--- | ---"))
    (should (equal (substring-no-properties (countersign-markdown text)) text))))

(ert-deftest countersign-markdown-bears-rubbish ()
  "Whatever comes is drawn, in little processor time, and nothing of it is lost."
  (let ((start (float-time (get-internal-run-time))))
    (dolist (text (list "" "```" "```\n" "```python" "****" "**" "| |\n|-|" "|\n|-|\n|" "#" "[](" "`" "`` ` ``" "~~~x\n```\n~~~"
                        (apply #'concat (make-list 400 "**a ")) (make-string 900 ?*) (make-string 900 ?`)
                        (apply #'concat (make-list 1300 "**a")) (apply #'concat (make-list 60000 "*a "))
                        (concat "|" (make-string 300 ?|) "\n|-|\n")
                        (mapconcat #'identity (make-list 2000 "- **x** `y`") "\n")))
      (let ((drawn (countersign-markdown text)))
        (unless (string-prefix-p "|" text) (should (equal (substring-no-properties drawn) text)))))
    ;; Text that needs quadratic time would take minutes.
    (should (< (- (float-time (get-internal-run-time)) start) 10))))

(ert-deftest countersign-markdown-code-runs-nothing ()
  "[UI-6] Code of a message starts no mode that is not listed, runs no hook, and sets no variable."
  (let* ((ran nil) (python-mode-hook (list (lambda () (setq ran 'hook)))) (prog-mode-hook (list (lambda () (setq ran 'prog))))
         (enable-local-variables :all) (enable-local-eval t))
    (countersign-markdown "```python\n# -*- eval: (setq countersign-test-owned t) -*-\nx = 1\n```\n```dired\n/\n```\n```countersign-chat\nx\n```")
    (should-not ran)
    (should-not (boundp 'countersign-test-owned))
    (should-not (countersign-fontify-mode "dired"))
    (should-not (countersign-fontify-mode "countersign-chat"))
    (let ((countersign-code-modes '((countersign-test-failing-mode "fails"))))
      (defalias 'countersign-test-failing-mode (lambda () (error "No")))
      (should (equal (countersign-markdown "```fails\nx\n```") "```fails\nx\n```")))))

(ert-deftest countersign-chat-fontifies-what-is-streamed ()
  "[EV-4] Complete lines are fontified while an answer is written, and all at the end."
  (countersign-test-with-chat project
    (countersign-test-say project "message.created" '(message_id . "m") '(role . "assistant") '(content . "") '(complete . :false))
    (countersign-test-say project "message.delta" '(message_id . "m") '(offset . 0) '(text . "# Ti"))
    (countersign-test-pass 0.6)
    (countersign-test-say project "message.delta" '(message_id . "m") '(offset . 4) '(text . "tle\n**bo"))
    (should (memq 'countersign-markdown-heading (countersign-test-face-at (buffer-string) "Title")))
    (countersign-test-say project "message.delta" '(message_id . "m") '(offset . 12) '(text . "ld**"))
    (should (string-search "Agent\n# Title\n**bold**\n> " (buffer-string)))
    (countersign-test-say project "message.created" '(message_id . "m") '(role . "assistant")
                          '(content . "# Title\n**bold**") '(complete . t))
    (should (memq 'bold (countersign-test-face-at (buffer-string) "bold")))
    ;; What a person wrote stays as it was typed.
    (countersign-test-say project "message.created" '(message_id . "u") '(role . "user") '(content . "**mine**") '(complete . t))
    (should (equal (countersign-test-face-at (buffer-string) "mine") '(nil)))))

;;;; Results

(defun countersign-test-result (tool params result)
  "Return RESULT of TOOL with PARAMS as it is drawn."
  (with-temp-buffer
    (countersign-result-insert tool params result)
    (buffer-string)))

(ert-deftest countersign-result-draws-every-result-of-the-fixtures ()
  "Results of all tools are drawn for what they are: none as JSON."
  (dolist (file (directory-files (expand-file-name "packages/protocol/fixtures/tools" countersign-test-root) nil "\\.json\\'"))
    (let* ((tool (file-name-sans-extension file))
           (examples (countersign-test-fixture (concat "tools/" file)))
           (params (car (countersign-list-of examples 'params))))
      (dolist (result (countersign-list-of examples 'success))
        (let ((drawn (countersign-test-result tool params result)))
          (should-not (string-search "\"success\"" drawn))
          (should (string-suffix-p "\n" drawn)))))))

(ert-deftest countersign-result-is-readable ()
  "Listings, matches, status, commits, problems and places, each as people know them."
  (pcase-dolist (`(,tool ,params ,result ,wanted)
                 '(("list_directory" ((path . ".")) ((files . [((path . "src") (type . "directory")) ((path . "a.md") (type . "file") (size . 7))]))
                    "  src/\n  a.md  7 B\n")
                   ("list_directory" ((path . ".")) ((files . [])) "  (nothing)\n")
                   ("search_files" ((content . "TODO")) ((files . [((path . "a.ts") (matches . [((line . 14) (text . "  // TODO: x"))]))]) (truncated . t))
                    "  a.ts\n    14: // TODO: x\n  There is more than is shown here.\n")
                   ("git_status" nil ((branch . "main") (upstream . "origin/main") (ahead . 1) (behind . 0)
                                      (files . [((path . "b") (old_path . "a") (staged . "renamed") (unstaged . :null))
                                                ((path . "c") (staged . :null) (unstaged . "untracked"))]))
                    "  main  origin/main  +1 -0\n  R  a → b\n   ? c\n")
                   ("git_log" nil ((commits . [((id . "4f9c2d1aa") (date . "2026-02-20T18:03:11+01:00") (author . "Ada") (subject . "Raise"))]))
                    "  4f9c2d1a  2026-02-2…  Ada  Raise\n")
                   ("diagnostics" nil ((diagnostics . [((line . 14) (col . 3) (severity . "error") (message . "No name") (text . " x"))]))
                    "  14:3 error No name\n    x\n")
                   ("shell_kill" ((job_id . "j")) ((success . t) (exit_code . 3)) "  Ended with exit code 3\n")
                   ("shell_kill" ((job_id . "j")) ((success . t) (exit_code . :null)) "  Ended by a signal\n")
                   ("reach_host" ((host . "h")) ((success . t) (host . "h")) "  The command may reach h\n")
                   ("definition" nil ((locations . [((path . "a.ts") (line . 3) (text . "function f"))])) "  a.ts:3: function f\n")
                   ("git_push" nil ((remote . "origin") (branch . "main") (from . "aaa") (to . "bbb")) "  main → origin  aaa..bbb\n")))
    (should (equal (list tool (substring-no-properties (countersign-test-result tool params result))) (list tool wanted))))
  (should (equal (countersign-test-face-at (countersign-test-result "search_files" '((content . "TODO"))
                                                                    '((files . [((path . "a") (matches . [((line . 1) (text . "x TODO"))]))])))
                                           "TODO")
                 '(match)))
  ;; Unknown shapes are JSON, and so are known ones that are broken.
  (should (string-search "\"surprise\": 1" (countersign-test-result "x" nil '((surprise . 1)))))
  (should (string-search "\"staged\": 5" (countersign-test-result "git_status" nil '((branch . "main") (files . [((path . "a") (staged . 5))]))))))

(ert-deftest countersign-result-output-has-its-colours ()
  "[UI-6] ANSI colours are drawn; every other control character is shown as text."
  (let ((drawn (countersign-test-result "execute_command" nil
                                        '((stdout . "\e[31mFAIL\e[0m \e[2Jx\e]0;owned\a\r\n50%\r100%\n") (stderr . "oops") (exit_code . 1)))))
    (should (equal (substring-no-properties drawn)
                   "  FAIL ⟨U+001B⟩[2Jx⟨U+001B⟩]0;owned⟨U+0007⟩\n  50%\n  100%\n  oops\n  (exit code 1)\n"))
    (should (equal (countersign-test-face-at drawn "FAIL") '((:foreground "red3"))))
    (should (equal (countersign-test-face-at drawn "⟨U+001B⟩[2J") '(nil)))))

(ert-deftest countersign-result-long-output-shows-its-end ()
  "The end of a long output is shown first; C-c C-o shows all of it."
  (countersign-test-with-chat project
    (let ((output (mapconcat (lambda (n) (format "row %d" n)) (number-sequence 1 9000) "\n")))
      (countersign-test-say project "tool.call" '(tool_id . "t") '(tool_name . "execute_command")
                            '(tool_params . ((command . "seq"))) '(status . "executing"))
      (countersign-test-say project "tool.result" '(tool_id . "t") '(tool_name . "execute_command") '(status . "completed")
                            '(exit_code . 0) `(result . ((stdout . ,output) (stderr . "") (exit_code . 0))))
      (goto-char (point-min))
      (countersign-test-press "TAB")
      (should (string-search "  row 9000\n" (buffer-string)))
      (should-not (string-search "row 10\n" (buffer-string)))
      (should (string-match-p "… [0-9]+ characters before this; C-c C-o shows all" (buffer-string)))
      (countersign-test-press "C-c C-o")
      (should (string-prefix-p "row 1\nrow 2\n" (buffer-string)))
      (should buffer-read-only))))

;;;; Calls

(ert-deftest countersign-call-one-line-says-it-all ()
  "What it did, what came of it, how long, who decided; after a reload it is the same."
  (countersign-test-with-chat project
    (let* ((preview '((kind . "diff") (files . [((path . "config.json") (operation . "modified")
                                                 (diff . "--- a/config.json\n+++ b/config.json\n@@ -1 +1,2 @@\n-a\n+b\n+++c\n"))])))
           (call '((tool_id . "t1") (tool_name . "edit_file") (tool_params . ((path . "config.json") (old . "a") (new . "b\n++c")))
                   (approval_id . "a1") (created_at . "2026-01-01T00:00:01Z")))
           (line "▸ Edited config.json  \\+2 −1  2\\.3 s  You approved this in VS Code\n"))
      (countersign-test-say project "tool.call" '(tool_id . "t1") '(tool_name . "edit_file") '(status . "awaiting_approval")
                            '(tool_params . ((path . "config.json") (old . "a") (new . "b\n++c"))))
      (countersign-test-say project "approval.updated" '(tool_id . "t1") '(approval_id . "a1") `(preview . ,preview)
                            '(tool_params . ((path . "config.json") (old . "a") (new . "b\n++c"))))
      (countersign-test-say project "approval.resolved" '(tool_id . "t1") '(approval_id . "a1") '(status . "approved")
                            '(device . "VS Code"))
      (countersign-test-say project "tool.result" '(tool_id . "t1") '(tool_name . "edit_file") '(status . "completed")
                            '(execution_time_ms . 2310)
                            '(result . ((path . "config.json") (size . 3) (changed_files . [((path . "config.json") (operation . "modified"))]))))
      (should (string-match-p line (buffer-string)))
      (goto-char (point-min))
      (countersign-test-press "TAB")
      (should (equal (countersign-test-face-at (buffer-string) "-a\n") '(diff-removed)))
      (should-not (string-search "old =" (buffer-string)))
      (countersign-test-press "TAB")
      (setf (countersign-fake-handler fake)
            (lambda (exchange)
              (countersign-fake-answer
               exchange 200
               (countersign-json-write
                (if (string-search "/tools/history" (countersign-fake-exchange-path exchange))
                    `((success . t) (next_cursor . :null)
                      (executions . [((status . "completed") (execution_time_ms . 2310)
                                      (decision . ((status . "approved") (scope . "once") (device . "VS Code"))) ,@call)]))
                  '((success . t) (next_cursor . :null) (messages . [])))))))
      (countersign-chat-reload)
      (countersign-test-wait (null countersign-chat--loading))
      (should (string-match-p line (buffer-string)))
      ;; Also in a buffer that never saw it happen; the diff is fetched when it is unfolded.
      (countersign-chat--clear)
      (countersign-chat-reload)
      (countersign-test-wait (null countersign-chat--loading))
      (should (string-match-p "▸ Edited config.json  2\\.3 s  You approved this in VS Code\n" (buffer-string))))))

(ert-deftest countersign-call-after-a-reload-has-its-result ()
  "Results come from the messages of the session: amounts and the end of a failure are there again."
  (countersign-test-with-chat project
    (countersign-chat--show
     '(((message_id . "m1") (role . "tool") (tool_id . "t1") (created_at . "2026-01-01T00:00:02Z") (complete . t)
        (content . "{\"status\":\"success\",\"result\":{\"stdout\":\"bad\\nworse\",\"stderr\":\"\",\"exit_code\":2}}"))
       ((message_id . "m2") (role . "user") (content . "again") (created_at . "2026-01-01T00:00:03Z") (complete . t)))
     '(((tool_id . "t1") (tool_name . "execute_command") (tool_params . ((command . "make"))) (status . "completed") (exit_code . 2)
        (approved_by . "user") (created_at . "2026-01-01T00:00:01Z"))))
    (should (equal (buffer-substring-no-properties (point-min) (point-max))
                   "▸ Ran make  exit 2  You approved this\n  bad\n  worse\n\nYou\nagain\n\n> "))
    (countersign-test-press "M-p")
    (should (equal (countersign-chat-input) "again"))
    ;; What was shortened for the model is not shown to a person.
    (countersign-chat--clear)
    (countersign-chat--show
     '(((message_id . "m1") (role . "tool") (tool_id . "t1") (created_at . "2026-01-01T00:00:02Z") (complete . t)
        (content . "{\"status\":\"success\",\"result\":{\"content\":\"a\\n[… 5 characters are left out here; ask for a part of it …]\\nb\"}}")))
     '(((tool_id . "t1") (tool_name . "read_file") (tool_params . ((path . "a"))) (status . "completed")
        (created_at . "2026-01-01T00:00:01Z"))))
    (should (string-search "▸ Read a\n" (buffer-string)))))

(ert-deftest countersign-call-states-have-their-words ()
  "Blocked by a policy, not started, failed with a message: each says so in its line."
  (countersign-test-with-chat project
    (cl-flet ((line (&rest fields)
                (countersign-chat--clear)
                (apply #'countersign-test-say project "tool.call" '(tool_id . "t") '(tool_name . "execute_command")
                       '(tool_params . ((command . "rm") (args . ["-rf" "/"]))) fields)
                (substring-no-properties (buffer-string) 0 (- (buffer-size) 3))))
      (should (equal (line '(status . "failed") '(error . ((code . "COMMAND_NOT_ALLOWED") (message . "Not allowed."))))
                     "▸ Run rm -rf /  blocked\n  Not allowed. [COMMAND_NOT_ALLOWED]\n"))
      (should (equal (line '(status . "failed") '(error . ((code . "RUNNER_LOST") (message . "Lost."))))
                     "▸ Run rm -rf /  failed\n  Lost. [RUNNER_LOST]\n"))
      (should (equal (line '(status . "failed") '(error . ((code . "EDIT_NO_MATCH")
                                                           (message . "The text to replace does not occur in \"a\". Read the file again and copy it exactly."))))
                     "▸ Run rm -rf /  failed\n  The text to replace does not occur in \"a\". [EDIT_NO_MATCH]\n"))
      (should (equal (line '(status . "cancelled") '(not_started . t)
                           '(error . ((code . "EXECUTION_CANCELLED") (message . "You stopped this run.")))
                           '(decision . ((status . "cancelled"))))
                     "▸ Run rm -rf /  not started\n"))
      (should (equal (line '(status . "cancelled") '(execution_time_ms . 65000)) "▸ Run rm -rf /  cancelled  1:05\n"))
      (should (equal (line '(status . "timeout")) "▸ Run rm -rf /  expired\n"))
      (should (equal (line '(tool_name . "github__open") '(status . "executing")) "▸ Running rm -rf /  …\n"))))
  (let ((countersign-language 'ru))
    (countersign-test-with-chat project
      (countersign-test-say project "tool.call" '(tool_id . "t") '(tool_name . "list_directory")
                            '(tool_params . ((path . "."))) '(status . "completed"))
      (should (string-match-p "▸ .*корень проекта" (buffer-string))))))

(ert-deftest countersign-call-that-a-stop-came-before-is-not-started ()
  "After a stop, calls of the message that never began are shown as such."
  (countersign-test-with-chat project
    (countersign-test-say project "message.created" '(message_id . "m") '(role . "assistant") '(content . "I will.") '(complete . t)
                          '(tool_calls . [((tool_call_id . "c1") (tool_id . "t1") (tool_name . "read_file") (tool_params . ((path . "a"))))
                                          ((tool_call_id . "c2") (tool_id . :null) (tool_name . "delete_file") (tool_params . ((path . "b")))
                                           (not_started . t))]))
    (should (equal (buffer-substring-no-properties (point-min) (point-max))
                   "Agent\nI will.\n\n▸ Delete b  not started\n\n> "))))

;;;; Index, history of messages, export

(defun countersign-test-conversation (project)
  "Let a short conversation happen in PROJECT."
  (countersign-test-say project "message.created" '(message_id . "m1") '(role . "user") '(content . "Raise the port") '(complete . t))
  (countersign-test-say project "tool.call" '(tool_id . "t1") '(tool_name . "read_file") '(tool_params . ((path . "a"))) '(status . "completed"))
  (countersign-test-say project "message.created" '(message_id . "m2") '(role . "assistant") '(complete . t)
                        '(content . "## Found\n\n```sh\n# no heading\n```\n### Next")))

(ert-deftest countersign-chat-has-an-index ()
  "`imenu' finds messages, headings and calls."
  (countersign-test-with-chat project
    (countersign-test-conversation project)
    (let ((index (funcall imenu-create-index-function)))
      (should (equal (mapcar (lambda (group) (cons (car group) (mapcar #'car (cdr group)))) index)
                     '(("Messages" "Raise the port") ("Headings" "Found" "Next") ("Calls" "▸ Read a"))))
      (imenu (assoc "Next" (cdr (assoc "Headings" index))))
      (should (looking-at-p "### Next")))))

(ert-deftest countersign-chat-exports-markdown ()
  "The conversation as Markdown, in a buffer of its own."
  (countersign-test-with-chat project
    (countersign-test-conversation project)
    (countersign-chat-export)
    (should (equal (buffer-substring-no-properties (point-min) (point-max))
                   "**You**\n\nRaise the port\n\n- Read a\n\n**Agent**\n\n## Found\n\n```sh\n# no heading\n```\n### Next\n\n"))))

(ert-deftest countersign-chat-recalls-messages-and-keeps-the-draft ()
  "M-p goes back through the messages, M-n comes back to what was being typed."
  (countersign-test-with-chat project
    (dolist (text '("one" "two" "two")) (countersign-chat--remember text))
    (goto-char (point-max))
    (insert "draft")
    (pcase-dolist (`(,key ,wanted) '(("M-p" "two") ("M-p" "one") ("M-p" "one") ("M-n" "two") ("M-n" "draft")))
      (countersign-test-press key)
      (should (equal (list key (countersign-chat-input)) (list key wanted))))))

;;;; Sending code

(defmacro countersign-test-with-code (project file &rest body)
  "Run BODY in a buffer that visits FILE of PROJECT, whose chat is open."
  (declare (indent 2) (debug t))
  `(let ((root (file-truename (make-temp-file "countersign" t))))
     (unwind-protect
         (countersign-test-with-approvals ,project fake
           (setf (countersign-project-root ,project) root)
           (countersign-chat-buffer ,project)
           (make-directory (expand-file-name "src" root))
           (write-region "(defun a ()\n  1)\n\n(defun b ()\n  \"```\")\n" nil (expand-file-name ,file root) nil 'quiet)
           (cl-letf (((symbol-function 'project-current) (lambda (&rest _) (cons 'transient root)))
                     ((symbol-function 'project-root) (lambda (_) root)))
             (find-file (expand-file-name ,file root))
             (unwind-protect (progn ,@body)
               (kill-buffer (get-file-buffer (expand-file-name ,file root))))))
       (delete-directory root t))))

(ert-deftest countersign-send-quotes-in-the-draft ()
  "A region or a function is quoted with its place; what was typed stays, and nothing is sent."
  (countersign-test-with-code project "src/a.el"
    (with-current-buffer (countersign-project-chat project) (goto-char (point-max)) (insert "Look:"))
    (goto-char (point-min))
    (countersign-send-region (point-min) (line-end-position 2))
    (should (derived-mode-p 'countersign-chat-mode))
    (should (eobp))
    (should (equal (countersign-chat-input) "Look:\nsrc/a.el:1-2\n```elisp\n(defun a ()\n  1)\n```\n"))
    (countersign-chat--set-input "")
    (set-buffer (get-file-buffer (expand-file-name "src/a.el" root)))
    (goto-char (point-max))
    (forward-line -1)
    (countersign-send-defun)
    ;; A fence in the code needs a longer one around it.
    (should (equal (with-current-buffer (countersign-project-chat project) (countersign-chat-input))
                   "src/a.el:4-5\n````elisp\n(defun b ()\n  \"```\")\n````\n"))
    (should-not (countersign-fake-exchanges fake))
    (set-buffer (get-file-buffer (expand-file-name "src/a.el" root)))
    (should-error (countersign-send-region 3 3) :type 'user-error)))

(ert-deftest countersign-send-at-once ()
  "With a prefix argument the task is asked for, and both are sent."
  (countersign-test-with-code project "src/a.el"
    (with-current-buffer (countersign-project-chat project) (setq countersign-chat--session "s1"))
    (goto-char (point-min))
    (countersign-test-answering '("Explain this") (countersign-send-defun t))
    (countersign-test-wait (countersign-fake-exchanges fake))
    (should (equal (countersign-get (cdr (countersign-test-sent fake)) 'content)
                   "Explain this\n\nsrc/a.el:1-2\n```elisp\n(defun a ()\n  1)\n```"))))

;;;; Choosing

(ert-deftest countersign-choose-shows-its-choices ()
  "All choices are shown before a key is pressed, in their order, with notes."
  (let ((shown nil))
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt table &rest _)
                 (with-temp-buffer
                   (setq-local minibuffer-completion-table table)
                   (cl-letf (((symbol-function 'minibuffer-completion-help) (lambda (&rest _) (setq shown (all-completions "" table)))))
                     (run-hooks 'minibuffer-setup-hook)))
                 (should (equal (funcall (cdr (assq 'annotation-function (cdr (funcall table "" nil 'metadata)))) "2 b") "  careful"))
                 "2 b")))
      (should (equal (countersign-choose "Which: " '(("1 z" . first) ("2 b" . second))
                                         (lambda (value) (and (eq value 'second) "careful")))
                     'second))
      (should (equal shown '("1 z" "2 b"))))))

;;;; The menu

(ert-deftest countersign-menu-has-every-command ()
  "The menu offers every command of M-x, and those of a conversation only there."
  (let ((offered (mapcar (lambda (suffix) (plist-get (nth 2 suffix) :command))
                         (cl-loop for column in (append (aref (car (get 'countersign-menu 'transient--layout)) 3) nil)
                                  append (aref column 3)))))
    (dolist (command '(countersign countersign-approval-next countersign-approvals countersign-sign-in countersign-disconnect
                                   countersign-start-runner countersign-stop-runner countersign-show-log
                                   countersign-send-region countersign-send-defun countersign-chat-stop
                                   countersign-chat-undo countersign-chat-switch-mode))
      (should (memq command offered)))
    (dolist (command offered) (should (commandp command)))
    (with-temp-buffer (should-not (countersign-menu--in-chat-p)))))

;;;; Windows

(ert-deftest countersign-approval-windows-come-back ()
  "After the last decision the windows are as they were; what a person opened meanwhile stays."
  (countersign-test-with-approvals project fake
    (let ((one (get-buffer-create "*countersign test one*")) (two (get-buffer-create "*countersign test two*"))
          (state (lambda () (mapcar (lambda (window) (cons (buffer-name (window-buffer window)) (window-edges window)))
                                    (window-list nil 'nomini (frame-first-window))))))
      (delete-other-windows)
      (switch-to-buffer one)
      (set-window-buffer (split-window-right) two)
      (let ((before (funcall state))
            (first (countersign-test-arrive project (countersign-test-approval '(approval_id . "a1"))))
            (second (countersign-test-arrive project (countersign-test-approval '(approval_id . "a2")))))
        (countersign-test-look project first)
        (should-not (equal (funcall state) before))
        (countersign-test-press "?")
        (countersign-approval-visit project first)
        (countersign-test-wait (countersign-approval-armed-p))
        (countersign-test-press "y")
        ;; The next card is current.
        (countersign-test-wait (eq (window-buffer) (countersign-approval--buffer second)))
        (countersign-test-wait (countersign-approval-armed-p))
        (countersign-test-press "y")
        (countersign-test-wait (null (countersign-waiting)))
        (should (equal (funcall state) before))
        (should (eq (window-buffer) one)))
      ;; The person shows another buffer while a card is there: it stays.
      (let ((third (countersign-test-arrive project (countersign-test-approval '(approval_id . "a3")))))
        (countersign-test-look project third)
        (set-window-buffer (get-buffer-window two) (get-buffer-create "*countersign test three*"))
        (countersign-test-press "q")
        (should (get-buffer-window "*countersign test three*"))))))

(ert-deftest countersign-approval-a-card-settled-elsewhere-is-put-away ()
  "[AP-2] The window of a card that was decided elsewhere goes by itself, after it could be read."
  (countersign-test-with-approvals project fake
    (delete-other-windows)
    (let ((countersign-approval-read-time 0.2)
          (pending (countersign-test-arrive project (countersign-test-approval))))
      (should (= (count-windows) 2))
      (countersign-project-receive project "approval.resolved"
                                   `((approval_id . ,(countersign-pending-id pending)) (status . "approved") (device . "phone")))
      (should (= (count-windows) 2))
      (countersign-test-wait (= (count-windows) 1)))))

(ert-deftest countersign-approval-a-card-that-was-read-is-never-too-quick ()
  "[UI-6] The half second counts while the card is in sight in another window, too."
  (countersign-test-with-approvals project fake
    (delete-other-windows)
    (let* ((pending (countersign-test-arrive project (countersign-test-approval)))
           (window (get-buffer-window (countersign-approval--buffer pending))))
      (countersign-approval--attend)
      (countersign-test-wait (member (countersign-approval--attention window) countersign-approval--armed))
      (select-window window)
      (countersign-test-press "y")
      (countersign-test-wait (null (countersign-waiting)))
      (should (string-suffix-p "/approve" (car (countersign-test-sent fake)))))))

;;;; The queue and the mode

(ert-deftest countersign-chat-queues-while-the-agent-works ()
  "A message is queued, shown, taken back into the input, and sent now."
  (countersign-test-with-chat project
    (goto-char (point-max))
    (insert "and then")
    (countersign-test-press "RET")
    (countersign-test-wait (countersign-fake-exchanges fake))
    (should (equal (countersign-get (cdr (countersign-test-sent fake)) 'when_busy) "queue"))
    (goto-char (point-max))
    (insert "at once")
    (let ((current-prefix-arg '(4))) (countersign-test-press "RET"))
    (countersign-test-wait (cdr (countersign-fake-exchanges fake)))
    (should (equal (countersign-get (cdr (countersign-test-sent fake)) 'when_busy) "send_now"))
    (cl-flet ((shown () (or (overlay-get countersign-chat--queue 'before-string) ""))
              (queue (&rest texts)
                (countersign-test-say project "queue.changed"
                                      `(queued . ,(vconcat (cl-loop for text in texts for n from 1
                                                                    collect `((message_id . ,(format "q%d" n)) (content . ,text)
                                                                              (when_busy . "queue"))))))))
      (should-error (countersign-test-press "C-c C-q") :type 'user-error)
      (queue "first\e[2J" "second")
      (should (string-search "Queued: first⟨U+001B⟩[2J\nQueued: second\n" (shown)))
      ;; It is no text: what is typed and sent is below the prompt.
      (should (equal (countersign-chat-input) ""))
      (countersign-test-conversation project)
      (should (= (overlay-start countersign-chat--queue) (marker-position countersign-chat--end)))
      (countersign-test-answering '("second") (countersign-test-press "C-c C-f"))
      (countersign-test-wait (string-suffix-p "/chat/queue/q2/send" (car (countersign-test-sent fake))))
      (queue "first")
      (goto-char (point-max))
      (insert "typed")
      (countersign-test-press "C-c C-q")
      (countersign-test-wait (equal (countersign-chat-input) "first\ntyped"))
      (should (equal (countersign-fake-exchange-method (car (countersign-fake-exchanges fake))) "DELETE"))
      (queue)
      (should (equal (shown) ""))
      ;; A text that was too large for the event is read before it can be taken back.
      (setf (countersign-fake-handler fake)
            (lambda (exchange)
              (countersign-fake-answer
               exchange 200
               (if (string-search "/chat/messages" (countersign-fake-exchange-path exchange))
                   "{\"success\":true,\"messages\":[],\"next_cursor\":null,\"queued\":[{\"message_id\":\"q1\",\"content\":\"large\",\"when_busy\":\"queue\"}]}"
                 "{\"success\":true,\"executions\":[],\"next_cursor\":null}"))))
      (countersign-test-say project "queue.changed"
                            '(queued . [((message_id . "q1") (content . "") (omitted . ["content"]) (when_busy . "queue"))]))
      (countersign-test-wait (string-search "Queued: large\n" (shown))))))

(ert-deftest countersign-chat-shows-and-switches-the-mode ()
  "The mode of the conversation is in the header, and S-TAB changes it."
  (countersign-test-with-chat project
    (should (string-search "·  Ask  ·" (countersign-chat--header)))
    (setf (countersign-fake-handler fake)
          (lambda (exchange)
            (countersign-fake-answer exchange 200 "{\"success\":true,\"session\":{\"session_id\":\"s1\",\"title\":\"T\",\"mode\":\"read_only\"}}")))
    (countersign-test-answering '("Read only") (countersign-test-press "<backtab>"))
    (countersign-test-wait (string-search "·  T  ·  Read only  ·" (countersign-chat--header)))
    (should (equal (cdr (countersign-test-sent fake)) '((mode . "read_only"))))
    (countersign-project-receive project "session.changed" '((session . ((session_id . "s1") (title . "T") (mode . "accept_edits")))))
    (should (string-search "Accept edits" (countersign-chat--header)))
    (countersign-project-receive project "session.changed" '((session . ((session_id . "s2") (title . "Other") (mode . "ask")))))
    (should (string-search "Accept edits" (countersign-chat--header)))
    (countersign-chat-rename-session " New ")
    (countersign-test-wait (equal (cdr (countersign-test-sent fake)) '((title . "New"))))
    ;; Deleted elsewhere: a new conversation, with what was typed.
    (countersign-test-conversation project)
    (goto-char (point-max))
    (insert "draft")
    (countersign-project-receive project "session.changed" '((deleted . t) (session . ((session_id . "s1") (title . "T")))))
    (should-not countersign-chat--session)
    (should (equal (buffer-substring-no-properties (point-min) (point-max)) "> draft"))))

(ert-deftest countersign-chat-of-a-disconnected-project-is-used-again ()
  "What was typed stays when a project is disconnected and connected again."
  (countersign-test-with-chat project
    (goto-char (point-max))
    (insert "my draft")
    (let ((chat (current-buffer)))
      (countersign-disconnect project)
      (let ((again (countersign-fake-project (countersign-project-root project) fake)))
        (should (eq (countersign-chat-buffer again) chat))
        (should (eq (countersign-project-chat again) chat))
        (should (equal (with-current-buffer chat (countersign-chat-input)) "my draft"))))))

(provide 'countersign-conversation-test)

;;; countersign-conversation-test.el ends here
