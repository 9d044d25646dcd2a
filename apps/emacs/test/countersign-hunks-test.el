;;; countersign-hunks-test.el --- Approving some hunks of a change  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Code:

(require 'countersign-live)

(defconst countersign-hunks-test-before
  (mapconcat (lambda (n) (format "line %d\n" n)) (number-sequence 1 40) "")
  "A file with room for several hunks.")

(defun countersign-hunks-test-after (&rest numbers)
  "Return the file with the lines NUMBERS changed."
  (mapconcat (lambda (n) (format (if (memq n numbers) "changed %d\n" "line %d\n") n)) (number-sequence 1 40) ""))

(defun countersign-hunks-test-diff (before after)
  "Return the unified diff from BEFORE to AFTER, as the program diff makes it."
  (let ((one (make-temp-file "countersign-one")) (two (make-temp-file "countersign-two")))
    (write-region before nil one nil 'quiet)
    (write-region after nil two nil 'quiet)
    (unwind-protect
        (with-temp-buffer
          (call-process "diff" nil t nil "-u" one two)
          (buffer-string))
      (delete-file one)
      (delete-file two))))

(ert-deftest countersign-hunks-are-taken-out-exactly ()
  "Without all hunks a text is the one before; without some it has the others."
  (let* ((before countersign-hunks-test-before)
         (after (countersign-hunks-test-after 2 20 39))
         (hunks (countersign-hunks-read (countersign-hunks-test-diff before after))))
    (should (= (length hunks) 3))
    (should (equal (countersign-hunks-revert after hunks) before))
    (should (equal (countersign-hunks-revert after '()) after))
    (should (equal (countersign-hunks-revert after (list (nth 1 hunks))) (countersign-hunks-test-after 2 39))))
  ;; Insertions, deletions, an empty file, and a file without a last line feed.
  (pcase-dolist (`(,before ,after) '(("a\nb\n" "a\n") ("" "a\nb\n") ("a\n" "") ("a" "a\n") ("a\nb" "a\nc")
                                     ("a\n\nb\n" "a\n\n\nb\nc") ("-- x\n" "++ x\n")))
    (should (equal (list after (countersign-hunks-revert
                                after (countersign-hunks-read (countersign-hunks-test-diff before after))))
                   (list after before)))))

(ert-deftest countersign-hunks-in-doubt-nothing-is-sent ()
  "A line that differs from the diff, or whose hidden characters are named, is refused."
  (let ((hunks (countersign-hunks-read "@@ -1 +1 @@\n-a\n+b\n")))
    (should-error (countersign-hunks-revert "c\n" hunks) :type 'user-error)
    (should-error (countersign-hunks-revert "" hunks) :type 'user-error)
    (should-error (countersign-hunks-revert "b\n" (countersign-hunks-read "@@ -1 +1 @@\n-a⟨U+202E⟩\n+b\n")) :type 'user-error)
    (should-error (countersign-hunks-revert "b\n" (countersign-hunks-read "@@ -90 +90 @@\n-a\n+b\n")) :type 'user-error)))

(ert-deftest countersign-hunks-edit-names-a-text-that-occurs-once ()
  "The one edit that remains has an old text that is unique in the file."
  (let ((before (apply #'concat (make-list 6 "same\nother\n"))))
    (pcase-dolist (`(,from ,to) `((,before ,(concat "SAME" (substring before 4)))
                                  (,before ,(concat before "new\n"))
                                  (,before ,(concat "new\n" before))
                                  (,countersign-hunks-test-before ,(countersign-hunks-test-after 3 30))
                                  ("a\n" "")))
      (let* ((edit (countersign-hunks--edit from to))
             (old (countersign-get edit 'old)))
        (should-not (string-empty-p old))
        (should-not (string-search old from (1+ (string-search old from))))
        (should (equal (countersign-hunks--replaced from edit) to))))))

(defun countersign-hunks-test-approval (params diff &rest fields)
  "Return an approval of a call with PARAMS, whose preview is DIFF, with FIELDS."
  (apply #'countersign-test-approval
         `(tool_params . ,params)
         `(preview . ((kind . "diff") (files . [((path . "a.txt") (operation . "modified") (diff . ,diff)
                                                 (truncated . :false) (size_before . 1) (size_after . 1))])))
         fields))

(defun countersign-hunks-test-open (project approval)
  "Let APPROVAL arrive in PROJECT and show its hunks; keys count then."
  (let ((pending (countersign-test-arrive project approval)))
    (countersign-test-look project pending)
    (countersign-test-press "d")
    (should (derived-mode-p 'countersign-hunks-mode))
    (countersign-test-wait (countersign-approval-armed-p))
    pending))

(ert-deftest countersign-hunks-some-are-an-edit ()
  "[AP-6] n, p and y choose hunks; C-c C-c approves with parameters that have only these."
  (countersign-test-with-approvals project fake
    (let ((after (countersign-hunks-test-after 2 20 39)))
      (countersign-hunks-test-open
       project (countersign-hunks-test-approval `((path . "a.txt") (content . ,after) (mode . "write"))
                                                (countersign-hunks-test-diff countersign-hunks-test-before after)))
      (should-error (countersign-test-press "C-c C-c") :type 'user-error) ; nothing is chosen
      (countersign-test-press "y")
      (countersign-test-press "n")
      (countersign-test-press "y")
      (should (string-search "2 of 3 hunks chosen" (countersign-hunks--header)))
      (countersign-test-press "p")
      (countersign-test-press "p")
      (countersign-test-press "u")
      (should (string-search "1 of 3 hunks chosen" (countersign-hunks--header)))
      (countersign-test-press "C-c C-c")
      (countersign-test-wait (null (countersign-waiting)))
      (should (equal (countersign-get (cdr (countersign-test-sent fake)) 'tool_params)
                     `((path . "a.txt") (content . ,(countersign-hunks-test-after 39)) (mode . "write"))))
      (should-not (get-buffer "*countersign diff*")))))

(ert-deftest countersign-hunks-all-are-the-call-itself ()
  "[AP-8] All hunks approve the call as it is, by its digest."
  (countersign-test-with-approvals project fake
    (let* ((after (countersign-hunks-test-after 2 20))
           (pending (countersign-hunks-test-open
                     project (countersign-hunks-test-approval
                              `((path . "a.txt") (content . ,after))
                              (countersign-hunks-test-diff countersign-hunks-test-before after)))))
      (countersign-test-press "y")
      (countersign-test-press "y")
      (countersign-test-press "C-c C-c")
      (countersign-test-wait (null (countersign-waiting)))
      (let ((body (cdr (countersign-test-sent fake))))
        (should-not (assq 'tool_params body))
        (should (equal (countersign-get body 'digest) (countersign-pending-get pending 'digest)))))))

(ert-deftest countersign-hunks-keep-the-promises-of-a-card ()
  "[UI-6] Too early, changed meanwhile, HIGH without a typed yes: nothing is sent."
  (countersign-test-with-approvals project fake
    (let* ((after (countersign-hunks-test-after 2 20))
           (approval (countersign-hunks-test-approval
                      `((path . "a.txt") (content . ,after))
                      (countersign-hunks-test-diff countersign-hunks-test-before after) '(risk_level . "HIGH")))
           (pending (countersign-test-arrive project approval)))
      (countersign-test-look project pending)
      (countersign-test-press "d")
      (should-error (countersign-test-press "y") :type 'user-error)
      (countersign-test-wait (countersign-approval-armed-p))
      (countersign-test-press "y")
      (countersign-test-answering '("y") (should-error (countersign-test-press "C-c C-c") :type 'user-error))
      (should-not (countersign-fake-exchanges fake))
      (countersign-project-receive project "approval.updated" (countersign--merge approval '((revision . 9))))
      (should-error (countersign-test-press "C-c C-c") :type 'user-error)
      (should-not (countersign-fake-exchanges fake))
      ;; Going back decides nothing.
      (countersign-test-press "q")
      (should (derived-mode-p 'countersign-approval-mode))
      (should (countersign-waiting)))))

(ert-deftest countersign-hunks-of-other-calls-cannot-be-chosen ()
  "A call of several files, or with a cut diff, is shown without places to choose."
  (countersign-test-with-approvals project fake
    (countersign-hunks-test-open
     project (countersign-test-approval
              '(preview . ((kind . "diff")
                           (files . [((path . "a") (operation . "modified") (diff . "@@ -1 +1 @@\n-a\n+b\n") (truncated . t)
                                      (size_before . 1) (size_after . 1))])))))
    (should (string-search "q goes back to the card" (countersign-hunks--header)))
    (should-error (countersign-test-press "y") :type 'user-error)))

(ert-deftest countersign-hunks-live ()
  "[AP-6] With the real server and runner, only the chosen hunk of an edit reaches the file."
  (countersign-live-with-project project root
    (write-region countersign-hunks-test-before nil (expand-file-name "a.txt" root) nil 'quiet)
    (countersign-live-say project "/edit_file {\"path\": \"a.txt\", \"old\": \"0\\n\", \"new\": \"0!\\n\", \"replace_all\": true}")
    (let ((pending (countersign-live-asked project)))
      (countersign-test-look project pending)
      (countersign-test-press "d")
      (countersign-test-wait (countersign-approval-armed-p))
      (should (> (length countersign-hunks--places) 2))
      (countersign-test-press "n")
      (countersign-test-press "y")
      (countersign-test-press "C-c C-c")
      (countersign-live-shows project "Edited a.txt  \\+1 −1")
      (should (equal (countersign-live-read root "a.txt")
                     (string-replace "line 20\n" "line 20!\n" countersign-hunks-test-before))))))

(provide 'countersign-hunks-test)

;;; countersign-hunks-test.el ends here
