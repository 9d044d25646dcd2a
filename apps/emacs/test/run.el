;;; run.el --- Runs all tests in batch and counts them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; emacs -Q --batch -l apps/emacs/test/run.el
;;
;; COUNTERSIGN_ERT_SELECTOR chooses tests by a regexp on their names; the
;; counts are written to the file that COUNTERSIGN_ERT_COUNTS names.

;;; Code:

(setq load-prefer-newer t)

(let ((here (file-name-directory load-file-name)))
  (add-to-list 'load-path here)
  (add-to-list 'load-path (expand-file-name ".." here))
  (dolist (name '("countersign-manners-test" "countersign-protocol-test" "countersign-transport-test"
                  "countersign-buffers-test" "countersign-words-test" "countersign-hostile-test" "countersign-live-test" "countersign-terminal-test" "countersign-tls-test"))
    (load (expand-file-name name here) nil t)))

(setq ert-batch-backtrace-right-margin 160)

(let* ((selector (getenv "COUNTERSIGN_ERT_SELECTOR"))
       (file (getenv "COUNTERSIGN_ERT_COUNTS"))
       (stats (ert-run-tests-batch (if (member selector '(nil "")) t selector)))
       (failed (ert-stats-completed-unexpected stats))
       (passed (ert-stats-completed-expected stats)))
  (when file
    (with-temp-file file
      (insert (format "{\"passed\": %d, \"failed\": %d, \"skipped\": %d}\n"
                      passed failed (ert-stats-skipped stats)))))
  (kill-emacs (if (zerop failed) 0 1)))

;;; run.el ends here
