;;; countersign-coverage.el --- Which lines of the package the tests reach  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Edebug instruments each file of the package as it is loaded, and its three
;; hooks are replaced: instead of stopping they note which places were reached.
;; A line counts if an expression begins or ends in it, and is covered if one
;; of these was reached.
;;
;; Other Emacs processes, such as the one in a terminal, are not measured.

;;; Code:

(require 'edebug)

(defconst countersign-coverage--folder
  (file-truename (expand-file-name ".." (file-name-directory load-file-name)))
  "Where the files are that count.")

(defvar countersign-coverage--definitions nil
  "List of (FILE LINES . REACHED), one for each definition that was instrumented.
LINES is a vector with the line of each place in it, REACHED one with t
for each place that was reached.")

(defvar countersign-coverage--file nil
  "The file that is being instrumented.")

(defvar countersign-coverage--reached nil
  "The places of the definition that is being executed.")

(defun countersign-coverage--reach (index)
  "Note that the place INDEX was reached."
  (when (and countersign-coverage--reached (< index (length countersign-coverage--reached)))
    (aset countersign-coverage--reached index t))
  index)

(defun countersign-coverage--enter (name _arguments body)
  "Call BODY, the body of the definition NAME."
  (let ((countersign-coverage--reached (get name 'countersign-coverage)))
    (funcall body)))

(defun countersign-coverage--after (_before after value)
  "Note that the place AFTER was reached, and return VALUE."
  (countersign-coverage--reach after)
  value)

(defun countersign-coverage--defined (name)
  "Begin to count NAME, which Edebug has instrumented in the current buffer."
  (pcase-let* ((`(,start ,_ ,offsets . ,_) (get name 'edebug))
               (lines (vconcat (mapcar (lambda (offset) (line-number-at-pos (+ start offset))) offsets)))
               (reached (make-vector (length lines) nil)))
    (put name 'countersign-coverage reached)
    (push (cons countersign-coverage--file (cons lines reached)) countersign-coverage--definitions)))

(defun countersign-coverage--load (path file noerror nomessage)
  "Load PATH for FILE, instrumented if it is ours; NOERROR and NOMESSAGE are as for `load'."
  (if (not (equal (file-truename (file-name-directory path)) (file-name-as-directory countersign-coverage--folder)))
      (load-with-code-conversion path file noerror nomessage)
    (with-current-buffer (find-file-noselect path)
      (let ((countersign-coverage--file path)
            (load-file-name path)
            (load-in-progress t)
            (inhibit-message t)
            (edebug-all-defs t)
            (edebug-initial-mode 'Go-nonstop)
            (edebug-new-definition-function #'countersign-coverage--defined))
        (eval-buffer nil nil path nil t))
      t)))

(defun countersign-coverage-start ()
  "Instrument what is loaded from now on."
  (mapc #'byte-compile ; they are called for each expression
        '(countersign-coverage--enter countersign-coverage--reach countersign-coverage--after))
  (fset 'edebug-enter #'countersign-coverage--enter)
  (fset 'edebug-before #'countersign-coverage--reach)
  (fset 'edebug-after #'countersign-coverage--after)
  (setq load-source-file-function #'countersign-coverage--load))

(defun countersign-coverage-report ()
  "Return a vector of (:path :lines :missed), one for each file."
  (let ((files (make-hash-table :test #'equal)))
    (pcase-dolist (`(,file ,places . ,reached) countersign-coverage--definitions)
      (let ((lines (or (gethash file files) (puthash file (make-hash-table) files))))
        (dotimes (index (length places))
          (let ((line (aref places index)))
            (puthash line (or (aref reached index) (gethash line lines)) lines)))))
    (let (report)
      (maphash (lambda (file lines)
                 (let ((missed nil))
                   (maphash (lambda (line reached) (unless reached (push line missed))) lines)
                   (push (list :path (concat "apps/emacs/" (file-name-nondirectory file))
                               :lines (hash-table-count lines)
                               :missed (vconcat (sort missed #'<)))
                         report)))
               files)
      (vconcat (sort report (lambda (a b) (string< (plist-get a :path) (plist-get b :path))))))))

(provide 'countersign-coverage)
;;; countersign-coverage.el ends here
