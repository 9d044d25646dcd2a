;;; countersign-conventions-test.el --- Conventions of Emacs packages  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'checkdoc)
(require 'countersign-test-helper)

(defun countersign-test-sources ()
  "Return the files of the package."
  (directory-files (expand-file-name "apps/emacs" countersign-test-root) t "\\`countersign.*\\.el\\'"))

(ert-deftest countersign-conventions-compiles-without-a-warning ()
  "Every file byte-compiles in a separate Emacs without a warning."
  (let ((folder (make-temp-file "countersign-elc" t)))
    (unwind-protect
        (with-temp-buffer
          (dolist (file (countersign-test-sources))
            (copy-file file (expand-file-name (file-name-nondirectory file) folder)))
          (let ((status (apply #'call-process (expand-file-name invocation-name invocation-directory)
                               nil t nil "-Q" "--batch" "-L" folder
                               "--eval" "(setq byte-compile-error-on-warn t)"
                               "-f" "batch-byte-compile"
                               (directory-files folder t "\\.el\\'"))))
            (should (equal (list status (buffer-string)) '(0 "")))))
      (delete-directory folder t))))

(ert-deftest countersign-conventions-pass-checkdoc ()
  "Checkdoc finds nothing."
  (let ((findings '()))
    (cl-letf (((symbol-function 'checkdoc-create-error)
               (lambda (text &rest _) (push (format "%s: %s" (buffer-name) text) findings) nil))
              ((symbol-function 'checkdoc-error)
               (lambda (_point text) (push (format "%s: %s" (buffer-name) text) findings) nil)))
      (dolist (file (countersign-test-sources))
        (with-current-buffer (find-file-noselect file)
          (let ((inhibit-message t) (checkdoc-autofix-flag nil)
                (checkdoc-force-docstrings-flag t))
            (checkdoc-current-buffer t))
          (kill-buffer))))
    (should-not findings)))

(defun countersign-test-emacs (&rest arguments)
  "Run another Emacs with ARGUMENTS; return its exit status and what it printed."
  (with-temp-buffer
    (let* ((coding-system-for-read 'utf-8)
           (status (apply #'call-process (expand-file-name invocation-name invocation-directory)
                          nil t nil "-Q" "--batch" arguments)))
      (list status (buffer-string)))))

(ert-deftest countersign-conventions-pass-package-lint ()
  "Package-lint finds nothing.  Debian has it as elpa-package-lint."
  (let ((folders (file-expand-wildcards "/usr/share/emacs/site-lisp/elpa/*-[0-9]*")))
    (should (cl-some (lambda (folder) (string-search "package-lint" folder)) folders))
    (let ((said (cadr (apply #'countersign-test-emacs
                             (append (cl-mapcan (lambda (folder) (list "-L" folder)) folders)
                                     (list "-l" "package-lint"
                                           "--eval" (format "(setq package-lint-main-file %S)"
                                                            (expand-file-name "apps/emacs/countersign.el" countersign-test-root))
                                           "-f" "package-lint-batch-and-exit")
                                     (countersign-test-sources))))))
      ;; Debian's version 0.16 is older than Emacs 28.1, so it takes that for unreleased.
      (should (equal (cl-remove-if (lambda (line)
                                     (string-match-p "\\`Entering directory\\|uninstallable in all released Emacs versions" line))
                                   (split-string said "\n" t))
                     '())))))

(ert-deftest countersign-conventions-installs-as-a-package ()
  "`npm run package:emacs' makes a tar that package.el installs, and the installed package works."
  (let* ((folder (file-truename (make-temp-file "countersign-package" t)))
         (tar (with-temp-buffer
                (should (equal 0 (call-process (expand-file-name "node_modules/.bin/node" countersign-test-root) nil '(t nil) nil
                                               (expand-file-name "tooling/package/emacs.ts" countersign-test-root)
                                               "--out" folder)))
                (string-trim (buffer-string)))))
    (unwind-protect
        (progn
          (should (equal (directory-files folder nil "\\`[^.]") (list (file-name-nondirectory tar))))
          (pcase-let ((`(,status ,said)
                       (countersign-test-emacs
                        "--eval" (format "(setq package-user-dir %S)" (expand-file-name "elpa" folder))
                        "--eval" (format "(progn (require 'package) (package-initialize) (package-install-file %S))" tar))))
            (should (equal status 0))
            (should-not (string-match-p "Warning\\|Error" said)))
          ;; In a new Emacs, as a person starts it: only autoloads, then the package with its words.
          (should (equal
                   (countersign-test-emacs
                    "--eval" (format "(setq package-user-dir %S)" (expand-file-name "elpa" folder))
                    "--eval" "(progn (require 'package) (package-initialize))"
                    "--eval" "(princ (list (featurep 'countersign) (commandp 'countersign) (commandp 'countersign-menu) (commandp 'countersign-send-region) (commandp 'countersign-approvals)))"
                    "--eval" "(progn (require 'countersign) (setq countersign-language 'ru) (princ (countersign-words \"approve\")) (princ (string-suffix-p \".elc\" (symbol-file 'countersign))))")
                   '(0 "(nil t t t t)одобритьt"))))
      (delete-directory folder t))))

(ert-deftest countersign-conventions-internals-are-not-offered ()
  "M-x offers no internals, and commands of a buffer only in that buffer."
  (let ((everywhere '()) (internal '()))
    (require 'countersign-menu)
    (mapatoms (lambda (symbol)
                (when (and (string-prefix-p "countersign" (symbol-name symbol)) (commandp symbol)
                           (not (string-match-p "\\`countersign-\\(?:test\\|live\\|fake\\|terminal\\)" (symbol-name symbol))))
                  (when (string-search "--" (symbol-name symbol)) (push symbol internal))
                  (when (with-temp-buffer (command-completion-default-include-p symbol (current-buffer)))
                    (push symbol everywhere)))))
    (should-not internal)
    (should (equal (sort everywhere #'string<)
                   '(countersign countersign-approval-next countersign-approvals countersign-disconnect
                                 countersign-menu countersign-mode-line-mode countersign-send-defun countersign-send-region
                                 countersign-show-log countersign-sign-in countersign-start-runner countersign-stop-runner)))
    (with-temp-buffer
      (countersign-chat-mode)
      (should (command-completion-default-include-p 'countersign-chat-stop (current-buffer)))
      (should-not (command-completion-default-include-p 'countersign-approval-reject (current-buffer))))))

(ert-deftest countersign-conventions-has-what-a-package-archive-wants ()
  "Headers, lexical binding, one prefix, no dependency outside Emacs."
  (dolist (file (countersign-test-sources))
    (with-temp-buffer
      (insert-file-contents file)
      (let ((text (buffer-string)) (name (file-name-nondirectory file)))
        (should (string-match-p (format "\\`;;; %s --- .+  -\\*- lexical-binding: t; -\\*-\n" (regexp-quote name)) text))
        (dolist (wanted '("^;; Author: " "^;; URL: " "^;; SPDX-License-Identifier: " "^;;; Commentary:$" "^;;; Code:$"))
          (should (string-match-p wanted text)))
        (should (string-match-p (format "^(provide '%s)\n\n;;; %s ends here\n\\'" (file-name-sans-extension name)
                                        (regexp-quote name))
                                text))
        (goto-char (point-min))
        (while (re-search-forward "^(\\(?:cl-\\)?def[a-z-]+ '?(?\\([^ )\n]+\\)" nil t)
          (should (string-prefix-p "countersign" (match-string 1)))))))
  (with-temp-buffer
    (insert-file-contents (expand-file-name "apps/emacs/countersign.el" countersign-test-root))
    (require 'package)
    (let ((package (package-buffer-info)))
      (should (equal (package-desc-reqs package) '((emacs (28 1)))))
      (should (equal (package-desc-version package) '(0 1 0))))))

(ert-deftest countersign-conventions-loads-without-doing-anything ()
  "Loading starts nothing and changes no hook of windows; autoloads are made."
  (with-temp-buffer
    (let ((status (call-process (expand-file-name invocation-name invocation-directory) nil t nil
                                "-Q" "--batch" "-L" (expand-file-name "apps/emacs" countersign-test-root)
                                "-l" "countersign"
                                "--eval" "(princ (list (process-list) window-buffer-change-functions window-selection-change-functions (commandp 'countersign) (commandp 'countersign-approvals) (keymapp countersign-command-map)))")))
      (should (equal (list status (buffer-string)) '(0 "(nil nil nil t t t)"))))))

(ert-deftest countersign-conventions-can-be-customized ()
  "Every option has a type and belongs to the group."
  (let ((options (cl-loop for symbol being the symbols
                          when (and (string-prefix-p "countersign-" (symbol-name symbol))
                                    (custom-variable-p symbol))
                          collect symbol)))
    (should (> (length options) 8))
    (dolist (option options)
      (should (get option 'custom-type))
      (should (documentation-property option 'variable-documentation)))))

;;; countersign-conventions-test.el ends here
