;;; countersign-hunks.el --- Approve some hunks of a change  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Shows the change of a call in `diff-mode', where each hunk can be chosen.
;; Approving all of them approves the call as it is.  Approving some is an
;; edit (AP-6): the parameters are made such that only these hunks happen,
;; and the server checks them again.
;;
;; The hunks that were not chosen are taken out of the text that the call
;; would write.  Each line must be the one that the diff shows; otherwise
;; nothing is sent.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'countersign-approval)
(require 'countersign-files)

;;;; Hunks as data

(cl-defstruct (countersign-hunk (:copier nil))
  "A hunk: NEW-START is a line number; OLD and NEW are lines with their ends."
  new-start old new)

(defun countersign-hunks-read (diff)
  "Return the hunks of DIFF, a unified diff of one file."
  (let ((hunks '()) hunk last)
    (dolist (line (split-string diff "\n"))
      (cond
       ((string-match "\\`@@ -[0-9]+\\(?:,[0-9]+\\)? \\+\\([0-9]+\\)\\(?:,\\([0-9]+\\)\\)? @@" line)
        (setq hunk (make-countersign-hunk
                    ;; Without new lines, the number is that of the line before.
                    :new-start (+ (string-to-number (match-string 1 line))
                                  (if (equal (match-string 2 line) "0") 1 0)))
              last nil)
        (push hunk hunks))
       ((or (null hunk) (string-empty-p line)))
       ((eq (aref line 0) ?\\)          ; "\ No newline at end of file"
        (pcase last
          ((or ?\s ?-) (setf (car (countersign-hunk-old hunk)) (string-trim-right (car (countersign-hunk-old hunk)) "\n"))))
        (pcase last
          ((or ?\s ?+) (setf (car (countersign-hunk-new hunk)) (string-trim-right (car (countersign-hunk-new hunk)) "\n")))))
       (t (let ((text (concat (substring line 1) "\n")))
            (setq last (aref line 0))
            (when (memq last '(?\s ?-)) (push text (countersign-hunk-old hunk)))
            (when (memq last '(?\s ?+)) (push text (countersign-hunk-new hunk)))))))
    (dolist (hunk hunks)
      (setf (countersign-hunk-old hunk) (nreverse (countersign-hunk-old hunk))
            (countersign-hunk-new hunk) (nreverse (countersign-hunk-new hunk))))
    (nreverse hunks)))

(defun countersign-hunks-lines (text)
  "Return the lines of TEXT, each with its end."
  (let ((lines '()) (start 0))
    (while (< start (length text))
      (let ((end (1+ (or (string-search "\n" text start) (1- (length text))))))
        (push (substring text start end) lines)
        (setq start end)))
    (nreverse lines)))

(defun countersign-hunks-revert (text hunks)
  "Return TEXT, to which a whole diff was applied, without HUNKS of it.
Signal a `user-error' if a line differs from the one in the diff."
  (let ((lines (countersign-hunks-lines text)))
    ;; From the end, so that line numbers stay right.
    (dolist (hunk (reverse hunks))
      (let* ((start (1- (countersign-hunk-new-start hunk)))
             (end (+ start (length (countersign-hunk-new hunk)))))
        (unless (and (<= 0 start end (length lines))
                     (equal (cl-subseq lines start end) (countersign-hunk-new hunk))
                     ;; Hidden characters are named in a diff, so that the line itself is not known.
                     (not (cl-some (lambda (line) (string-search "⟨" line)) (countersign-hunk-old hunk))))
          (user-error "%s" (countersign-words "The hunks of this change cannot be told apart exactly; approve all of it, or edit it")))
        (setq lines (append (cl-subseq lines 0 start) (countersign-hunk-old hunk) (nthcdr end lines)))))
    (string-join lines)))

(defun countersign-hunks-params (data root all left-out)
  "Return the parameters of the call DATA in ROOT without the hunks LEFT-OUT.
ALL are the hunks of its change."
  (let* ((params (countersign-get data 'tool_params))
         (content (countersign-get params 'content)))
    (pcase (countersign-get data 'tool_name)
      ((and "write_file" (guard (stringp content)) (guard (not (equal (countersign-get params 'mode) "append"))))
       (countersign-hunks--with params `((content . ,(countersign-hunks-revert content left-out)))))
      ("edit_file"
       (let* ((before (countersign-hunks--file root (countersign-text-of params 'path)))
              (after (countersign-hunks--replaced before params)))
         (unless (equal (countersign-hunks-revert after all) before)
           (user-error "%s" (countersign-words "The file is not the one of this change any more")))
         (countersign-hunks--with
          params (countersign-hunks--edit before (countersign-hunks-revert after left-out)))))
      (_ (user-error "%s" (countersign-words "The hunks of this call cannot be approved one by one"))))))

(defun countersign-hunks--with (params changed)
  "Return PARAMS with the values of CHANGED, in the same order."
  (append (mapcar (lambda (param) (or (assq (car param) changed) param)) params)
          (cl-remove-if (lambda (param) (assq (car param) params)) changed)))

(defun countersign-hunks--file (root path)
  "Return the text of the file PATH below ROOT, as it is on disk."
  (let* ((file (countersign-file-below root path))
         (file-name-handler-alist nil))
    (unless (and file (countersign-files--truename-below root file) (file-regular-p file)
                 (< (file-attribute-size (file-attributes file)) 10000000))
      (user-error "%s" (countersign-words "The file cannot be read here")))
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (insert-file-contents-literally file)
      (decode-coding-string (buffer-string) 'utf-8-unix))))

(defun countersign-hunks--replaced (text params)
  "Return TEXT after the replacement that PARAMS of an edit name."
  (let* ((old (countersign-text-of params 'old))
         (new (countersign-text-of params 'new))
         (found (and (not (string-empty-p old)) (string-search old text))))
    (cond ((null found) text)
          ((countersign-get params 'replace_all) (string-replace old new text))
          (t (concat (substring text 0 found) new (substring text (+ found (length old))))))))

(defun countersign-hunks--edit (before after)
  "Return `old' and `new' of one edit from the text BEFORE to AFTER.
The old text is made of whole lines and occurs once."
  (let* ((old (countersign-hunks-lines before))
         (new (countersign-hunks-lines after))
         (same (min (length old) (length new)))
         (head (or (cl-mismatch old new :test #'equal) same))
         (tail (let ((from-end (cl-mismatch (reverse old) (reverse new) :test #'equal)))
                 (min (or from-end same) (- same head))))
         (text ""))
    (while (let ((parts (cl-subseq old head (- (length old) tail))))
             (setq text (string-join parts))
             (and (or (string-empty-p text)
                      (string-search text before (1+ (string-search text before))))
                  (or (> head 0) (> tail 0))))
      (setq head (max 0 (1- head)) tail (max 0 (1- tail))))
    `((old . ,text)
      (new . ,(string-join (cl-subseq new head (- (length new) tail))))
      (replace_all . :false))))

;;;; The buffer

(defvar-local countersign-hunks--card nil "The buffer of the card.")
(defvar-local countersign-hunks--drawn nil "Identity of the card that this diff is of.")
(defvar-local countersign-hunks--places nil
  "An overlay for each hunk, with the hunk and whether it is chosen.")

(defvar countersign-hunks-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'countersign-hunks-next)
    (define-key map "p" #'countersign-hunks-previous)
    (define-key map "y" #'countersign-hunks-choose)
    (define-key map "u" #'countersign-hunks-leave-out)
    (define-key map "q" #'countersign-hunks-quit)
    (define-key map (kbd "C-c C-c") #'countersign-hunks-approve)
    map)
  "Keys of the change of a call.")

(define-derived-mode countersign-hunks-mode diff-mode "Hunks"
  "Mode for approving some hunks of a change.

\\{countersign-hunks-mode-map}"
  :interactive nil
  ;; Syntax highlighting would open the files.
  (setq-local diff-font-lock-syntax nil
              diff-refine nil
              bidi-display-reordering nil)
  (setq buffer-read-only t
        header-line-format '(:eval (countersign-hunks--header))))

(defun countersign-hunks--header ()
  "Return the header line: how many hunks are chosen, and the keys."
  (let ((all (length countersign-hunks--places))
        (chosen (length (countersign-hunks--chosen))))
    (countersign-approval--header-text
     (cond
      ((not (countersign-approval-armed-p)) (concat " " (countersign-words "look first …")))
      ((zerop all) (countersign-words " q goes back to the card"))
      (t (countersign-words " %d of %d hunks chosen  ·  n p move  ·  y choose, u leave out  ·  C-c C-c approve these  ·  q back"
                            chosen all))))))

(defun countersign-hunks--chosen ()
  "Return the places of the chosen hunks."
  (cl-remove-if-not (lambda (place) (overlay-get place 'countersign-chosen)) countersign-hunks--places))

(defun countersign-approval-diff ()
  "Show the change of this call in `diff-mode', where hunks can be chosen."
  (interactive nil countersign-approval-mode)
  (let* ((card (current-buffer))
         (pending (or countersign-approval--pending (user-error "%s" (countersign-words "This call has no diff"))))
         (data (countersign-pending-data pending))
         (tried (countersign-trial-files data))
         (files (or (countersign-list-of data 'preview 'files) tried
                    (user-error "%s" (countersign-words "This call has no diff"))))
         (drawn countersign-approval--drawn)
         (directory default-directory))
    (with-current-buffer (get-buffer-create "*countersign diff*")
      (let ((inhibit-read-only t) (enable-local-variables nil))
        (erase-buffer)
        (mapc #'delete-overlay (overlays-in (point-min) (point-max)))
        (dolist (file files)
          (insert (if tried (countersign-trial-diff file) (countersign-visible (countersign-text-of file 'diff))))
          (unless (bolp) (insert "\n")))
        (setq default-directory directory)
        (countersign-hunks-mode)
        (setq countersign-hunks--card card
              countersign-hunks--drawn drawn
              ;; The diff takes its own half second, after that of the card.
              countersign-approval--drawn (list 'hunks drawn)
              countersign-hunks--places (and (not tried) (countersign-hunks--make-places files))))
      (set-buffer-modified-p nil)
      (goto-char (if countersign-hunks--places (overlay-start (car countersign-hunks--places)) (point-min)))
      ;; Do not use `display-buffer': the window would forget that it was made for the card.
      (switch-to-buffer (current-buffer) t t)
      (countersign-approval--attend))))

(defun countersign-hunks--make-places (files)
  "Return a place for each hunk of FILES, if hunks can be chosen at all.
They can for a change of one file whose diff is complete."
  (let ((hunks (and (null (cdr files)) (not (countersign-get (car files) 'truncated))
                    (countersign-hunks-read (countersign-text-of (car files) 'diff)))))
    (save-excursion
      (goto-char (point-min))
      (cl-loop for hunk in hunks
               while (re-search-forward "^@@ .*$" nil t)
               collect (let ((place (make-overlay (match-beginning 0) (match-end 0))))
                         (overlay-put place 'countersign-hunk hunk)
                         (countersign-hunks--mark place nil)
                         place)))))

(defun countersign-hunks--mark (place chosen)
  "Show at PLACE whether its hunk is CHOSEN."
  (overlay-put place 'countersign-chosen chosen)
  (overlay-put place 'before-string
               (propertize (if chosen "[✓] " "[ ] ") 'face (if chosen 'success 'countersign-label)))
  (force-mode-line-update))

(defun countersign-hunks--here ()
  "Return the place of the hunk at point."
  (or (car (last (cl-remove-if (lambda (place) (> (overlay-start place) (point))) countersign-hunks--places)))
      (car countersign-hunks--places)
      (user-error "%s" (countersign-words "The hunks of this call cannot be approved one by one"))))

(defun countersign-hunks-next ()
  "Go to the next hunk."
  (interactive nil countersign-hunks-mode)
  (countersign-hunks--go 1))

(defun countersign-hunks-previous ()
  "Go to the previous hunk."
  (interactive nil countersign-hunks-mode)
  (countersign-hunks--go -1))

(defun countersign-hunks--go (step)
  "Go STEP hunks further, and stop at the first and the last one."
  (let ((index (+ step (cl-position (countersign-hunks--here) countersign-hunks--places))))
    (goto-char (overlay-start (nth (max 0 (min index (1- (length countersign-hunks--places))))
                                   countersign-hunks--places)))))

(defun countersign-hunks-choose ()
  "Choose this hunk and go to the next."
  (interactive nil countersign-hunks-mode)
  (countersign-approval-check-attention)
  (countersign-hunks--mark (countersign-hunks--here) t)
  (countersign-hunks--go 1))

(defun countersign-hunks-leave-out ()
  "Leave this hunk out and go to the next."
  (interactive nil countersign-hunks-mode)
  (countersign-hunks--mark (countersign-hunks--here) nil)
  (countersign-hunks--go 1))

(defun countersign-hunks-quit ()
  "Go back to the card; nothing is decided."
  (interactive nil countersign-hunks-mode)
  (let ((diff (current-buffer)))
    (if (buffer-live-p countersign-hunks--card) (switch-to-buffer countersign-hunks--card t t)
      (quit-window))
    (kill-buffer diff)
    (countersign-approval--attend)))

(defun countersign-hunks-approve ()
  "Approve the chosen hunks of this change, and nothing else of it."
  (interactive nil countersign-hunks-mode)
  (countersign-approval-check-attention)
  (let* ((card countersign-hunks--card)
         (drawn countersign-hunks--drawn)
         (hunk-of (lambda (place) (overlay-get place 'countersign-hunk)))
         (chosen (mapcar hunk-of (or (countersign-hunks--chosen)
                                     (user-error "%s" (countersign-words "Choose a hunk with y first")))))
         (all (mapcar hunk-of countersign-hunks--places))
         (left-out (cl-set-difference all chosen)))
    (unless (buffer-live-p card) (user-error "%s" (countersign-words "The card is gone; nothing was sent")))
    (with-current-buffer card
      (countersign-approval--check-same drawn)
      (when countersign-approval--sending (user-error "%s" (countersign-words "Your decision is being sent")))
      (let* ((project countersign-approval--project)
             (pending countersign-approval--pending)
             (params (and left-out
                          (list (countersign-hunks-params
                                 (countersign-pending-data pending) (countersign-project-root project)
                                 all (cl-remove-if-not (lambda (hunk) (memq hunk left-out)) all))))))
        (countersign-approval--second-step pending)
        (countersign-approval--send
         (lambda (callback) (countersign-project-approve project pending callback :params params)))))
    (countersign-hunks-quit)))

(provide 'countersign-hunks)

;;; countersign-hunks.el ends here
