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
                (checkdoc-force-docstrings-flag t) (checkdoc-verb-check-experimental-flag nil))
            (checkdoc-current-buffer t))
          (kill-buffer))))
    (should-not findings)))

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
