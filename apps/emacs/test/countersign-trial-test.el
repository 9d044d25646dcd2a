;;; countersign-trial-test.el --- Trials, and what commands changed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Code:

(require 'countersign-test-helper)

(defun countersign-trial-test-runner (project &rest capabilities)
  "Connect a runner with CAPABILITIES to PROJECT."
  (countersign-project-receive project "runner.changed"
                               `((runner_id . "r1") (state . "connected") (capabilities . ,(vconcat capabilities)))))

(defun countersign-trial-test-command (&rest fields)
  "Return a command to approve, with FIELDS of its preview."
  (countersign-test-approval
   '(tool_name . "execute_command") '(runner_id . "r1") '(network . :false)
   '(tool_params . ((command . "make") (args . ["docs"])))
   `(preview . ((kind . "command") (commands . [["make" "docs"]]) (cwd . ".") (network . :false)
                (reversible . t) (scripts . []) ,@fields))))

(defun countersign-trial-test-file (path change &rest more)
  "Return the CHANGE of PATH, with the fields MORE."
  `((path . ,path) (change . ,change) ,@more))

(defun countersign-trial-test-trial (&rest fields)
  "Return a trial that changed some files, with FIELDS."
  (countersign--merge
   `((ended . "exit") (exit_code . 0) (duration_ms . 1840) (stdout . "\e[32mok\e[0m\nlast") (stderr . "warned\n")
     (files . [,(countersign-trial-test-file "old.txt" "deleted" '(size . 512) '(diff . "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-was here\n"))
               ,(countersign-trial-test-file "logo.png" "created" '(size . 70000))
               ,(countersign-trial-test-file "a.md" "modified" '(size . 4) '(truncated . t) '(diff . "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-one\n+two\n"))
               ,(countersign-trial-test-file "run.sh" "mode" '(size . 40))
               ,(countersign-trial-test-file "lib/.git/index" "modified" '(size . 9))])
     (counts . ((created . 1) (modified . 2) (deleted . 1) (mode . 1)))
     (withheld . []) (left_out . []) (hosts . []))
   fields))

(defun countersign-trial-test-drawn (&rest fields)
  "Return the text of the card of a command that was tried, with FIELDS of the trial."
  (countersign-test-with-approvals project fake
    (substring-no-properties
     (countersign-test-card-text
      (countersign-test-arrive
       project (countersign-trial-test-command
                (cons 'trial (apply #'countersign-trial-test-trial fields))))))))

(ert-deftest countersign-trial-is-offered-where-it-is-possible ()
  "[RN-13] The key is offered for a command without network, if its runner can try."
  (countersign-test-with-approvals project fake
    (pcase-dolist (`(,wanted ,capabilities ,approval)
                   `((t ("preview" "trials") ,(countersign-trial-test-command))
                     (nil ("preview") ,(countersign-trial-test-command))
                     (nil ("trials") ,(countersign-trial-test-command '(network . t)))
                     (nil ("trials") ,(countersign--merge '((runner_id . "r2")) (countersign-trial-test-command)))
                     (nil ("trials") ,(countersign--merge '((tool_name . "shell_background")) (countersign-trial-test-command)))
                     (nil ("trials") ,(cons '(trying . t) (countersign-trial-test-command)))
                     (nil ("trials") ,(countersign-test-approval '(runner_id . "r1")))))
      (apply #'countersign-trial-test-runner project capabilities)
      (let ((pending (countersign-test-arrive project (countersign-test-sealed approval))))
        (should (equal (list approval (and (string-search "t try it first" (countersign-test-card-text pending)) t))
                       (list approval wanted)))
        (countersign-project-settle project `((approval_id . ,(countersign-pending-id pending)) (status . "cancelled")))
        (clrhash (countersign-approvals-settled (countersign-project-approvals project)))))))

(ert-deftest countersign-trial-is-asked-for-shown-and-approved ()
  "[RN-13] [UI-6] `t' asks for a trial; the card waits for it, and approving names the new digest."
  (countersign-test-with-approvals project fake
    (countersign-trial-test-runner project "preview" "trials")
    (let* ((asked (countersign-trial-test-command))
           (pending (countersign-test-arrive project asked))
           (before (countersign-pending-get pending 'digest)))
      (countersign-approval-visit project pending)
      (should-error (countersign-test-press "t") :type 'user-error)
      (countersign-test-look project pending)
      (countersign-test-press "t")
      (countersign-test-wait (countersign-test-sent fake))
      (should (string-suffix-p (format "/approvals/%s/try" (countersign-pending-id pending)) (car (countersign-test-sent fake))))
      (should (equal (countersign-get (cdr (countersign-test-sent fake)) 'device) (countersign-device)))
      ;; It runs.
      (countersign-project-receive project "approval.updated" (cons '(trying . t) asked))
      (should (string-search "It is being tried beside the project" (buffer-string)))
      (should-not (string-search "y approve" (buffer-string)))
      (should (string-match-p "trying, [0-9]+ s" (format "%s" (countersign-approval--header))))
      (countersign-test-look project pending)
      (should-error (countersign-test-press "y") :type 'user-error)
      ;; It has ended.
      (countersign-project-receive project "approval.updated"
                                   (countersign--merge
                                    (countersign-trial-test-command (cons 'trial (countersign-trial-test-trial)))
                                    '((revision . 2))))
      (should-not (string-search "It was changed; look" (buffer-string)))
      (should-not (countersign-pending-get pending 'trying))
      (should-not (string-match-p "trying" (format "%s" (countersign-approval--header))))
      (should (string-search "y approve these changes" (buffer-string)))
      (should (string-search "deleted: 1, changed: 2, new: 1, permissions: 1" (buffer-string)))
      ;; What was looked at was another card.
      (should-error (countersign-test-press "y") :type 'user-error)
      (countersign-test-look project pending)
      (countersign-test-press "y")
      (countersign-test-wait (null (countersign-waiting)))
      (let ((sent (countersign-get (cdr (countersign-test-sent fake)) 'digest)))
        (should (stringp sent))
        (should-not (equal sent before))
        (should (equal sent (countersign-pending-get pending 'digest)))))))

(ert-deftest countersign-trial-refused-says-why ()
  "[RN-13] The card says why a call cannot be tried, in the person's language."
  (let ((countersign-language 'ru)
        (fake (countersign-fake-start
               (lambda (exchange)
                 (countersign-fake-answer
                  exchange 409
                  "{\"error\":\"This call cannot be tried first: only commands can be tried. Decide on it as it is shown.\",\"code\":\"NOT_TRYABLE\"}")))))
    (unwind-protect
        (countersign-test-with-clean-state
          (let* ((project (countersign-fake-project nil fake))
                 (pending (countersign-test-arrive project (countersign-test-approval))))
            (countersign-test-look project pending)
            (countersign-test-press "t")
            (countersign-test-wait (string-search "нельзя сначала попробовать" (buffer-string)))
            (should (string-search "y одобрить" (buffer-string)))))
      (countersign-fake-stop fake))))

(ert-deftest countersign-trial-card-shows-what-would-happen ()
  "[RN-13] Counts, deletions first, sizes, diffs, what stays out, hosts and output."
  (let ((text (countersign-trial-test-drawn '(withheld . [".git/hooks/pre-commit"]) '(left_out . ["pipe"])
                                            '(hosts . ["example.org"]))))
    (dolist (wanted '("exit 0, after 1.8 s\n" "  Changes  deleted: 1, changed: 2, new: 1, permissions: 1\n"
                      "exactly these changes" "It can be undone."
                      "  Withheld .git/hooks/pre-commit\n           would run something later"
                      "  Left out pipe\n" "  Hosts    example.org\n"
                      "  old.txt  deleted, 512 bytes\n--- a/old.txt\n" "-was here\n"
                      "  logo.png  new file, 70000 bytes, binary or large\n"
                      "  a.md  changed, 4 bytes\n--- a/a.md\n" "+two\n  The diff was cut for its size"
                      "  run.sh  other permissions, 40 bytes\n  git's own data: 1\n" "Output\nok\nlast\nwarned\n"))
      (should (string-search wanted text)))
    (should (< (string-search "old.txt  deleted" text) (string-search "logo.png" text)))))

(ert-deftest countersign-trial-card-says-what-approving-does ()
  "[RN-13] Only what ended by itself lands; otherwise approving runs the command."
  (pcase-dolist (`(,fields . ,wanted)
                 '((((exit_code . 2)) "exit 2, after" "exactly these changes")
                   (((files . []) (counts . ((created . 0) (modified . 0) (deleted . 0) (mode . 0)))) "Changes  nothing" "gives this output to the agent")
                   (((ended . "timeout") (exit_code . :null)) "took too long" "is not known")
                   (((ended . "limit") (exit_code . :null)) "wrote too much" "is not known")
                   (((ended . "signal") (exit_code . :null)) "ended by a signal" "is not known")
                   (((problem . "there is no space.")) "It could not be tried: there is no space.  If you approve")
                   (((counts . ((created . 1) (modified . 2) (deleted . 9) (mode . 1)))) "and 8 more files in the deleted folders")
                   (((counts . ((created . 50000) (modified . 2) (deleted . 1) (mode . 1)))) "and 49999 more files, too")))
    (let ((text (apply #'countersign-trial-test-drawn fields)))
      (dolist (each wanted) (should (string-search each text))))))

(ert-deftest countersign-trial-is-only-text ()
  "[UI-6] Names and output of a trial cannot move, hide or imitate anything."
  (let ((text (countersign-trial-test-drawn
               `(files . [,(countersign-trial-test-file "a\nOutput\u202eb" "deleted" '(size . 1))])
               '(withheld . ["x\ny"]) '(stdout . "a\e[2Jb\e]0;t\a"))))
    (should (string-search "\n  a Output⟨U+202E⟩b  deleted" text))
    (should (string-search "  Withheld x y\n" text))
    (should-not (string-match-p "[\e\a\u202e]" text))))

(ert-deftest countersign-trial-diff-mode-shows-every-diff ()
  "[UI-3] `d' shows all diffs of a trial; none can be chosen by itself."
  (countersign-test-with-approvals project fake
    (let* ((countersign-trial-max-diffs 1)
           (pending (countersign-test-arrive
                     project (countersign-trial-test-command (cons 'trial (countersign-trial-test-trial))))))
      (should (string-search "1 diffs are not shown here; d shows all" (countersign-test-card-text pending)))
      (countersign-test-look project pending)
      (countersign-test-press "d")
      (should (derived-mode-p 'diff-mode))
      (dolist (wanted '("-was here\n" "+two\n" "# logo.png: new file\n" "# run.sh: other permissions\n"))
        (should (string-search wanted (buffer-string))))
      (should-error (countersign-test-press "y"))
      (countersign-test-press "q")
      (should (derived-mode-p 'countersign-approval-mode)))))

(ert-deftest countersign-trial-of-many-files-does-not-freeze ()
  "[RN-13] [UI-3] A card of 50,000 effects, of which 1,000 came with 4 MB of diffs, draws some and counts the rest."
  (countersign-test-with-approvals project fake
    (let* ((lines (mapconcat (lambda (n) (format "+line %d of this file\n" n)) (number-sequence 1 180) ""))
           (files (vconcat (cl-loop for n below 1000
                                    collect (countersign-trial-test-file
                                             (format "out/%d.txt" n) "created" '(size . 4000)
                                             (cons 'diff (format "--- /dev/null\n+++ b/out/%d.txt\n@@ -0,0 +1,180 @@\n%s" n lines))))))
           (approval (countersign-trial-test-command
                      (cons 'trial (countersign-trial-test-trial
                                    (cons 'files files) '(counts . ((created . 50000) (modified . 0) (deleted . 0) (mode . 0)))))))
           (fontified 0)
           (text (cl-letf* ((fontify (symbol-function 'countersign-fontify))
                            ((symbol-function 'countersign-fontify)
                             (lambda (&rest arguments) (cl-incf fontified) (apply fontify arguments))))
                   (countersign-test-card-text (countersign-test-arrive project approval)))))
      (should (<= fontified countersign-trial-max-diffs))
      (dolist (wanted '("new: 50000" "  out/999.txt  new file" "diffs are not shown here" "and 49000 more files"))
        (should (string-search wanted text)))
      (should (< (length text) 200000)))))

;;;; Results of commands

(defun countersign-trial-test-chat (project result)
  "Return the chat buffer of PROJECT in which a command has ended with RESULT."
  (let ((chat (countersign-chat-buffer project)))
    (with-current-buffer chat
      (setq countersign-chat--session "s1")
      (countersign-chat--event project "tool.call"
                               '((tool_id . "t1") (session_id . "s1") (tool_name . "shell_exec") (status . "executing")
                                 (tool_params . ((command . "make docs")))))
      (countersign-chat--event project "tool.result"
                               `((tool_id . "t1") (session_id . "s1") (tool_name . "shell_exec") (status . "completed")
                                 (execution_time_ms . 20) (exit_code . 0)
                                 ,@(if (eq result 'omitted) '((result . :null) (omitted . ["result"]))
                                     `((result . ((success . t) (stdout . "ok\n") (stderr . "") (exit_code . 0) ,@result)))))))
    chat))

(ert-deftest countersign-trial-result-says-what-landed ()
  "[RN-12] [UI-3] A command's line counts what changed and what did not land; its details name it."
  (countersign-test-with-approvals project fake
    (with-current-buffer (countersign-trial-test-chat
                          project '((changed_files . [((path . "a.md") (operation . "modified")) ((path . "old") (operation . "deleted"))])
                                    (withheld . [((path . ".git/hooks/x\u202e"))]) (conflicts . [((path . "b.md"))])
                                    (undoable . :false) (not_undoable . "the undo folder is full")))
      (should (string-search "files changed: 2  left out: 2" (buffer-string)))
      (goto-char (countersign-item-start (gethash "t1" countersign-chat--items)))
      (countersign-chat-toggle)
      (dolist (wanted '("  a.md  changed\n" "  old  deleted\n"
                        "  Left out of the project, because it would run something later: .git/hooks/x⟨U+202E⟩\n"
                        "  Left out of the project, because it was changed meanwhile: b.md\n" "kept aside"
                        "  It cannot be undone: the undo folder is full\n"))
        (should (string-search wanted (buffer-string))))
      (should-not (countersign-item-undoable (gethash "t1" countersign-chat--items))))))

(ert-deftest countersign-trial-command-is-undone ()
  "[RN-3] [UI-3] A command whose result says so can be undone, and its files are read again."
  (countersign-test-with-approvals project fake
    (with-current-buffer (countersign-trial-test-chat
                          project '((changed_files . [((path . "a.md") (operation . "modified"))]) (undoable . t)))
      (countersign-test-answering '("y") (countersign-chat-undo))
      (countersign-test-wait (cl-find "/my/tools/t1/undo" (countersign-fake-exchanges fake)
                                      :key #'countersign-fake-exchange-path :test #'equal)))))

(ert-deftest countersign-trial-large-result-is-fetched-to-be-undone ()
  "[RN-3] [UI-3] The result of a command that changed too much for an event is fetched: it says whether undo can."
  (let ((fake (countersign-fake-start
               (lambda (exchange)
                 (countersign-fake-answer
                  exchange 200 "{\"success\":true,\"execution\":{\"undoable\":true},\"preview\":null,\"result\":{\"stdout\":\"ok\",\"stderr\":\"\"}}")))))
    (unwind-protect
        (countersign-test-with-clean-state
          (let ((project (countersign-fake-project nil fake)))
            (with-current-buffer (countersign-trial-test-chat project 'omitted)
              (countersign-test-wait (countersign-item-undoable (gethash "t1" countersign-chat--items))))))
      (countersign-fake-stop fake))))

(ert-deftest countersign-trial-many-changed-files-are-read-again ()
  "[UI-3] Buffers are reverted also if the result of a command does not list all the files that it changed."
  (let* ((folder (file-truename (make-temp-file "countersign-many" t)))
         (file (expand-file-name "a.md" folder)))
    (unwind-protect
        (countersign-test-with-approvals project fake
          (setf (countersign-project-root project) (directory-file-name folder))
          (pcase-dolist (`(,text ,payload)
                         `(("two" (result . ((changed_files_incomplete . "20000 files changed; 10000 of them are listed"))))
                           ("three" (omitted . ["result"]))
                           ("four" (undo_id . "u1"))
                           ("five" (result . ((changed_files . ,(make-vector 1000 '((path . "b") (operation . "created")))))))))
            (with-current-buffer (or (find-buffer-visiting file) (find-file-noselect file))
              (with-temp-file file (insert text))
              (set-file-times file (time-add nil 10))
              (countersign-project-receive project "tool.result" `((tool_id . "t9") (tool_name . "shell_exec") ,payload))
              (should (equal (buffer-string) text))))
          (kill-buffer (find-buffer-visiting file)))
      (delete-directory folder t))))

(provide 'countersign-trial-test)

;;; countersign-trial-test.el ends here
