;;; countersign-files.el --- Revert buffers whose files tools changed  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; When a call has changed a file that is visited here, its buffer is
;; reverted.  A buffer with unsaved changes is not touched; the person is
;; warned instead.

;;; Code:

(require 'countersign-project)

(defcustom countersign-revert-buffers t
  "Whether buffers are reverted when a call changed their file."
  :type 'boolean
  :group 'countersign)

(defun countersign-files--event (project name payload)
  "Update buffers if the event NAME with PAYLOAD changed a file of PROJECT."
  (pcase name
    ("file.changed"
     (countersign-files-changed (countersign-project-root project)
                                (countersign-text-of payload 'path)
                                (countersign-get payload 'operation)))
    ("tool.result"
     ;; Not each of thousands of files has an event of its own.
     (when (or (countersign-get payload 'undo_id)
               (countersign-omits-p payload "result")
               (countersign-get payload 'result 'changed_files_incomplete)
               (>= (length (countersign-list-of payload 'result 'changed_files)) 1000))
       (countersign-files--look-at-all (countersign-project-root project))))))

(defun countersign-files--look-at-all (root)
  "Update the buffers of all files below ROOT that changed on disk."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (and buffer-file-name (not (file-remote-p buffer-file-name))
                 (not (verify-visited-file-modtime buffer)))
        (let ((path (file-relative-name (file-truename buffer-file-name) root)))
          (when (countersign-file-below root path)
            (countersign-files--follow buffer-file-name path "changed")))))))

(defun countersign-files-changed (root path operation)
  "Update the buffers of the file PATH below ROOT after OPERATION.
A path that leads out of ROOT is ignored."
  (let* ((file (countersign-file-below root path))
         (truename (and file (countersign-files--truename-below root file))))
    (when truename
      (dolist (buffer (buffer-list))
        (with-current-buffer buffer
          (when (and buffer-file-name
                     (or (equal buffer-file-name file)
                         (equal buffer-file-truename truename)))
            (countersign-files--follow file path operation)))))))

(defun countersign-files--truename-below (root file)
  "Return FILE in the form of `buffer-file-truename', or nil outside of ROOT.
A link may lead out of ROOT.  File name handlers are disabled, because
the name is not trusted."
  (let ((file-name-handler-alist nil))
    (ignore-errors
      (and (file-in-directory-p file root)
           (abbreviate-file-name (file-truename file))))))

(defun countersign-files--follow (file path operation)
  "Update this buffer after OPERATION on FILE, which is shown as PATH."
  (let ((name (countersign-one-line path 100)))
    (cond
     ((buffer-modified-p)
      (unless (verify-visited-file-modtime (current-buffer))
        (display-warning
         'countersign
         (countersign-words "%s was %s on disk by a tool, and your buffer `%s' has unsaved changes.
Nothing of yours was touched.  M-x diff-buffer-with-file shows the difference, M-x
revert-buffer takes the file, saving takes yours."
                 name (countersign-one-line (or operation "changed") 20) (buffer-name))
         :warning)))
     ((not (file-exists-p file))
      (message "%s" (countersign-words "%s was deleted on disk by a tool; its buffer is kept" name)))
     ((not countersign-revert-buffers) nil)
     ((not (verify-visited-file-modtime (current-buffer)))
      (condition-case problem
          ;; Keep the modes, so that local variables in the new text have no effect.
          (progn (revert-buffer t t t)
                 (message "%s" (countersign-words "%s was changed by a tool and read again" name)))
        (error (message "%s" (countersign-words "%s was changed by a tool and could not be read again: %s"
                        name (error-message-string problem)))))))))

(defun countersign-files-install ()
  "Revert buffers whose files were changed by tools."
  (add-hook 'countersign-event-functions #'countersign-files--event))

(provide 'countersign-files)

;;; countersign-files.el ends here
