;;; countersign-edit.el --- Edit the parameters of a call before it is approved  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The parameters are edited as JSON, and one text of them as plain text.
;; The server checks edited parameters again (AP-6).

;;; Code:

(require 'countersign-approval)

(defvar countersign-edit-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'countersign-edit-approve)
    (define-key map (kbd "C-c C-k") #'countersign-edit-cancel)
    (define-key map (kbd "C-c '") #'countersign-edit-string)
    map)
  "Keys for editing parameters.")

(defvar-local countersign-edit--card nil "The buffer of the card that is edited.")
(defvar-local countersign-edit--drawn nil "Identity of the card when editing began.")

(define-derived-mode countersign-edit-mode text-mode "Edit-Call"
  "Mode for editing the parameters of a call before it is approved (AP-6).

\\{countersign-edit-mode-map}"
  :interactive nil
  (setq-local bidi-display-reordering nil)
  (setq header-line-format
        (countersign-words " Parameters as JSON.  %s approves with them, %s forgets them, %s edits a text"
                           (countersign-approval--keys "\\<countersign-edit-mode-map>\\[countersign-edit-approve]")
                           (countersign-approval--keys "\\<countersign-edit-mode-map>\\[countersign-edit-cancel]")
                           (countersign-approval--keys "\\<countersign-edit-mode-map>\\[countersign-edit-string]"))))

(defun countersign-approval-edit ()
  "Edit the parameters of this call, then approve it with them."
  (interactive nil countersign-approval-mode)
  (countersign-approval--check)
  (let ((card (current-buffer))
        (drawn countersign-approval--drawn)
        (text (countersign-json-pretty
               (countersign-get (countersign-pending-data countersign-approval--pending)
                                'tool_params)))
        (edit (generate-new-buffer "*countersign edit*")))
    (with-current-buffer edit
      (insert text "\n")
      (goto-char (point-min))
      (countersign-edit-mode)
      (setq countersign-edit--card card
            countersign-edit--drawn drawn)
      (set-buffer-modified-p nil))
    ;; Do not use `display-buffer': the window would forget that it was made for the card, and stay afterwards.
    (switch-to-buffer edit t t)))

(defun countersign-edit-approve ()
  "Approve the call with the parameters as they are here."
  (interactive nil countersign-edit-mode)
  (let ((params (countersign-params-read (buffer-substring-no-properties (point-min) (point-max))))
        (card countersign-edit--card)
        (drawn countersign-edit--drawn)
        (edit (current-buffer)))
    (unless (buffer-live-p card) (user-error "%s" (countersign-words "The call does not wait any more; your text is kept here")))
    (with-current-buffer card
      (countersign-approval--check-same drawn)
      (let ((project countersign-approval--project)
            (pending countersign-approval--pending))
        (when (equal params (countersign-pending-get pending 'tool_params))
          (user-error "%s" (countersign-words "Nothing was changed")))
        (countersign-approval--asking
          (countersign-approval--type-yes
           (countersign-words "Approve %s with these parameters?"
                   (countersign-one-line (or (countersign-pending-get pending 'tool_name) "it") 30))))
        (countersign-approval--send
         (lambda (callback)
           (countersign-project-approve
            project pending
            (lambda (problem)
              ;; Keep the edited text until the server has accepted it.
              (when (and (not problem) (buffer-live-p edit)) (kill-buffer edit))
              (funcall callback problem))
            :params (list params))))
        (when (eq (window-buffer (selected-window)) edit)
          (switch-to-buffer card t t)
          (unrecord-window-buffer nil edit))))))

(defun countersign-edit-cancel ()
  "Forget the edited parameters and go back to the card."
  (interactive nil countersign-edit-mode)
  (let ((card countersign-edit--card) (edit (current-buffer)))
    (when (buffer-live-p card) (switch-to-buffer card t t))
    (kill-buffer edit)))

(defvar-local countersign-edit--place nil "(BUFFER START END) of the string that is edited.")

(defvar countersign-edit-string-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c '") #'countersign-edit-string-done)
    (define-key map (kbd "C-c C-c") #'countersign-edit-string-done)
    map)
  "Keys for editing one string of the parameters.")

(define-derived-mode countersign-edit-string-mode text-mode "Edit-Text"
  "Mode for editing one string of the parameters as plain text.

\\{countersign-edit-string-mode-map}"
  :interactive nil
  (setq-local bidi-display-reordering nil)
  (setq header-line-format
        (countersign-words " %s puts it back"
                           (countersign-approval--keys
                            "\\<countersign-edit-string-mode-map>\\[countersign-edit-string-done]"))))

(defun countersign-edit-string ()
  "Edit the JSON string at point as plain text."
  (interactive nil countersign-edit-mode)
  (let* ((place (or (countersign-edit--string-at (point)) (user-error "%s" (countersign-words "Point is in no text"))))
         (text (countersign-json-read (buffer-substring-no-properties (car place) (cdr place))))
         (buffer (current-buffer))
         (start (copy-marker (car place)))
         (end (copy-marker (cdr place))))
    (switch-to-buffer (generate-new-buffer "*countersign edit text*") t t)
    (insert text)
    (goto-char (point-min))
    (countersign-edit-string-mode)
    (setq countersign-edit--place (list buffer start end))))

(defun countersign-edit--string-at (position)
  "Return (START . END) of the JSON string that POSITION is in, or nil.
On the name of a parameter, return the string after the name."
  (save-excursion
    (goto-char (point-min))
    (let ((found nil) (name nil))
      (while (and (not found)
                  (re-search-forward "\"\\(?:[^\"\\]\\|\\\\.\\)*\"" nil t))
        (let ((start (match-beginning 0)) (end (match-end 0)))
          (if (looking-at-p "[ \t]*:")
              (setq name start)
            (when (and (<= (or name start) position) (<= position end))
              (setq found (cons start end)))
            (setq name nil))))
      found)))

(defun countersign-edit-string-done ()
  "Put the text back into the parameters."
  (interactive nil countersign-edit-string-mode)
  (pcase-let ((`(,buffer ,start ,end) countersign-edit--place)
              (text (buffer-substring-no-properties (point-min) (point-max)))
              (here (current-buffer)))
    (unless (buffer-live-p buffer) (user-error "%s" (countersign-words "The parameters are gone; your text is kept here")))
    (with-current-buffer buffer
      (goto-char start)
      (delete-region start end)
      (insert (decode-coding-string (countersign-json-write text) 'utf-8))
      (goto-char start))
    (switch-to-buffer buffer t t)
    (kill-buffer here)))

(provide 'countersign-edit)

;;; countersign-edit.el ends here
