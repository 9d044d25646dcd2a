;;; run.el --- Runs all tests in batch and counts them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; emacs -Q --batch -l apps/emacs/test/run.el
;;
;; COUNTERSIGN_ERT_SELECTOR chooses tests by a regexp on their names; the
;; counts are written to the file that COUNTERSIGN_ERT_COUNTS names, and with
;; COUNTERSIGN_ERT_COVERAGE also which lines were reached.

;;; Code:

(setq load-prefer-newer t)

(let ((here (file-name-directory load-file-name)))
  (add-to-list 'load-path here)
  (add-to-list 'load-path (expand-file-name ".." here))
  (when (getenv "COUNTERSIGN_ERT_COVERAGE")
    (require 'countersign-coverage)
    (countersign-coverage-start))
  (dolist (name '("countersign-conventions-test" "countersign-protocol-test" "countersign-transport-test"
                  "countersign-buffers-test" "countersign-conversation-test" "countersign-hunks-test" "countersign-trial-test" "countersign-take-back-test"
                  "countersign-words-test" "countersign-golden-test" "countersign-hostile-test" "countersign-live-test" "countersign-terminal-test" "countersign-tls-test"))
    (load (expand-file-name name here) nil t)))

(setq ert-batch-backtrace-right-margin 160)

(declare-function countersign-coverage-start "countersign-coverage")
(declare-function countersign-coverage-report "countersign-coverage")

(defun countersign-run--failures (stats)
  "Return the names of the tests of STATS that did not end as expected."
  (let (names)
    (dotimes (index (length (ert--stats-tests stats)) (nreverse names))
      (let ((result (aref (ert--stats-test-results stats) index))
            (test (aref (ert--stats-tests stats) index)))
        (unless (or (null result) (ert-test-skipped-p result) (ert-test-result-expected-p test result))
          (push (ert-test-name test) names))))))

(let* ((selector (getenv "COUNTERSIGN_ERT_SELECTOR"))
       (file (getenv "COUNTERSIGN_ERT_COUNTS"))
       (stats (ert-run-tests-batch (if (member selector '(nil "")) t selector)))
       (failed (ert-stats-completed-unexpected stats))
       (passed (ert-stats-completed-expected stats)))
  (when file
    (with-temp-file file
      (insert (json-serialize
               (append
                (list :passed passed
                      :failures (vconcat (mapcar #'symbol-name (countersign-run--failures stats))))
                (when (featurep 'countersign-coverage)
                  (list :coverage (countersign-coverage-report))))))))
  (kill-emacs (if (zerop failed) 0 1)))

;;; run.el ends here
