;;; countersign-test-helper.el --- What the tests share  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Paths, fixtures, patience, and the real server in a process of its own.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'countersign)
(require 'countersign-fakes)

(setq countersign-language 'en)

(defconst countersign-test-root
  (expand-file-name "../../.." (file-name-directory (or load-file-name buffer-file-name)))
  "The root of the repository.")

(defun countersign-test-fixture (path)
  "Return the examples in the fixture PATH as a list."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8))
      (insert-file-contents (expand-file-name (concat "packages/protocol/fixtures/" path)
                                              countersign-test-root)))
    (append (countersign-json-read (buffer-string)) nil)))

(defun countersign-test-fixtures (folder)
  "Return (NAME . EXAMPLES) of all fixtures in FOLDER."
  (mapcar (lambda (file)
            (cons (file-name-sans-extension (file-name-nondirectory file))
                  (countersign-test-fixture (concat folder "/" (file-name-nondirectory file)))))
          (directory-files (expand-file-name (concat "packages/protocol/fixtures/" folder)
                                             countersign-test-root)
                           t "\\.json\\'")))

(defconst countersign-test-eventually 120
  "How many seconds to wait for what must come, also on a machine that does much else.")

(defun countersign-test-until (what condition &optional seconds)
  "Wait until CONDITION holds, for SECONDS if that is longer than usual; WHAT is said when it does not."
  (let ((until (+ (float-time) (max countersign-test-eventually (or seconds 0))))
        (value nil))
    (while (and (not (setq value (funcall condition))) (< (float-time) until))
      (accept-process-output nil 0.02))
    (unless value (ert-fail (format "It did not come to this: %s" (if (functionp what) (funcall what) what))))
    value))

(defmacro countersign-test-wait (condition &optional seconds)
  "Wait until CONDITION, a form, holds, for SECONDS if that is longer than usual."
  `(countersign-test-until ',condition (lambda () ,condition) ,seconds))

(defun countersign-test-pass (seconds)
  "Let SECONDS pass, with timers and processes going on."
  (let ((until (+ (float-time) seconds)))
    (while (< (float-time) until) (accept-process-output nil 0.02))))

(defmacro countersign-test-with-clean-state (&rest body)
  "Run BODY with no project, and leave none behind."
  (declare (indent 0) (debug t))
  `(let ((countersign-projects '())
         (countersign-approval--attended nil)
         (countersign-approval--armed nil)
         (inhibit-message t))
     (save-window-excursion
       (unwind-protect (progn ,@body)
         (mapc #'countersign-disconnect (copy-sequence countersign-projects))
         (dolist (buffer (buffer-list))
           (when (string-prefix-p "*countersign" (buffer-name buffer)) (kill-buffer buffer)))))))

(defvar countersign-test-prompts '() "What was asked in the minibuffer, latest first.")

(defmacro countersign-test-answering (answers &rest body)
  "Run BODY; the minibuffer answers ANSWERS, a list of strings, in turn."
  (declare (indent 1) (debug t))
  `(let ((answers ,answers))
     (cl-letf (((symbol-function 'read-from-minibuffer)
                (lambda (prompt &rest _)
                  (push prompt countersign-test-prompts)
                  (or (pop answers) (ert-fail "Nothing was to be asked"))))
               ((symbol-function 'completing-read)
                (lambda (_prompt table &rest _)
                  (let ((wanted (or (pop answers) (ert-fail "Nothing was to be asked"))))
                    (or (cl-find-if (lambda (choice) (string-match-p wanted choice))
                                    (all-completions "" table))
                        (ert-fail (format "%s is not offered: %S" wanted
                                          (all-completions "" table)))))))
               ((symbol-function 'y-or-n-p) (lambda (&rest _) (equal "y" (pop answers)))))
       ,@body)))

(defun countersign-test-press (key)
  "Do what KEY does in the selected window, whose buffer is current then."
  (set-buffer (window-buffer (selected-window)))
  (call-interactively (or (key-binding (kbd key)) (ert-fail (format "%s does nothing" key))))
  (set-buffer (window-buffer (selected-window))))

(defun countersign-test-look (project pending)
  "Look at the card of PENDING in PROJECT for long enough."
  (countersign-approval-visit project pending)
  (countersign-test-wait (countersign-approval-armed-p)))

;;;; Approvals without a server

(defconst countersign-test-digest (concat "sha256:" (make-string 64 ?a)))

;; Parameters can be too deep for Emacs to digest: then no digest fits.
(defun countersign-test--digest-of (data)
  "Return the digest of what is shown of DATA, or one that does not fit."
  (or (ignore-errors (countersign-shown-digest data)) countersign-test-digest))

(defun countersign-test-sealed (data)
  "Return the approval DATA with the digest of what it shows.
A digest that the test made up is taken for the runner's part of it."
  (let ((base (or (alist-get 'digest data) :null)))
    (setq data (countersign--merge data `((digest_base . ,base))))
    (if (or (eq base :null) (null (countersign-get data 'preview)) (countersign-get data 'omitted)) data
      (countersign--merge data `((digest . ,(countersign-test--digest-of data)))))))

(defun countersign-test-approval (&rest fields)
  "Return an approval request with a preview, and with FIELDS as (NAME . VALUE)."
  (countersign-test-sealed
   (countersign--merge
   (car (countersign-test-fixture "events/tool.approval_request.json"))
   (append fields
           `((project_id . "p1") (tool_name . "write_file") (risk_level . "MEDIUM")
             (agent . "Agent") (description . "Agent wants to change config.json")
             (tool_params . ((path . "config.json") (content . "{\"port\": 8080}\n")))
             (digest . ,countersign-test-digest)
             (preview . ((kind . "diff")
                         (files . [((path . "config.json") (operation . "modified")
                                    (diff . "--- a/config.json\n+++ b/config.json\n@@ -1 +1 @@\n-{\"port\": 3000}\n+{\"port\": 8080}\n")
                                    (truncated . :false) (size_before . 15) (size_after . 15))]))))))))

(defun countersign-test-arrive (project approval)
  "Let APPROVAL arrive in PROJECT; answer what waits then."
  (countersign-project-receive project "tool.approval_request" approval)
  (countersign-project-find-pending project (countersign-get approval 'approval_id)))

(defun countersign-test-card-text (pending)
  "Return the text of the card of PENDING."
  (with-current-buffer (countersign-approval--buffer pending) (buffer-string)))

(defmacro countersign-test-with-approvals (project fake &rest body)
  "Run BODY with PROJECT, whose requests go to FAKE, which accepts everything."
  (declare (indent 2) (debug t))
  `(let ((,fake (countersign-fake-start
                 (lambda (exchange)
                   (countersign-fake-answer exchange 200 "{\"success\":true,\"status\":\"approved\"}")))))
     (unwind-protect
         (countersign-test-with-clean-state
           (let ((,project (countersign-fake-project nil ,fake)))
             ,@body))
       (countersign-fake-stop ,fake))))

(defun countersign-test-sent (fake)
  "Return (PATH . BODY) of the last request that FAKE got."
  (let ((exchange (car (countersign-fake-exchanges fake))))
    (and exchange (cons (countersign-fake-exchange-path exchange)
                        (countersign-json-read (decode-coding-string
                                                (countersign-fake-exchange-body exchange) 'utf-8))))))

(provide 'countersign-test-helper)

;;; countersign-test-helper.el ends here
