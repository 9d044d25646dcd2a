;;; countersign-buffers-test.el --- Cards, chat and files, without a server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Code:

(require 'countersign-test-helper)

;;;; Cards

(ert-deftest countersign-card-draws-every-approval-of-the-fixtures ()
  "[AP-1] [AP-7] Tool, description, parameters, reasons and preview of each."
  (let ((drawn 0))
    (dolist (data (append (countersign-test-fixture "events/tool.approval_request.json")
                          (countersign-test-fixture "events/approval.updated.json")
                          (cl-loop for body in (countersign-test-fixture "bodies/listApprovals.response.json")
                                   append (countersign-list-of body 'approvals))
                          (mapcar (lambda (body) (countersign-get body 'approval))
                                  (countersign-test-fixture "bodies/getApproval.response.json"))))
      (with-temp-buffer
        (countersign-card-insert data "/nowhere")
        (let ((text (buffer-string)))
          (should (string-search (countersign-visible (countersign-get data 'description)) text))
          (should (string-search (countersign-get data 'risk_level) text))
          (dolist (reason (countersign-list-of data 'reasons))
            (should (string-search (countersign-get reason 'why) text)))
          (pcase (countersign-get data 'preview 'kind)
            ("push" (should (string-search "https://git.example.org/ada/shop.git" text))
             (should (string-search "pre-push" text)))
            ("command" (should (eq (null (string-search "cannot be undone" text))
                                   (countersign-get data 'preview 'reversible))))
            ("delete" (should (string-search "Deletes" text)))
            ("nil" (should (string-search "being made" text)))))
        (cl-incf drawn)))
    (should (> drawn 6))))

(ert-deftest countersign-card-draws-every-kind-of-preview ()
  "[AP-7] All kinds of previews, and one that is newer than this client."
  (pcase-dolist (`(,preview ,wanted)
                 '((((kind . "directory") (path . "a/b")) "Makes the folder a/b")
                   (((kind . "summary") (summary . "Makes the branch x")) "Makes the branch x")
                   (((kind . "custom") (server . "db") (summary . "drops it")) "drops it")
                   (((kind . "unavailable") (reason . "too slow")) "too slow")
                   (((kind . "command") (commands . [["sh" "-c" :null "a b"]]) (cwd . "")
                     (network . t) (reversible . t) (scripts . []))
                    "sh -c ⟨known only when it runs⟩ 'a b'")
                   (((kind . "commit") (message . "Two\nlines") (files . []) (hooks . ["pre-commit"]))
                    "pre-commit")
                   (((kind . "delete") (path . "x") (size . 0) (head . "")) "(the file is empty)")
                   (((kind . "hologram") (depth . 3)) "hologram")))
    (with-temp-buffer
      (countersign-card-insert (countersign-test-approval (cons 'preview preview)) "/nowhere")
      (should (string-search wanted (buffer-string))))))

(ert-deftest countersign-card-tells-what-a-custom-tool-runs ()
  "[AP-7] The program of a custom tool, its network and the tool's own word stand on its card."
  (let ((card (lambda (network hints)
                (with-temp-buffer
                  (countersign-card-insert
                   `((tool_name . "db__drop") (risk_level . "HIGH")
                     (preview (kind . "custom") (server . "db") (tool . "drop") (summary . "Drops a table")
                              (runs . "node db.mjs") (network . ,network) (hints . ,hints)))
                   "/tmp")
                  (buffer-string))))
        (countersign-language 'en))
    (let ((text (funcall card t ["destructive"])))
      (dolist (wanted '("  Server   db\n" "  Tool     drop\n" "Drops a table" "  Runs     node db.mjs\n" "  Network  yes\n"
                        "  It says  it may destroy something\n" "This tool's own program decides what it touches."))
        (should (string-search wanted text)))
      (should (eq (get-text-property (string-search "it may destroy" text) 'face text) 'countersign-warning)))
    (let ((text (funcall card :false ["read_only"])))
      (should (string-search "  Network  no\n" text))
      (should (string-search "  It says  it only reads\n" text))
      (should-not (string-search "destroy" text)))))

(ert-deftest countersign-card-shows-a-diff-as-diff-mode-does ()
  "[AP-7] Added and removed lines have the faces of diff-mode."
  (with-temp-buffer
    (countersign-card-insert (countersign-test-approval) "/nowhere")
    (goto-char (point-min))
    (search-forward "+{\"port\": 8080}")
    (should (eq 'diff-added (get-text-property (match-beginning 0) 'face)))
    (should (memq 'diff-added (ensure-list (get-text-property (1- (point)) 'face))))
    (search-backward "-{\"port\": 3000}")
    (should (memq 'diff-removed (ensure-list (get-text-property (1+ (point)) 'face))))))

(ert-deftest countersign-card-shows-text-of-others-as-text ()
  "[UI-6] No property, link, local variable or hidden character takes effect."
  (let* ((hostile "a\e]8;;http://evil\aclick\u202etxt.exe\n;; Local Variables:\n;; eval: (setq countersign-test-owned t)\n;; End:\n<b>%s%n")
         (data (countersign-test-approval
                `(description . ,hostile)
                `(tool_params . ((path . ,(propertize hostile 'keymap 'x 'display "safe.txt")) (content . ,hostile)))
                `(reasons . [((rule . ,hostile) (why . ,hostile) (operand . ,hostile))])
                `(context . ((excerpt . ,hostile) (step . 1)))
                `(preview . ((kind . "diff")
                             (files . [((path . ,hostile) (operation . ,hostile)
                                        (diff . ,(concat "--- a\n+++ b\n@@ -1 +1 @@\n+" hostile)))]))))))
    (countersign-test-with-clean-state
      (let* ((project (countersign-fake-project))
             (pending (countersign-test-arrive project data))
             (text (countersign-test-card-text pending)))
        (should-not (string-match-p "[\e\a\u202e]" text))
        (should (string-search "a⟨U+001B⟩]8;;http://evil⟨U+0007⟩click⟨U+202E⟩txt.exe" text))
        (should-not (boundp 'countersign-test-owned))
        (let ((position 0))
          (while (setq position (next-property-change position text))
            (should-not (cl-set-difference
                         (cl-loop for (name) on (text-properties-at position text) by #'cddr collect name)
                         '(face)))))
        (should-not (buffer-local-value 'bidi-display-reordering
                                        (countersign-approval--buffer pending)))
        (with-current-buffer (countersign-approval--buffer pending)
          (should (stringp (format-mode-line (countersign-approval--header)))))))))

(ert-deftest countersign-card-bears-huge-and-long ()
  "A megabyte on one line is broken and cut, and the card says so."
  (let* ((data (countersign-test-approval
                `(tool_params . ((path . "x") (content . ,(make-string 1000000 ?x))))))
         (start (float-time (get-internal-run-time))))
    (with-temp-buffer
      (countersign-card-insert data "/nowhere")
      (should (< (buffer-size) 250000))
      (should (string-search "CUT HERE: 800000 more characters" (buffer-string)))
      (goto-char (point-min))
      (should-not (re-search-forward "^.\\{1500\\}" nil t)))
    (should (< (- (float-time (get-internal-run-time)) start) 5))))

(ert-deftest countersign-card-keeps-the-sign-of-a-long-line ()
  "[AP-7] What is added does not look removed where its line is broken."
  (let* ((added (concat "+" (make-string 999 ?x) "-removed(guard)" (make-string 1500 ?y) "@@ -1 +1 @@"))
         (text (countersign-card-diff (concat "@@ -0,0 +1 @@\n" added "\n"))))
    (should (> (length (split-string text "\n" t)) 3))
    (dolist (line (cdr (split-string text "\n" t)))
      (should (string-prefix-p "+" line)))
    (should (equal (string-replace "↩\n+" "" text) (concat "@@ -0,0 +1 @@\n" added "\n")))))

(ert-deftest countersign-card-no-parameter-draws-lines-of-its-own ()
  "[UI-6] Neither its name nor its value begins a line of the card."
  (with-temp-buffer
    (countersign-card--params
     `((,(intern "x\nRisk       LOW") . "y")
       (query . ,(concat (make-string 1000 ?x) "Risk       LOW"))))
    (goto-char (point-min))
    (should (search-forward "x⟨U+000A⟩Risk       LOW = y" nil t))
    (goto-char (point-min))
    (should-not (re-search-forward "^Risk" nil t))))

(ert-deftest countersign-card-warns-of-unsaved-buffers ()
  "[RN-9] A file that is changed in a buffer and not saved is named on the card."
  (let ((folder (file-truename (make-temp-file "countersign" t))))
    (with-current-buffer (find-file-noselect (expand-file-name "config.json" folder))
      (insert "unsaved")
      (with-temp-buffer
        (countersign-card-insert (countersign-test-approval) folder)
        (should (string-search "config.json has changes in Emacs that are not saved" (buffer-string))))
      (set-buffer-modified-p nil)
      (kill-buffer))
    (delete-directory folder t)))

;;;; Deciding

(ert-deftest countersign-approval-key-approves-what-was-displayed ()
  "[UI-6] [AP-8] y approves after half a second, and names the digest."
  (countersign-test-with-approvals project fake
    (let ((pending (countersign-test-arrive project (countersign-test-approval))))
      (countersign-test-look project pending)
      (countersign-test-press "y")
      (countersign-test-wait (null (countersign-waiting)))
      (should (equal (countersign-test-sent fake)
                     `(,(format "/my/projects/p1/approvals/%s/approve" (countersign-pending-id pending))
                       (digest . ,(countersign-pending-get pending 'digest)) (device . ,(countersign-device)))))
      (should-not (countersign-approval--buffer pending)))))

(ert-deftest countersign-approval-key-does-not-count-too-early ()
  "[UI-6] Not before half a second, not in another window, not from a macro."
  (countersign-test-with-approvals project fake
    (let ((pending (countersign-test-arrive project (countersign-test-approval))))
      (countersign-approval-visit project pending)
      (should-error (countersign-test-press "y") :type 'user-error)
      (countersign-test-pass 0.3)
      (should-error (countersign-test-press "y") :type 'user-error)
      (dolist (key '("n" "a" "e")) (should-error (countersign-test-press key) :type 'user-error))
      (countersign-test-wait (countersign-approval-armed-p))
      ;; A call from another buffer does not count as a key pressed on this card.
      (let ((buffer (current-buffer)))
        (with-temp-buffer
          (switch-to-buffer (current-buffer))
          (should-error (with-current-buffer buffer (countersign-approval-approve)) :type 'user-error)))
      (countersign-approval-visit project pending)
      (countersign-test-wait (countersign-approval-armed-p))
      (should-error (execute-kbd-macro "y") :type 'user-error)
      (countersign-test-pass 0.1)
      (should-not (countersign-fake-exchanges fake))
      (should (countersign-waiting)))))

(ert-deftest countersign-approval-shows-only-what-its-digest-names ()
  "[AP-8] A preview that its digest does not name is not shown, and only rejecting is left."
  (countersign-test-with-approvals project fake
    (let* ((approval (countersign-test-approval))
           (forged (countersign--merge approval '((preview . ((kind . "summary") (summary . "Nothing at all."))))))
           (pending (countersign-test-arrive project forged)))
      (countersign-test-look project pending)
      (should-not (string-search "Nothing at all." (countersign-test-card-text pending)))
      (should (string-search "it does not fit its digest" (countersign-test-card-text pending)))
      (should-error (countersign-test-press "y") :type 'user-error)
      (should-not (countersign-test-sent fake))
      (countersign-project-receive project "approval.updated" (countersign--merge approval '((revision . 2))))
      (should (string-search "8080" (countersign-test-card-text pending)))
      (should-not (countersign-pending-get pending 'unfit)))))

(ert-deftest countersign-approval-a-changed-card-is-a-new-card ()
  "[UI-6] [AP-8] A new revision takes its own half second and its own digest."
  (countersign-test-with-approvals project fake
    (let* ((approval (countersign-test-approval))
           (pending (countersign-test-arrive project approval))
           (update (countersign-test-sealed
                    (countersign--merge approval `((revision . 2)
                                                   (digest . ,(concat "sha256:" (make-string 64 ?b)))))))
           (digest (countersign-get update 'digest)))
      (countersign-test-look project pending)
      (countersign-project-receive project "approval.updated" update)
      (should-not countersign-approval--armed)
      (should-error (countersign-test-press "y") :type 'user-error)
      (should (string-search "It was changed; look at it anew." (countersign-test-card-text pending)))
      (countersign-test-wait (countersign-approval-armed-p))
      (countersign-test-press "y")
      (countersign-test-wait (null (countersign-waiting)))
      (should (equal (countersign-get (cdr (countersign-test-sent fake)) 'digest) digest)))))

(ert-deftest countersign-approval-high-takes-a-second-step ()
  "[RK-1] HIGH needs its preview and a typed yes; what changes meanwhile is not approved."
  (countersign-test-with-approvals project fake
    (let* ((approval (countersign-test-approval '(risk_level . "HIGH") '(preview . :null) '(digest . :null)))
           (pending (countersign-test-arrive project approval)))
      (countersign-test-look project pending)
      (should-error (countersign-test-press "y") :type 'user-error) ; no preview yet
      (countersign-project-receive project "approval.updated"
                                   (countersign-test-approval '(risk_level . "HIGH")))
      (countersign-test-wait (countersign-approval-armed-p))
      (dolist (answer '("" "y" "no" "YES!"))
        (countersign-test-answering (list answer)
          (should-error (countersign-test-press "y") :type 'user-error)))
      ;; It changes while the question stands.
      (cl-letf (((symbol-function 'read-from-minibuffer)
                 (lambda (&rest _)
                   (countersign-project-receive
                    project "approval.updated"
                    (countersign-test-approval '(risk_level . "HIGH") '(revision . 2)))
                   "yes")))
        (should-error (countersign-test-press "y") :type 'user-error))
      (should-not (countersign-fake-exchanges fake))
      (countersign-test-wait (countersign-approval-armed-p))
      (countersign-test-answering '("yes") (countersign-test-press "y"))
      (countersign-test-wait (null (countersign-waiting))))))

(ert-deftest countersign-approval-unknown-risk-is-high ()
  "What this client does not know takes the second step too."
  (countersign-test-with-approvals project fake
    (let ((pending (countersign-test-arrive project (countersign-test-approval '(risk_level . "EXTREME")))))
      (countersign-test-look project pending)
      (countersign-test-answering '("no")
        (should-error (countersign-test-press "y") :type 'user-error))
      (should-not (countersign-fake-exchanges fake)))))

(ert-deftest countersign-approval-unseen-takes-a-second-step ()
  "MEDIUM without a preview is asked about again."
  (countersign-test-with-approvals project fake
    (let ((pending (countersign-test-arrive
                    project (countersign-test-approval '(preview . :null) '(digest . :null)))))
      (countersign-test-look project pending)
      (countersign-test-answering '("yes") (countersign-test-press "y"))
      (countersign-test-wait (null (countersign-waiting)))
      (should (equal (cdr (countersign-test-sent fake)) `((device . ,(countersign-device))))))))

(ert-deftest countersign-approval-waits-for-a-preview-that-is-being-made ()
  "[AP-7] Where a runner that previews is connected, nothing is approved before."
  (countersign-test-with-approvals project fake
    (countersign-project-receive project "runner.changed"
                                 '((runner_id . "r") (state . "connected") (capabilities . ["preview"])))
    (let ((pending (countersign-test-arrive
                    project (countersign-test-approval '(preview . :null) '(digest . :null)))))
      (countersign-test-look project pending)
      (should-not (string-match-p "y approve" (buffer-string)))
      (should-error (countersign-test-press "y") :type 'user-error)
      (should-not (countersign-fake-exchanges fake))
      (countersign-project-receive project "runner.changed"
                                   '((runner_id . "r") (state . "disconnected") (capabilities . ["preview"])))
      (countersign-test-answering '("no") ; nobody previews it: it is asked about again
        (should-error (countersign-test-press "y") :type 'user-error))
      (countersign-project-receive project "runner.changed"
                                   '((runner_id . "r") (state . "connected") (capabilities . ["preview"])))
      (countersign-project-receive project "approval.updated" (countersign-test-approval))
      (countersign-test-wait (countersign-approval-armed-p))
      (should (string-match-p "y approve" (buffer-string)))
      (countersign-test-press "y")
      (countersign-test-wait (null (countersign-waiting))))))

(ert-deftest countersign-approval-reject-carries-a-message ()
  "[AP-5] n asks for a message; an empty one is left out."
  (countersign-test-with-approvals project fake
    (let ((pending (countersign-test-arrive project (countersign-test-approval))))
      (countersign-test-look project pending)
      (countersign-test-answering '("Use 9090 ") (countersign-test-press "n"))
      (countersign-test-wait (null (countersign-waiting)))
      (should (equal (countersign-test-sent fake)
                     `(,(format "/my/projects/p1/approvals/%s/reject" (countersign-pending-id pending))
                       (message . "Use 9090") (device . ,(countersign-device))))))))

(ert-deftest countersign-approval-widen-offers-what-the-server-offers ()
  "[AP-4] a offers tool, class, session and always; a warning takes a typed yes."
  (let ((offers `(offered_scopes . [((scope . "class") (pattern . "npm *") (label . "Harmless npm commands in this session")
                                     (warning . :null) (max_risk . "MEDIUM"))
                                    ((scope . "always") (pattern . :null) (label . "Always: all calls of write_file")
                                     (warning . "It is saved.") (max_risk . "MEDIUM") (rules . [((tool . "write_file"))]))
                                    ((scope . "session") (pattern . :null) (label . "Everything in this session")
                                     (warning . "The agent is not asked again.") (max_risk . "MEDIUM"))])))
    (pcase-dolist (`(,answers ,prefix ,body)
                   '((("npm") nil ((scope . "class") (pattern . "npm *")))
                     (("Always" "yes") nil ((scope . "always")))
                     (("Always: all calls of write_file, only in this project" "yes") nil
                      ((scope . "always") (only_here . t)))
                     (("Everything" "yes") (4) ((scope . "session") (include_high . t)))))
      (countersign-test-with-approvals project fake
        (let ((pending (countersign-test-arrive project (countersign-test-approval offers)))
              (current-prefix-arg prefix))
          (countersign-test-look project pending)
          (countersign-test-answering answers (countersign-test-press "a"))
          (countersign-test-wait (null (countersign-waiting)))
          (should (equal (cdr (countersign-test-sent fake))
                         `((digest . ,(countersign-pending-get pending 'digest)) ,@body (device . ,(countersign-device))))))))
    (countersign-test-with-approvals project fake
      (let ((pending (countersign-test-arrive project (countersign-test-approval offers))))
        (countersign-test-look project pending)
        (countersign-test-answering '("Everything" "no")
          (should-error (countersign-test-press "a") :type 'user-error))
        (should-not (countersign-fake-exchanges fake))))
    (countersign-test-with-approvals project fake
      (let ((pending (countersign-test-arrive project (countersign-test-approval '(offered_scopes . [])))))
        (countersign-test-look project pending)
        (should-error (countersign-test-press "a") :type 'user-error)))))

(ert-deftest countersign-approval-always-is-tried-on-the-history-first ()
  "[RK-5] Before a rule is saved, it is said what it would have decided."
  (pcase-dolist (`(,prefix ,status ,answer ,rule ,words)
                 `((nil 200 ((success . t) (matched . 212) (rejected_before . 2))
                        ((id . "to-be-granted") (effect . "allow") (max_risk . "MEDIUM") (tool . "write_file") (path . "src/**"))
                        "would have decided 212 earlier calls, 2 of which you rejected\\.")
                   ((4) 200 ((success . t) (matched . 0) (rejected_before . 0))
                    ((max_risk . "HIGH") (id . "to-be-granted") (effect . "allow") (tool . "write_file") (path . "src/**"))
                    "would have decided none of your earlier calls")
                   (nil 200 ((success . t) (matched . 1) (rejected_before . 1))
                        ((id . "to-be-granted") (effect . "allow") (max_risk . "MEDIUM") (tool . "write_file") (path . "src/**"))
                        "would have decided one earlier call, which you rejected")
                   (nil 500 ((success . :false) (error . "The disk is full.") (code . "INTERNAL"))
                        ((id . "to-be-granted") (effect . "allow") (max_risk . "MEDIUM") (tool . "write_file") (path . "src/**"))
                        "could not be looked at: The disk is full\\. ")))
    (countersign-test-with-approvals project fake
      (setf (countersign-fake-handler fake)
            (lambda (exchange)
              (if (equal (countersign-fake-exchange-path exchange) "/my/policy/backtest")
                  (countersign-fake-answer exchange status (countersign-json-write answer))
                (countersign-fake-answer exchange 200 "{\"success\":true,\"status\":\"approved\"}"))))
      (let ((pending (countersign-test-arrive
                      project (countersign-test-approval
                               '(offered_scopes . [((scope . "always") (pattern . "src/**") (label . "Always: src")
                                                    (warning . "It is saved.") (max_risk . "MEDIUM")
                                                    (rules . [((id . "to-be-granted") (effect . "allow")
                                                               (max_risk . "MEDIUM") (tool . "write_file")
                                                               (path . "src/**"))]))]))))
            (current-prefix-arg prefix) (countersign-test-prompts '()))
        (countersign-test-look project pending)
        (countersign-test-answering '("Always" "no")
          (should-error (countersign-test-press "a") :type 'user-error))
        (should (equal (countersign-test-sent fake) `("/my/policy/backtest" (rule . ,rule))))
        (should (string-match-p words (car countersign-test-prompts)))
        (should (countersign-waiting))))))

(ert-deftest countersign-approval-edit-sends-the-parameters ()
  "[AP-6] e edits the parameters, also a text as it is, and approves with them."
  (countersign-test-with-approvals project fake
    (let ((pending (countersign-test-arrive project (countersign-test-approval))))
      (countersign-test-look project pending)
      (countersign-test-press "e")
      (should (derived-mode-p 'countersign-edit-mode))
      (should-error (countersign-test-press "C-c C-c") :type 'user-error) ; nothing was changed
      (goto-char (point-min))
      (search-forward "content")
      (countersign-test-press "C-c '")
      (should (equal (buffer-string) "{\"port\": 8080}\n"))
      (erase-buffer)
      (insert "first \"line\"\nsecond\n")
      (countersign-test-press "C-c '")
      (countersign-test-answering '("yes") (countersign-test-press "C-c C-c"))
      (countersign-test-wait (null (countersign-waiting)))
      (should (equal (countersign-get (cdr (countersign-test-sent fake)) 'tool_params)
                     '((path . "config.json") (content . "first \"line\"\nsecond\n"))))
      (should-not (cl-find "*countersign edit*" (buffer-list) :key #'buffer-name :test #'equal)))))

(ert-deftest countersign-approval-edit-leaves-no-window-behind ()
  "The window that was made for the card goes when the edited call is decided."
  (countersign-test-with-approvals project fake
    (save-window-excursion
      (delete-other-windows)
      (let ((pending (countersign-test-arrive project (countersign-test-approval))))
        (countersign-test-look project pending)
        (should (= (count-windows) 2))
        (countersign-test-press "e")
        (should (= (count-windows) 2))
        (goto-char (point-min))
        (search-forward "config.json")
        (replace-match "other.json")
        (countersign-test-answering '("yes") (countersign-test-press "C-c C-c"))
        (countersign-test-wait (null (countersign-waiting)))
        (should (= (count-windows) 1))))))

(ert-deftest countersign-approval-edit-keeps-what-was-typed ()
  "What is no JSON, or about a call that is gone, is refused and kept."
  (countersign-test-with-approvals project fake
    (let ((pending (countersign-test-arrive project (countersign-test-approval))))
      (countersign-test-look project pending)
      (countersign-test-press "e")
      (insert "rubbish")
      (should-error (countersign-test-press "C-c C-c") :type 'user-error)
      (delete-region (point-min) (point-max))
      (insert "{\"path\": \"other.md\"}")
      (countersign-project-receive project "approval.resolved"
                                   `((approval_id . ,(countersign-pending-id pending))
                                     (status . "rejected") (device . "phone")))
      (should-error (countersign-test-press "C-c C-c") :type 'user-error)
      (should (equal (buffer-string) "{\"path\": \"other.md\"}"))
      (should-not (countersign-fake-exchanges fake)))))

(ert-deftest countersign-approval-decided-elsewhere-is-withdrawn ()
  "[AP-2] The card says who decided, and its keys do nothing any more."
  (countersign-test-with-approvals project fake
    (let ((pending (countersign-test-arrive project (countersign-test-approval))))
      (countersign-test-look project pending)
      (countersign-project-receive project "approval.resolved"
                                   `((approval_id . ,(countersign-pending-id pending))
                                     (status . "approved") (approved_by . "user") (device . "phone")))
      (should (string-search "Withdrawn: You approved this on phone" (buffer-string)))
      (should-error (countersign-test-press "y") :type 'user-error)
      (should-not (countersign-fake-exchanges fake))
      (should-not (countersign-waiting))
      (countersign-test-press "q")
      (should-not (countersign-approval--buffer pending)))))

(ert-deftest countersign-approval-a-standing-decision-is-told ()
  "[AP-2] 409 with the standing decision withdraws the card with who decided."
  (countersign-test-with-approvals project fake
    (setf (countersign-fake-handler fake)
          (lambda (exchange)
            (countersign-fake-answer
             exchange 409 (countersign-json-write
                           (nth 1 (countersign-test-fixture "bodies/error.response.json"))))))
    (let ((pending (countersign-test-arrive project (countersign-test-approval))))
      (countersign-test-look project pending)
      (let ((card (current-buffer)))
        (countersign-test-press "y")
        (countersign-test-wait (null (countersign-waiting)))
        (should (string-search "You rejected this on phone" (with-current-buffer card (buffer-string))))))))

(ert-deftest countersign-approval-an-error-is-told-and-can-be-tried-again ()
  "[AP-8] A refused approval stays, with what the server says; it is fetched anew."
  (countersign-test-with-approvals project fake
    (let ((approval (countersign-test-approval)) pending)
      (setf (countersign-fake-handler fake)
            (lambda (exchange)
              (if (equal (countersign-fake-exchange-method exchange) "GET")
                  (countersign-fake-answer
                   exchange 200 (countersign-json-write
                                 `((success . t)
                                   (approval . ,(countersign--merge approval '((status . "pending") (revision . 2)))))))
                (countersign-fake-answer
                 exchange 409 "{\"success\":false,\"code\":\"PREVIEW_CHANGED\",\"error\":\"The preview has changed.\"}"))))
      (setq pending (countersign-test-arrive project approval))
      (countersign-test-look project pending)
      (countersign-test-press "y")
      (countersign-test-wait (equal 2 (countersign-pending-get pending 'revision)))
      (should (countersign-waiting))
      (should (string-match-p "changed" (countersign-test-card-text pending)))
      (countersign-test-wait (countersign-approval-armed-p)))))

(ert-deftest countersign-approval-fetches-what-did-not-fit ()
  "[EV-2] A card whose preview did not fit into the event is fetched in full."
  (countersign-test-with-approvals project fake
    (let* ((approval (countersign-test-approval))
           (id (countersign-get approval 'approval_id)))
      (setf (countersign-fake-handler fake)
            (lambda (exchange)
              (countersign-fake-answer
               exchange 200 (countersign-json-write
                             `((success . t) (approval . ,(countersign--merge approval '((status . "pending")))))))))
      (countersign-project-receive
       project "tool.approval_request"
       (countersign--merge approval '((omitted . ["preview" "tool_params"]) (tool_params) (preview . :null))))
      (should-not (countersign-waiting))
      (countersign-test-wait (countersign-project-find-pending project id))
      (should (string-search "+{\"port\": 8080}"
                             (countersign-test-card-text (countersign-project-find-pending project id)))))))

(ert-deftest countersign-approval-a-new-card-never-takes-the-focus ()
  "[UI-6] Whatever is selected stays selected, with its buffer and its point."
  (countersign-test-with-approvals project fake
    (with-temp-buffer
      (switch-to-buffer (current-buffer))
      (insert "typing")
      (let ((window (selected-window)) (buffer (current-buffer)) (point (point)))
        (dotimes (number 3)
          (countersign-test-arrive project (countersign-test-approval `(approval_id . ,(format "a%d" number)))))
        (should (eq (selected-window) window))
        (should (eq (window-buffer window) buffer))
        (should (eq (current-buffer) buffer))
        (should (= (point) point))))
    ;; Nor does it take the place of a card that is being looked at.
    (let ((pending (cdr (car (countersign-waiting)))))
      (countersign-test-look project pending)
      (let ((card (current-buffer)))
        (countersign-test-arrive project (countersign-test-approval '(approval_id . "a9")))
        (should (eq (window-buffer (selected-window)) card))
        (should countersign-approval--armed)
        ;; Nor the place of one that was settled in the selected window.
        (countersign-project-receive project "approval.resolved"
                                     `((approval_id . ,(countersign-pending-id pending))
                                       (status . "approved") (device . "phone")))
        (countersign-test-arrive project (countersign-test-approval '(approval_id . "a10")))
        (should (eq (window-buffer (selected-window)) card))))))

(ert-deftest countersign-approval-a-card-that-found-no-room-is-shown-later ()
  "[UI-3] Who was in the minibuffer when it came is shown the card afterwards, once."
  (countersign-test-with-approvals project fake
    (delete-other-windows)
    (let ((pending nil))
      (cl-letf (((symbol-function 'active-minibuffer-window) (lambda () (minibuffer-window))))
        (setq pending (countersign-test-arrive project (countersign-test-approval)))
        (countersign-approval--tick)
        (should-not (get-buffer-window (countersign-approval--buffer pending))))
      ;; The clock that counts the time down shows it; nobody else has to happen by.
      (countersign-test-wait (get-buffer-window (countersign-approval--buffer pending)))
      ;; A card whose window is deleted or whose buffer is killed does not come back.
      (delete-window (get-buffer-window (countersign-approval--buffer pending)))
      (kill-buffer (countersign-approval--buffer pending))
      (countersign-approval--tick)
      (should-not (cdr (window-list)))
      ;; Nor is one forced on them of which they were told.
      (countersign-test-look project pending)
      (countersign-test-arrive project (countersign-test-approval '(approval_id . "later")))
      (countersign-test-press "q")
      (countersign-approval--tick)
      (should-not (countersign-approval--displayed-p)))))

(ert-deftest countersign-approval-what-waits-follows-what-was-settled-elsewhere ()
  "[AP-2] A second card that waits takes the window of one that was decided elsewhere."
  (countersign-test-with-approvals project fake
    (delete-other-windows)
    (let* ((countersign-approval-read-time 0)
           (first (countersign-test-arrive project (countersign-test-approval '(approval_id . "a1"))))
           (second (countersign-test-arrive project (countersign-test-approval '(approval_id . "a2"))))
           (window (get-buffer-window (countersign-approval--buffer first))))
      (should window)
      (should-not (get-buffer-window (countersign-approval--buffer second)))
      (countersign-project-receive project "approval.resolved"
                                   `((approval_id . "a1") (status . "approved") (device . "phone")))
      (countersign-test-wait (eq (window-buffer window) (countersign-approval--buffer second))))))

(ert-deftest countersign-approval-the-next-one-takes-its-own-time ()
  "After a decision the next card is shown, and keys do not count for it yet."
  (countersign-test-with-approvals project fake
    (let ((first (countersign-test-arrive project (countersign-test-approval '(approval_id . "a1"))))
          (second (countersign-test-arrive project (countersign-test-approval '(approval_id . "a2")))))
      (countersign-test-look project first)
      (countersign-test-press "y")
      (countersign-test-wait (eq (window-buffer (selected-window)) (countersign-approval--buffer second)))
      (should-error (countersign-test-press "y") :type 'user-error)
      (should (equal (length (countersign-fake-exchanges fake)) 1)))))

(ert-deftest countersign-approval-nothing-is-decided-by-leaving ()
  "[AP-3] Leaving, killing and disconnecting send nothing."
  (countersign-test-with-approvals project fake
    (let ((pending (countersign-test-arrive project (countersign-test-approval))))
      (countersign-test-look project pending)
      (countersign-test-press "q")
      (kill-buffer (countersign-approval-buffer project pending))
      (countersign-disconnect project)
      (countersign-test-pass 0.2)
      (should-not (countersign-fake-exchanges fake)))))

(ert-deftest countersign-approvals-lists-all-projects ()
  "Several that wait are in a list; RET visits one."
  (countersign-test-with-approvals project fake
    (countersign-test-arrive project (countersign-test-approval '(approval_id . "a1")))
    (let ((other (countersign-fake-project nil fake)))
      (setf (countersign-project-name other) "notes")
      (countersign-test-arrive other (countersign-test-approval '(approval_id . "a2") '(risk_level . "HIGH")
                                                               '(description . "Agent wants\nto delete x"))))
    (countersign-approvals)
    (set-buffer (window-buffer (selected-window)))
    (should (string-match-p "HIGH.*notes.*Agent wants to delete x" (buffer-string)))
    (should (string-match-p "MEDIUM.*shop" (buffer-string)))
    (should (string-match-p "[0-9]:[0-9][0-9] left" (buffer-string)))
    (goto-char (point-min))
    (search-forward "shop")
    (countersign-test-press "RET")
    (should (derived-mode-p 'countersign-approval-mode))
    (should (equal (countersign-pending-id countersign-approval--pending) "a1"))))

(ert-deftest countersign-approval-counts-down ()
  "[AP-3] The time left is shown; at its end nothing is sent."
  (countersign-test-with-approvals project fake
    (let ((pending (countersign-test-arrive project (countersign-test-approval '(remaining_ms . 300000)))))
      (should (string-match-p "\\`\\(5:00\\|4:5[0-9]\\) left\\'" (countersign-approval-time pending)))
      (setf (countersign-pending-deadline pending) (- (float-time) 0.1))
      (countersign-approval--tick)
      (countersign-test-pass 0.2)
      (should (equal (countersign-approval-time pending) "time is over"))
      (should (countersign-waiting))
      (should-not (countersign-fake-exchanges fake)))))

(ert-deftest countersign-mode-line-tells-what-waits ()
  (countersign-test-with-approvals project fake
    (should (equal (countersign-mode-line) " [CS] "))
    (countersign-test-arrive project (countersign-test-approval '(risk_level . "HIGH")))
    (should (equal (countersign-mode-line) " [CS: 1 to decide] "))
    (should (eq (get-text-property 2 'face (countersign-mode-line)) 'countersign-high))
    (setf (countersign-project-state project) 'waiting)
    (should (member '(:eval (countersign-mode-line)) global-mode-string))))

(ert-deftest countersign-project-listens-again-when-the-server-answers ()
  "After a lost connection, a request that succeeds ends the pause before the next try."
  (let* ((countersign-stream-pause 100)
         (is-back nil)
         (fake (countersign-fake-start
                (lambda (exchange)
                  (cond ((not (string-search "stream" (countersign-fake-exchange-path exchange)))
                         (countersign-fake-answer exchange 200 "{\"success\":true}"))
                        (is-back (countersign-fake-stream exchange))
                        (t (countersign-fake-cut exchange)))))))
    (unwind-protect
        (countersign-test-with-clean-state
          (let* ((project (countersign-fake-project nil fake))
                 (stream (countersign-stream-open (countersign-project-server project) "/my/stream" :on-event #'ignore)))
            (setf (countersign-project-stream project) stream)
            (countersign-test-wait (and (eq (countersign-stream-state stream) 'waiting)
                                        (> (countersign-stream-failures stream) 1)))
            (setq is-back t)
            (countersign-project-request project "POST" "/my/anything" :body 'empty)
            (countersign-test-wait (eq (countersign-stream-state stream) 'open))
            (countersign-stream-close stream)))
      (countersign-fake-stop fake))))

(defun countersign-test-help (fake project tools &rest fields)
  "Return the help of an approval with FIELDS in PROJECT, when FAKE has TOOLS."
  (setf (countersign-fake-handler fake)
        (lambda (exchange) (countersign-fake-answer exchange 200 (countersign-json-write tools))))
  (let ((pending (countersign-test-arrive project (apply #'countersign-test-approval fields))))
    (countersign-test-look project pending)
    (countersign-test-press "?")
    (with-current-buffer "*countersign help*"
      (should (string-match-p "Loading…\\|Загрузка…" (buffer-string)))
      (countersign-test-wait (not (string-match-p "Loading…\\|Загрузка…" (buffer-string))))
      (should (equal (countersign-fake-exchange-path (car (countersign-fake-exchanges fake)))
                     "/my/projects/p1/tools/available"))
      (buffer-substring-no-properties (point-min) (point-max)))))

(ert-deftest countersign-approval-help-explains-the-tool ()
  "[UI-3] ? says what the tool is for, what it takes and what its risk means (founding documents: tool-system)."
  (let ((tools (car (countersign-test-fixture "bodies/availableTools.response.json"))))
    (countersign-test-with-approvals project fake
      (let ((text (countersign-test-help fake project tools
                                         '(tool_name . "execute_command") '(risk_level . "HIGH")
                                         '(tool_params . ((command . "npm") (args . ["test"]))))))
        (dolist (wanted '("y  approve this one" "Tool       execute_command (command)"
                          "About      Run one program without a shell" "What it takes\n  command (string, required)"
                          "  timeout (integer): " "What the risk means\nRisk       HIGH\n"
                          "It asks twice and waits 10 minutes" "Digest"))
          (should (string-search wanted text)))))
    (countersign-test-with-approvals project fake
      (should (string-search "About      It is not in the list of tools any more."
                             (countersign-test-help fake project tools '(tool_name . "gone__away")))))
    (let ((countersign-language 'ru))
      (countersign-test-with-approvals project fake
        (let ((text (countersign-test-help fake project tools '(tool_name . "execute_command"))))
          (dolist (wanted '("Что он принимает\n  command (string, обязателен)"
                            "Что значит риск\nРиск       MEDIUM\n  Он что-то меняет"))
            (should (string-search wanted text))))))))

(ert-deftest countersign-approval-help-of-a-hostile-tool ()
  "[UI-6] What a tool says of itself begins no line of ours and hides nothing."
  (countersign-test-with-approvals project fake
    (let ((text (countersign-test-help
                 fake project
                 `((success . t)
                   (tools . [((name . "write_file") (category . "x") (description . "Good.\nRisk       LOW\u202e")
                              (parameters . ((,(intern "a\nRisk") . ((type . ["string"]) (description . "b\nRisk  LOW")))))
                              (input_schema . ((required . :null))))])))))
      (should (string-search "About      Good.\n           Risk       LOW⟨U+202E⟩\n" text))
      (should (string-search "  a Risk: b Risk LOW\n" text)))))

(ert-deftest countersign-title-says-what-becomes-of-the-file ()
  "[AP-1] A file that is there is changed, a new one created (founding documents: tools-specification)."
  (let ((countersign-language 'ru)
        (titled (lambda (mode operation)
                  (countersign-title
                   `((tool_name . "write_file") (agent . "Agent") (description . "Agent wants to change a.md")
                     (tool_params . ((path . "a.md") (mode . ,mode)))
                     ,@(when operation `((preview . ((kind . "diff") (files . ,(vector `((operation . ,operation)))))))))))))
    (should (equal (funcall titled "write" nil) "Агент хочет изменить a.md"))
    (should (equal (funcall titled "write" "modified") "Агент хочет изменить a.md"))
    (should (equal (funcall titled "append" "modified") "Агент хочет дописать в a.md"))
    (should (equal (funcall titled "append" "created") "Агент хочет создать a.md"))
    (should (equal (funcall titled "write" "created") "Агент хочет создать a.md"))
    (let ((countersign-language 'en))
      (should (equal (funcall titled "write" "created") "Agent wants to change a.md")))))

(ert-deftest countersign-approval-help-and-diff ()
  "? explains, d shows the change in diff-mode."
  (countersign-test-with-approvals project fake
    (let ((pending (countersign-test-arrive project (countersign-test-approval))))
      (countersign-test-look project pending)
      (countersign-test-press "?")
      (should (string-search (countersign-pending-get pending 'digest) (with-current-buffer "*countersign help*" (buffer-string))))
      (countersign-approval-visit project pending)
      (countersign-test-press "d")
      (should (derived-mode-p 'diff-mode))
      (should buffer-read-only)
      (should (string-search "+{\"port\": 8080}" (buffer-string))))))

;;;; Chat

(defmacro countersign-test-with-chat (project &rest body)
  "Run BODY in the chat buffer of PROJECT, which shows the session s1."
  (declare (indent 1) (debug t))
  `(countersign-test-with-approvals ,project fake
     (switch-to-buffer (countersign-chat-buffer ,project))
     (setq countersign-chat--session "s1")
     ,@body))

(defun countersign-test-say (project name &rest fields)
  "Let the event NAME with FIELDS happen in PROJECT."
  (countersign-project-receive project name `((session_id . "s1") ,@fields)))

(ert-deftest countersign-another-server-is-not-ignored ()
  "An address that was asked for and typed counts, or it is said that it does not."
  (countersign-test-with-approvals project fake
    (let ((same (countersign-server-address (countersign-project-server project))))
      (countersign--check-server project same)
      (should-error (countersign--check-server project "http://127.0.0.1:1") :type 'user-error)
      (cl-letf (((symbol-function 'countersign--root) (lambda (_) (countersign-project-root project)))
                ((symbol-function 'read-string) (lambda (&rest _) "http://127.0.0.1:1")))
        (should-error (countersign t) :type 'user-error)))))

(ert-deftest countersign-connect-without-a-link-begins-anew ()
  "Who leaves the question for the link, or answers rubbish, is asked again the next time."
  (countersign-test-with-approvals project fake
    (let ((root (countersign-project-root-name (make-temp-file "countersign-link-" t)))
          (address (format "http://127.0.0.1:%d" (countersign-fake-port fake)))
          (auth-sources '()) (noninteractive nil) (asked 0))
      (unwind-protect
          (progn
            (cl-letf (((symbol-function 'read-passwd) (lambda (&rest _) (cl-incf asked) "rubbish")))
              (dotimes (_ 2)
                (should-error (countersign-connect root address) :type 'user-error)
                (should-not (countersign-project-at root))))
            (cl-letf (((symbol-function 'read-passwd) (lambda (&rest _) (cl-incf asked) (signal 'quit nil))))
              (should (eq (condition-case nil (countersign-connect root address)
                            (quit 'left))
                          'left))
              (should-not (countersign-project-at root)))
            (should (= asked 3)))
        (delete-directory root t)))))

(ert-deftest countersign-chat-shows-what-is-streamed ()
  "[EV-4] An answer grows as it is written, and what a person types stays."
  (countersign-test-with-chat project
    (goto-char (point-max))
    (insert "my draft")
    (backward-char 3)
    (countersign-test-say project "message.created" '(message_id . "m1") '(role . "user")
                          '(content . "Raise the port") '(complete . t))
    (countersign-test-say project "message.created" '(message_id . "m2") '(role . "assistant")
                          '(content . "") '(complete . :false))
    (countersign-test-say project "message.delta" '(message_id . "m2") '(offset . 0) '(text . "I will "))
    (countersign-test-say project "message.delta" '(message_id . "m2") '(offset . 7) '(text . "do\u202e it"))
    (should (equal (countersign-chat-input) "my draft"))
    (should (looking-at-p "aft\\'"))
    (should (string-match-p "You\nRaise the port\n\nAgent\nI will do⟨U\\+202E⟩ it\n> my draft\\'"
                            (buffer-substring-no-properties (point-min) (point-max))))
    (countersign-test-say project "message.created" '(message_id . "m2") '(role . "assistant")
                          '(content . "I will do it.") '(complete . t))
    (should (string-match-p "Agent\nI will do it\\.\n\n> my draft\\'"
                            (buffer-substring-no-properties (point-min) (point-max))))
    ;; Undo takes back what was typed, not what arrived.
    (undo-boundary)
    (goto-char (point-max))
    (insert "!")
    (undo-boundary)
    (countersign-test-say project "message.created" '(message_id . "m3") '(role . "system")
                          '(content . "Something happened") '(complete . t))
    (let ((last-command nil)) (undo))
    (should (equal (countersign-chat-input) "my draft"))
    (should (string-search "Something happened" (buffer-string)))
    ;; The transcript cannot be typed into.
    (goto-char (point-min))
    (should-error (insert "x") :type 'text-read-only)
    (goto-char (point-min))
    (let ((last-command-event ?z)) (countersign-chat-self-insert 1))
    (should (equal (countersign-chat-input) "my draftz"))))

(ert-deftest countersign-chat-shows-the-exit-code ()
  "[TL-2] A command that exited with 1 is done, and its line says so (founding documents: tools-specification)."
  (countersign-test-with-chat project
    (countersign-test-say project "tool.call" '(tool_id . "t1") '(tool_name . "execute_command")
                          '(tool_params . ((command . "grep"))) '(status . "executing"))
    (countersign-test-say project "tool.result" '(tool_id . "t1") '(tool_name . "execute_command")
                          '(status . "completed") '(execution_time_ms . 12) '(exit_code . 1)
                          '(result . ((success . :false) (stdout . "") (stderr . "none") (exit_code . 1))))
    (should (string-match-p "▸ Ran grep  exit 1  12 ms" (buffer-string)))
    (goto-char (point-min))
    (countersign-test-press "TAB")
    (should (string-search "(exit code 1)" (buffer-string)))))

(ert-deftest countersign-chat-folds-tool-calls ()
  "A call is one line; TAB shows parameters, output and result."
  (countersign-test-with-chat project
    (countersign-test-say project "tool.call" '(tool_id . "t1") '(tool_name . "execute_command")
                          '(tool_params . ((command . "npm") (args . ["test"]))) '(status . "pending"))
    (countersign-test-say project "tool.call" '(tool_id . "t1") '(tool_name . "execute_command")
                          '(tool_params) '(omitted . ["tool_params"]) '(status . "executing"))
    (countersign-test-say project "tool.progress" '(tool_id . "t1") '(progress . 50) '(message . "Half")
                          '(output . ((stream . "stdout") (chunk . "ok 1\e[2J\n"))))
    (should (string-match-p "▸ Running npm test  …  50% Half\n" (buffer-string)))
    (goto-char (point-min))
    (countersign-test-press "TAB")
    (should (string-search "ok 1⟨U+001B⟩[2J" (buffer-string)))
    (dolist (result (countersign-test-fixture "events/tool.result.json"))
      (countersign-project-receive project "tool.result"
                                   (countersign--merge result '((session_id . "s1") (tool_id . "t1")))))
    (countersign-test-say project "tool.result" '(tool_id . "t1") '(tool_name . "execute_command")
                          '(status . "failed") '(execution_time_ms . 12)
                          '(error . ((code . "COMMAND_TIMEOUT") (message . "It was stopped.")))
                          '(result . ((stdout . "12 passed\n") (stderr . "1 failed") (exit_code . nil))))
    (should (string-match-p "▾ Run npm test  failed  12 ms" (buffer-string)))
    (dolist (wanted '("12 passed" "1 failed" "It was stopped. [COMMAND_TIMEOUT]"))
      (should (string-search wanted (buffer-string))))
    (goto-char (point-min))
    (countersign-test-press "TAB")
    ;; A failure shows its last lines also when it is folded.
    (should (string-match-p "▸ Run npm test  failed.*\n  12 passed\n  1 failed\n  It was stopped" (buffer-string)))
    (countersign-test-say project "tool.result" '(tool_id . "t1") '(tool_name . "execute_command")
                          '(status . "completed") '(execution_time_ms . 2300) '(exit_code . 0)
                          '(result . ((stdout . "12 passed\n") (stderr . "") (exit_code . 0))))
    (should-not (string-search "12 passed" (buffer-string)))
    (should (string-match-p "▸ Ran npm test  lines: 1  2\\.3 s" (buffer-string)))
    (should (equal (countersign-chat-input) ""))))

(ert-deftest countersign-chat-drops-the-progress-of-a-call-that-ended ()
  "What a call said while it ran is not part of its line when it has ended."
  (countersign-test-with-chat project
    (countersign-test-say project "tool.call" '(tool_id . "t1") '(tool_name . "execute_command")
                          '(tool_params . ((command . "npm") (args . ["test"]))) '(status . "executing"))
    (countersign-test-say project "tool.progress" '(tool_id . "t1") '(message . "}")
                          '(output . ((stream . "stdout") (chunk . "}\n"))))
    (should (string-match-p "▸ Running npm test  …  }\n" (buffer-string)))
    (countersign-test-say project "tool.result" '(tool_id . "t1") '(tool_name . "execute_command")
                          '(status . "completed") '(exit_code . 1) '(execution_time_ms . 12)
                          '(result . ((stdout . "}\n") (stderr . "") (exit_code . 1))))
    (should (string-match-p "▸ Ran npm test  exit 1  12 ms\n" (buffer-string)))))

(ert-deftest countersign-chat-shows-an-edited-call-as-it-runs ()
  "[AP-6] What somebody made of a call is what the chat shows of it."
  (countersign-test-with-chat project
    (countersign-test-say project "tool.call" '(tool_id . "t1") '(tool_name . "write_file")
                          '(tool_params . ((path . "asked.md"))) '(status . "awaiting_approval"))
    (should (string-search "Write asked.md" (buffer-string)))
    (countersign-test-say project "approval.updated" '(approval_id . "a1") '(tool_id . "t1")
                          '(tool_params . ((path . "edited.md"))))
    (should (string-search "Write edited.md" (buffer-string)))
    (countersign-test-say project "approval.updated" '(approval_id . "a1") '(tool_id . "t1")
                          '(tool_params . ()) '(omitted . ["tool_params"]))
    (should (string-search "Write edited.md" (buffer-string)))))

(ert-deftest countersign-chat-bears-huge-results ()
  "A huge result is cut where it is shown, and says so."
  (countersign-test-with-chat project
    (let ((start (float-time (get-internal-run-time))))
      (countersign-test-say project "tool.call" '(tool_id . "t1") '(tool_name . "read_file")
                            '(tool_params . ((path . "big"))) '(status . "executing"))
      (goto-char (point-min))
      (countersign-test-press "TAB")
      (countersign-test-say project "tool.result" '(tool_id . "t1") '(tool_name . "read_file")
                            '(status . "completed") `(result . ((content . ,(make-string 2000000 ?x)))))
      (should (string-search "CUT HERE: 1980000 more characters" (buffer-string)))
      (should (< (buffer-size) 30000))
      (should (< (- (float-time (get-internal-run-time)) start) 5)))))

(ert-deftest countersign-chat-ignores-other-sessions-and-rubbish ()
  "Events of other sessions, unknown ones and half ones change nothing."
  (countersign-test-with-chat project
    (countersign-project-receive project "message.created"
                                 '((session_id . "s2") (message_id . "m") (role . "user") (content . "no")
                                   (complete . t)))
    (dolist (event '("message.created" "message.delta" "tool.call" "tool.progress" "tool.result"
                     "approval.resolved" "agent.state" "file.changed" "runner.changed" "invented"
                     "tool.approval_request" "approval.updated"))
      (countersign-test-say project event))
    (countersign-test-say project "tool.progress" '(tool_id . "nobody") '(progress . 3))
    (should (equal (buffer-substring-no-properties (point-min) (point-max)) "> "))))

(ert-deftest countersign-chat-fetches-what-is-missing ()
  "A gap in a text, or a result that did not fit, is fetched."
  (countersign-test-with-chat project
    (setf (countersign-fake-handler fake)
          (lambda (exchange)
            (let ((path (countersign-fake-exchange-path exchange)))
              (countersign-fake-answer
               exchange 200
               (countersign-json-write
                (cond
                 ((string-search "/chat/messages" path)
                  '((success . t) (next_cursor . :null)
                    (messages . [((message_id . "m2") (session_id . "s1") (role . "assistant") (content . "one two ")
                                  (complete . :false) (created_at . "2026-01-01T00:00:00Z"))])))
                 ((string-search "/tools/history" path)
                  '((success . t) (next_cursor . :null)
                    (executions . [((tool_id . "t1") (tool_name . "read_file") (status . "completed")
                                    (tool_params . ((path . "a"))) (created_at . "2026-01-01T00:00:01Z"))])))
                 (t '((success . t) (result . ((content . "the whole text")))))))))))
    (countersign-test-say project "message.delta" '(message_id . "m2") '(offset . 0) '(text . "one "))
    (countersign-test-say project "message.delta" '(message_id . "m2") '(offset . 8) '(text . "three"))
    (countersign-test-wait (string-search "one two " (buffer-string)))
    (countersign-test-wait (null countersign-chat--loading))
    (countersign-test-say project "message.delta" '(message_id . "m2") '(offset . 8) '(text . "three"))
    (should (string-search "one two three" (buffer-string)))
    (goto-char (point-min))
    (search-forward "Read")
    (countersign-test-press "TAB")
    (countersign-test-wait (string-search "the whole text" (buffer-string)))
    ;; Reading it again leaves the person where they read.
    (goto-char (point-min))
    (search-forward "▾ Re")
    (countersign-chat-reload)
    (countersign-test-wait (null countersign-chat--loading))
    (should (looking-at-p "ad a\\b"))
    ;; Also when the open result comes after it, and the item is drawn anew.
    (countersign-test-wait (string-search "the whole text" (buffer-string)))
    (should (looking-at-p "ad a\\b"))))

(ert-deftest countersign-chat-says-what-to-type-while-it-is-empty ()
  "Above the prompt, until something was said; it is no text that could be copied or sent."
  (cl-flet ((hint () (overlay-get countersign-chat--hint 'before-string)))
    (dolist (language '(en ru))
      (let ((countersign-language language))
        (countersign-test-with-chat project
          (should (string-search "/read_file path=README.md" (hint)))
          (should (string-search "C-c C-s" (hint)))
          (should (string-search (if (eq language 'ru) "RET отправит" "RET sends it") (hint)))
          (should-not (string-search "README" (buffer-string)))
          (countersign-test-say project "message.created" '(message_id . "m1") '(role . "user")
                                '(content . "hello") '(complete . t))
          (should-not (hint))
          (countersign-chat--clear)
          (should (hint)))))))

(ert-deftest countersign-chat-gives-back-what-could-not-be-sent ()
  (countersign-test-with-chat project
    (setf (countersign-fake-handler fake)
          (lambda (exchange)
            (countersign-fake-answer exchange 409 "{\"success\":false,\"code\":\"RUN_ACTIVE\",\"error\":\"A run is active.\"}")))
    (should-error (countersign-test-press "RET") :type 'user-error)
    (goto-char (point-max))
    (insert "hello")
    (countersign-test-press "RET")
    (should (equal (countersign-chat-input) ""))
    (countersign-test-wait (equal (countersign-chat-input) "hello"))
    (countersign-chat--set-input "")
    (countersign-test-press "M-p")
    (should (equal (countersign-chat-input) "hello"))))

;;;; Files

(defmacro countersign-test-with-file (root file &rest body)
  "Run BODY in a buffer that visits FILE in ROOT."
  (declare (indent 2) (debug t))
  `(let* ((,root (file-truename (make-temp-file "countersign" t)))
          (,file (expand-file-name "a.txt" ,root))
          (inhibit-message t))
     (write-region "before\n" nil ,file nil 'quiet)
     (with-current-buffer (find-file-noselect ,file)
       (unwind-protect (progn ,@body)
         (set-buffer-modified-p nil)
         (kill-buffer)
         (delete-directory ,root t)))))

(defun countersign-test-change (file text)
  "Let FILE hold TEXT, as if another program had written it a while later."
  (write-region text nil file nil 'quiet)
  (set-file-times file (time-add nil 5)))

(ert-deftest countersign-files-revert-what-is-saved ()
  "[UI-3] A buffer without changes follows its file; no local variable takes effect."
  (countersign-test-with-file root file
    (countersign-test-change file "after\n# Local Variables:\n# fill-column: 7\n# End:\n")
    (countersign-files-changed root "a.txt" "modified")
    (should (string-prefix-p "after" (buffer-string)))
    (should-not (buffer-modified-p))
    (should-not (equal fill-column 7))))

(ert-deftest countersign-files-never-lose-what-is-not-saved ()
  "[UI-3] A buffer with changes is left alone, and its person is warned."
  (countersign-test-with-file root file
    (insert "mine ")
    (countersign-test-change file "after\n")
    (let ((warnings '()))
      (cl-letf (((symbol-function 'display-warning) (lambda (_type text &rest _) (push text warnings))))
        (countersign-files-changed root "a.txt" "modified"))
      (should (equal (buffer-string) "mine before\n"))
      (should (buffer-modified-p))
      (should (equal (length warnings) 1))
      (should (string-search "unsaved changes" (car warnings))))))

(ert-deftest countersign-files-keep-the-buffer-of-a-deleted-file ()
  (countersign-test-with-file root file
    (delete-file file)
    (countersign-files-changed root "a.txt" "deleted")
    (should (equal (buffer-string) "before\n"))
    (should (buffer-live-p (current-buffer)))))

(ert-deftest countersign-files-leave-what-is-elsewhere ()
  "Paths that lead out of the workspace, and strange ones, are none of ours."
  (countersign-test-with-file root file
    (countersign-test-change file "after\n")
    (countersign-files-changed (expand-file-name "sub" root) "../a.txt" "modified")
    (countersign-files-changed (expand-file-name "sub" root) file "modified")
    (dolist (event (countersign-test-fixture "events/file.changed.json"))
      (countersign-files-changed root (countersign-get event 'path) (countersign-get event 'operation)))
    (countersign-files-changed root "" "modified")
    (countersign-files-changed root "/ssh:host:/x" "modified")
    (should (equal (buffer-string) "before\n"))
    (let ((countersign-revert-buffers nil))
      (countersign-files-changed root "a.txt" "modified"))
    (should (equal (buffer-string) "before\n"))))

;;;; Programs and tokens

(defmacro countersign-test-with-program (script &rest body)
  "Run BODY where SCRIPT, of the shell, is the countersign program."
  (declare (indent 1) (debug t))
  `(let* ((program (make-temp-file "countersign-program"))
          (countersign-program (list "/bin/sh" program)))
     (write-region ,script nil program nil 'quiet)
     (unwind-protect (progn ,@body) (delete-file program))))

(ert-deftest countersign-process-keeps-the-token-off-the-command-line ()
  "[RE-5] The runner gets the token by its environment; its arguments name the folder."
  (countersign-test-with-program "echo \"args: $*\"; echo \"token: ${COUNTERSIGN_TOKEN}\"; exec sleep 60"
    (countersign-test-with-clean-state
      (let ((project (countersign-fake-project)))
        (cl-letf (((symbol-function 'countersign-auth-token) (lambda (_) "the-secret")))
          (countersign-process-start-runner project))
        (countersign-process-start-runner project) ; a second one is not started
        (let ((process (countersign-project-runner-process project)))
          (should-not (string-search "the-secret" (string-join (process-command process) " ")))
          (countersign-test-wait
           (let ((log (get-buffer (countersign-process--log-name project))))
             (and log (string-search "token: the-secret" (with-current-buffer log (buffer-string))))))
          (with-current-buffer (countersign-process--log-name project)
            (should (string-search (format "args: connect --no-prompt --end-with-input --server http://127.0.0.1:9 --project p1 %s"
                                           (countersign-project-root project))
                                   (buffer-string))))
          (countersign-disconnect project)
          (countersign-test-wait (not (process-live-p process))))))))

(ert-deftest countersign-process-says-why-a-runner-ended ()
  "[RN-10] When another runner has the workspace, its words are told."
  (countersign-test-with-program "echo 'terminal (process 7) is the runner of this workspace already' >&2; exit 1"
    (countersign-test-with-clean-state
      (let ((project (countersign-fake-project)) (said '()))
        (cl-letf (((symbol-function 'message)
                   (lambda (format &rest args) (when format (push (apply #'format format args) said)))))
          (countersign-process-start-runner project)
          (countersign-test-wait (cl-some (lambda (text) (string-search "is the runner of this workspace already" text))
                                          said)))))))

(ert-deftest countersign-process-starts-up-and-signs-in ()
  "M-x countersign without a server starts `countersign up' and uses its link once."
  (let ((fake (countersign-fake-start
               (lambda (exchange)
                 (countersign-fake-answer
                  exchange 200
                  (pcase (countersign-fake-exchange-path exchange)
                    ("/sign-in" "{\"success\":true,\"token\":\"fresh-token\",\"expires_at\":\"x\"}")
                    ("/my/projects" (if (equal (countersign-fake-exchange-method exchange) "POST")
                                        "{\"success\":true,\"project\":{\"project_id\":\"p7\"}}"
                                      "{\"success\":true,\"projects\":[]}"))
                    (_ "{\"success\":true,\"sessions\":[]}")))))))
    (unwind-protect
        (countersign-test-with-program
            (format "echo \"$*\" > \"$0.args\"; echo '{\"ready\":true,\"address\":\"http://127.0.0.1:%d\",\"sign_in_link\":\"http://127.0.0.1:%d/#sign-in=0123456789abcdefghij\"}'; exec sleep 60"
                    (countersign-fake-port fake) (countersign-fake-port fake))
          (countersign-test-with-clean-state
            (let* ((root (countersign-project-root-name (make-temp-file "countersign" t)))
                   (project (countersign-connect root)))
              (countersign-test-wait (equal (countersign-project-id project) "p7"))
              (let ((sign-in (car (last (countersign-fake-exchanges fake)))))
                (should (equal (countersign-fake-exchange-body sign-in) "{\"code\":\"0123456789abcdefghij\"}"))
                (should-not (countersign-fake-header sign-in "authorization")))
              (countersign-test-wait
               (cl-some (lambda (exchange)
                          (and (string-suffix-p "/chat/stream" (countersign-fake-exchange-path exchange))
                               (equal (countersign-fake-header exchange "authorization") "Bearer fresh-token")))
                        (countersign-fake-exchanges fake)))
              (should (equal (with-temp-buffer (insert-file-contents (concat program ".args")) (buffer-string))
                             (format "up --json --no-open --end-with-input %s\n" root)))
              (should-not (countersign-project-runner-process project))
              (let ((process (countersign-project-up-process project)))
                (countersign-disconnect project)
                (countersign-test-wait (not (process-live-p process)))))))
      (countersign-fake-stop fake))))

(ert-deftest countersign-process-bears-programs-that-fail ()
  "A program that is missing, ends or prints rubbish is told about."
  (dolist (script '("exit 3" "echo rubbish; exec sleep 60" "echo '{\"ready\":true}'; sleep 60"
                    "echo '{\"address\":\"http://example.org\",\"sign_in_link\":\"x\"}'; sleep 60"))
    (countersign-test-with-program script
      (countersign-test-with-clean-state
        (let ((project (countersign-connect (countersign-project-root-name temporary-file-directory))))
          (countersign-test-wait (eq (countersign-project-state project) 'failed))
          (should (stringp (countersign-project-problem project)))))))
  (countersign-test-with-clean-state
    (let ((countersign-program '("countersign-is-not-there")))
      (should-error (countersign-connect "/tmp") :type 'user-error)
      (should-not countersign-projects))))

(ert-deftest countersign-auth-finds-tokens-in-auth-source ()
  "[RE-5] The token comes from auth-source, by host and port."
  (let* ((file (make-temp-file "authinfo" nil nil "machine 127.0.0.1 port 4999 login countersign password abc\n"))
         (auth-sources (list file)) (auth-source-do-cache nil))
    (unwind-protect
        (progn
          (should (equal (countersign-auth-token (countersign-server-at "http://127.0.0.1:4999")) "abc"))
          (should-not (countersign-auth-token (countersign-server-at "http://127.0.0.1:4998"))))
      (delete-file file))))

(ert-deftest countersign-auth-keeps-a-token-in-auth-source ()
  "[RE-5] Signing in offers the token to auth-source."
  (let* ((file (make-temp-file "authinfo")) (auth-sources (list file))
         (auth-source-save-behavior t) (auth-source-do-cache nil) (inhibit-message t)
         (fake (countersign-fake-start
                (lambda (exchange)
                  (countersign-fake-answer exchange 200 "{\"success\":true,\"token\":\"kept-token\",\"expires_at\":\"x\"}"))))
         (server (countersign-fake-server fake)) (done nil))
    (unwind-protect
        (progn
          (countersign-auth-sign-in server "0123456789abcdefghij" (lambda (problem) (setq done (list problem))) t)
          (countersign-test-wait done)
          (should (equal done '(nil)))
          (clrhash countersign-auth--fresh)
          (should (equal (countersign-auth-token server) "kept-token")))
      (countersign-fake-stop fake)
      (delete-file file))))

(ert-deftest countersign-auth-reads-links ()
  (should (equal (countersign-auth-read-link " http://127.0.0.1:4180/#sign-in=0123456789abcdefghij\n")
                 '("http://127.0.0.1:4180" . "0123456789abcdefghij")))
  (should (equal (countersign-auth-read-link "0123456789abcdefghij") '(nil . "0123456789abcdefghij")))
  (dolist (bad '("" "http://x" "http://x/#sign-in=short" "javascript:alert(1)"))
    (should-error (countersign-auth-read-link bad) :type 'user-error)))

(ert-deftest countersign-refuses-a-folder-on-another-machine ()
  (let ((default-directory "/ssh:host:/home/me/"))
    (cl-letf (((symbol-function 'project-current) #'ignore))
      (should-error (countersign--root nil) :type 'user-error))))

(provide 'countersign-buffers-test)

;;; countersign-buffers-test.el ends here
