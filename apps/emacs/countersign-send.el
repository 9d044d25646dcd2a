;;; countersign-send.el --- Send code of a buffer to the agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Quotes the region or the function at point in the draft of the project's
;; conversation, with its file and lines.  The person writes what to do with
;; it and sends it; with a prefix argument both happens in the minibuffer.

;;; Code:

(require 'thingatpt)
(require 'countersign-chat)
(require 'countersign-fontify)

(declare-function countersign-project-here "countersign" ())

;;;###autoload
(defun countersign-send-region (start end &optional now)
  "Quote the text between START and END in the draft for the agent.
With a prefix argument NOW, ask what the agent should do and send it."
  (interactive "r\nP")
  (when (= start end) (user-error "%s" (countersign-words "The region is empty")))
  (let ((quoted (countersign-send--quoted start end)))
    (if now
        (let ((task (string-trim (read-from-minibuffer (countersign-words "What should the agent do with it? ")))))
          (when (string-empty-p task) (user-error "%s" (countersign-words "There is nothing to send")))
          (countersign-send--in-chat (lambda () (countersign-chat-submit (concat task "\n\n" quoted)))))
      (countersign-send--in-chat
       (lambda ()
         (goto-char (point-max))
         (unless (or (= (point) countersign-chat--input) (bolp)) (insert "\n"))
         (insert quoted "\n"))))))

;;;###autoload
(defun countersign-send-defun (&optional now)
  "Quote the function at point in the draft for the agent.
With a prefix argument NOW, ask what the agent should do and send it."
  (interactive "P")
  (pcase (bounds-of-thing-at-point 'defun)
    (`(,start . ,end) (countersign-send-region start end now))
    (_ (user-error "%s" (countersign-words "There is no function at point")))))

(defun countersign-send--in-chat (function)
  "Call FUNCTION in the chat buffer of this project, and display that buffer.
The project is connected first if needed."
  (let* ((chat (countersign-chat-buffer (countersign-project-here)))
         (window (display-buffer chat)))
    (with-current-buffer chat
      (funcall function)
      (when (window-live-p window) (set-window-point window (point-max))))
    (when (window-live-p window) (select-window window))))

(defun countersign-send--quoted (start end)
  "Return the text between START and END as Markdown, with its place."
  (let* ((text (string-trim-right (buffer-substring-no-properties start end)))
         (fence "```")
         (root (and buffer-file-name (not (file-remote-p buffer-file-name)) (countersign-project-root (countersign-project-here))))
         (name (if root (file-relative-name (file-truename buffer-file-name) root) (buffer-name)))
         (language (cadr (assq major-mode countersign-code-modes))))
    ;; Code that has a fence needs a longer one around it.
    (while (string-search fence text) (setq fence (concat fence "`")))
    (format "%s:%d-%d\n%s%s\n%s\n%s" name (line-number-at-pos start t)
            (line-number-at-pos (+ start (length text)) t)
            fence (or language "") text fence)))

(provide 'countersign-send)

;;; countersign-send.el ends here
