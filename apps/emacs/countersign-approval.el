;;; countersign-approval.el --- Buffers for deciding approvals  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Each pending call has its own buffer, its card.  The promises of UI-6:
;;
;; - A new card is displayed in another window, if at all.  It never takes
;;   the focus and never replaces the buffer of the selected window.
;; - A key counts only after the card has been in sight for half a second,
;;   unchanged.  Earlier keys are discarded.
;; - A HIGH call needs its preview and a typed "yes".
;; - A card that changes while it is shown counts as a new card.
;;
;; An approval sends the digest that was displayed.  Leaving or killing a
;; buffer decides nothing (AP-3).

;;; Code:

(require 'cl-lib)
(require 'tabulated-list)
(require 'countersign-project)
(require 'countersign-card)
(require 'countersign-choose)
(require 'countersign-trial)

(declare-function countersign-approval-edit "countersign-edit")
(declare-function countersign-approval-diff "countersign-hunks")

(defcustom countersign-approval-show t
  "Whether a new card is displayed in another window when there is room.
Otherwise the mode line says that a call waits."
  :type 'boolean
  :group 'countersign)

(defcustom countersign-approval-display-action
  '((display-buffer-reuse-window display-buffer-at-bottom display-buffer-no-window)
    (inhibit-same-window . t) (inhibit-switch-frame . t) (allow-no-window . t)
    (window-height . 0.5))
  "How a new card is displayed, as `display-buffer' understands it."
  :type 'sexp
  :group 'countersign)

(defvar countersign-approval-read-time 3
  "Seconds that a settled card stays before the next card takes its window.")

(defconst countersign-approval-focus 0.5
  "Seconds that a card must be in sight before a key counts.")

(defvar-local countersign-approval--project nil "The project of this card.")
(defvar-local countersign-approval--pending nil "The pending approval of this card.")
(defvar-local countersign-approval--outcome nil "How it was settled, in words, or nil.")
(defvar-local countersign-approval--drawn nil "Identity of the displayed version.")
(defvar-local countersign-approval--sending nil "Whether a decision is under way.")
(defvar-local countersign-approval--tried-since nil "Since when the call is being tried.")
(defvar-local countersign-approval--note nil "A message at the top of this card.")
(defvar-local countersign-approval--settled-at 0 "When it was settled.")
(defvar-local countersign-approval--explained nil "The approval that this help is about.")

;;;; Attention: how long a card has been in sight

(defvar countersign-approval--attended nil
  "((WINDOW IDENTITY) . TIMER) of each card in sight, in any visible window.
The timer ends its half second.")
(defvar countersign-approval--armed nil
  "(WINDOW IDENTITY) of the cards that were in sight for long enough.")
(defvar countersign-approval--selected nil
  "The selected window.  While a header line is drawn, another one seems selected.")

(defun countersign-approval--attention (&optional window)
  "Return (WINDOW IDENTITY) of the card in WINDOW or the selected one, or nil."
  (let* ((window (or window (selected-window)))
         (drawn (buffer-local-value 'countersign-approval--drawn (window-buffer window))))
    (and drawn (list window drawn))))

(defun countersign-approval--attend (&rest _)
  "Start the half second of cards that came into sight or changed.
Cards that are not in sight any more lose theirs."
  (let ((in-sight (delq nil (mapcar #'countersign-approval--attention
                                    (window-list-1 nil 'nomini 'visible)))))
    (pcase-dolist (`(,attention . ,timer) countersign-approval--attended)
      (unless (member attention in-sight) (cancel-timer timer)))
    (setq countersign-approval--selected (selected-window)
          countersign-approval--armed (cl-intersection countersign-approval--armed in-sight :test #'equal)
          countersign-approval--attended
          (mapcar (lambda (attention)
                    (or (assoc attention countersign-approval--attended)
                        (cons attention (countersign-approval--arm-soon attention))))
                  in-sight))))

(defun countersign-approval--arm-soon (attention)
  "Arm the card of ATTENTION in half a second; return the timer."
  (run-at-time countersign-approval-focus nil #'countersign-approval--arm attention))

(defun countersign-approval--arm (attention)
  "Arm the card of ATTENTION if it is still in sight.
If input is waiting, it was typed too early: try again in half a second."
  (when-let ((entry (and (window-live-p (car attention))
                         (equal attention (countersign-approval--attention (car attention)))
                         (assoc attention countersign-approval--attended))))
    (if (input-pending-p)
        (setcdr entry (countersign-approval--arm-soon attention))
      (cl-pushnew attention countersign-approval--armed :test #'equal)
      (force-mode-line-update t))))

(defun countersign-approval-armed-p ()
  "Return non-nil if the card in the selected window was in sight for long enough."
  (and (member (countersign-approval--attention) countersign-approval--armed) t))

(defun countersign-approval--check ()
  "Signal an error unless the pressed key counts (UI-6)."
  (cond
   ((not (derived-mode-p 'countersign-approval-mode))
    (user-error "%s" (countersign-words "This is no approval buffer")))
   (countersign-approval--outcome
    (user-error "%s" (countersign-words "It is settled: %s" countersign-approval--outcome)))
   (countersign-approval--sending (user-error "%s" (countersign-words "Your decision is being sent")))
   (t (countersign-approval-check-attention))))

(defun countersign-approval-check-attention ()
  "Signal an error unless this buffer was in sight for half a second (UI-6)."
  (when (or executing-kbd-macro
            (not (countersign-approval-armed-p))
            (not (eq (window-buffer (selected-window)) (current-buffer))))
    (discard-input)
    (countersign-approval--attend)
    (user-error "%s" (countersign-words "Look at it first: keys count when it has been in sight for half a second"))))

(defun countersign-approval--check-same (drawn)
  "Signal an error unless this card is still pending and drawn as DRAWN."
  (when countersign-approval--outcome
    (user-error "%s" (countersign-words "Too late: %s" countersign-approval--outcome)))
  (unless (and (equal drawn countersign-approval--drawn)
               (countersign-project-find-pending countersign-approval--project (car drawn))
               (equal drawn (countersign-pending-identity countersign-approval--pending)))
    (user-error "%s" (countersign-words "It was changed meanwhile; look at it anew"))))

(defmacro countersign-approval--asking (&rest body)
  "Run BODY, which asks in the minibuffer.  Signal an error if the card changed."
  (declare (indent 0) (debug t))
  `(let ((buffer (current-buffer))
         (drawn countersign-approval--drawn))
     (discard-input)
     (prog1 (progn ,@body)
       (unless (buffer-live-p buffer) (user-error "%s" (countersign-words "The card is gone; nothing was sent")))
       (with-current-buffer buffer (countersign-approval--check-same drawn)))))

(defun countersign-approval--type-yes (question)
  "Ask QUESTION; signal an error unless the person types yes in full.
`yes-or-no-p' is not used, because it can be set to accept a single y."
  (unless (member (downcase (string-trim (read-from-minibuffer
                                          (concat question "  " (countersign-words "Type yes: ")))))
                  (list "yes" (countersign-words "yes")))
    (user-error "%s" (countersign-words "Nothing was sent"))))

;;;; The buffer

(defvar countersign-approval-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map special-mode-map)
    (define-key map "y" #'countersign-approval-approve)
    (define-key map "n" #'countersign-approval-reject)
    (define-key map "a" #'countersign-approval-widen)
    (define-key map "e" #'countersign-approval-edit)
    (define-key map "t" #'countersign-approval-try)
    (define-key map "?" #'countersign-approval-help)
    (define-key map "d" #'countersign-approval-diff)
    (define-key map "l" #'countersign-approvals)
    (define-key map "N" #'countersign-approval-next)
    (define-key map "q" #'countersign-approval-leave)
    map)
  "Keys of an approval.")

(define-derived-mode countersign-approval-mode special-mode "Approval"
  "Mode for approving or rejecting one call.

\\{countersign-approval-mode-map}"
  :interactive nil
  (countersign-card-plain-buffer)
  (setq-local revert-buffer-function #'countersign-approval--revert)
  (setq header-line-format '(:eval (countersign-approval--header))))

(defun countersign-card-plain-buffer ()
  "Display the text of this buffer in its logical order."
  (setq-local bidi-display-reordering nil
              bidi-paragraph-direction 'left-to-right
              truncate-lines nil
              word-wrap nil
              show-trailing-whitespace nil)
  (buffer-disable-undo))

(defun countersign-approval--header ()
  "Return the header line: the risk, the time left, whether keys count."
  (cond
   (countersign-approval--outcome (countersign-approval--header-text
                                   (concat " " countersign-approval--outcome)))
   (countersign-approval--pending
    (let* ((risk (countersign-one-line
                  (or (countersign-pending-get countersign-approval--pending 'risk_level) "?") 10))
           (others (1- (length (countersign-waiting)))))
      (list
       (propertize (countersign-approval--header-text (format " %s " risk))
                   'face (countersign-card-risk-face risk))
       (countersign-approval--header-text
        (concat
         "  " (countersign-approval-time countersign-approval--pending)
         "  ·  " (countersign-one-line (countersign-project-name countersign-approval--project) 30)
         (and (> others 0) (countersign-words "  ·  %d more (l list)" others))
         (and countersign-approval--tried-since
              (countersign-words "  ·  trying, %d s" (- (float-time) countersign-approval--tried-since)))
         "  ·  " (cond (countersign-approval--sending (countersign-words "sending …"))
                       ((not (countersign-approval-armed-p)) (countersign-words "look first …"))
                       ((eq (selected-window) countersign-approval--selected) "y n a e ?")
                       (t (concat (countersign-approval--keys
                                   "\\<countersign-chat-mode-map>\\[countersign-approval-next]")
                                  ": y n a e ?")))
         (and (countersign-approval--more-below-p) (countersign-words "  ·  ↓ more below (SPC)")))))))))

(defun countersign-approval--more-below-p ()
  "Return non-nil if the card continues below the end of its window."
  (let ((end (window-end)))
    (and end (< end (point-max)))))

(defun countersign-approval--keys (text)
  "Return TEXT after `substitute-command-keys', without properties."
  (substring-no-properties (substitute-command-keys text)))

(defun countersign-approval--header-text (text)
  "Return TEXT for a header line, with percent signs escaped."
  (replace-regexp-in-string "%" "%%" text t t))

(defun countersign-approval-time (pending)
  "Return the time left for PENDING as text."
  (let ((seconds (ceiling (countersign-pending-remaining pending (float-time)))))
    (if (<= seconds 0) (countersign-words "time is over")
      (countersign-words "%d:%02d left" (/ seconds 60) (% seconds 60)))))

(defun countersign-approval--buffer (pending)
  "Return the buffer of PENDING, or nil."
  (let ((id (countersign-pending-id pending)))
    (cl-find-if (lambda (buffer)
                  (let ((known (buffer-local-value 'countersign-approval--pending buffer)))
                    (and known (equal id (countersign-pending-id known))
                         (with-current-buffer buffer
                           (derived-mode-p 'countersign-approval-mode)))))
                (buffer-list))))

(defun countersign-approval-buffer (project pending)
  "Return the buffer of PENDING in PROJECT; create it if needed."
  (or (countersign-approval--buffer pending)
      (with-current-buffer
          (generate-new-buffer
           (format "*countersign approval: %s %s*"
                   (countersign-one-line (countersign-project-name project) 30)
                   (countersign-one-line (or (countersign-pending-get pending 'tool_name) "?") 30)))
        (countersign-approval-mode)
        (setq countersign-approval--project project
              countersign-approval--pending pending
              default-directory (file-name-as-directory (countersign-project-root project)))
        (countersign-approval--draw)
        (current-buffer))))

(defun countersign-approval--draw ()
  "Draw this card again."
  (let ((inhibit-read-only t)
        (line (line-number-at-pos)))
    (erase-buffer)
    (setq countersign-approval--tried-since
          (and (countersign-pending-get countersign-approval--pending 'trying)
               (or countersign-approval--tried-since (float-time))))
    (if countersign-approval--outcome
        (progn
          (countersign-insert (concat (countersign-words "Withdrawn: %s" countersign-approval--outcome) "\n\n")
                              'countersign-heading)
          (countersign-insert (countersign-pending-title countersign-approval--pending)
                              'countersign-label)
          (insert "\n\n" (countersign-words "q leaves.") "\n")
          (setq countersign-approval--drawn nil))
      (when countersign-approval--note
        (countersign-insert (concat countersign-approval--note "\n\n") 'countersign-warning))
      (countersign-approval--insert-card)
      (countersign-approval--insert-keys)
      (setq countersign-approval--drawn
            (countersign-pending-identity countersign-approval--pending)))
    (goto-char (point-min))
    (forward-line (1- line))
    (dolist (window (get-buffer-window-list nil nil t))
      (set-window-point window (point))))
  (set-buffer-modified-p nil)
  (countersign-approval--attend)
  (force-mode-line-update))

(defun countersign-approval--insert-card ()
  "Insert the card; if that fails, insert its data as JSON."
  (let ((start (point))
        (data (countersign-pending-data countersign-approval--pending)))
    (condition-case problem
        (countersign-card-insert data (countersign-project-root countersign-approval--project))
      (error
       (delete-region start (point-max))
       (countersign-insert (countersign-words "This card could not be drawn (%s).  All that came:"
                                              (error-message-string problem))
                           'countersign-warning)
       (insert "\n\n")
       (insert (condition-case nil (countersign-card-text (countersign-json-pretty data))
                 (error (countersign-words "It cannot be shown, so reject it.")))
               "\n")))))

(defun countersign-approval--insert-keys ()
  "Insert a line that lists the keys.
Approving is not offered while the preview is being made or the call is tried."
  (let ((coming (or (countersign-pending-get countersign-approval--pending 'trying)
                    (countersign-project-preview-coming-p countersign-approval--project
                                                          countersign-approval--pending))))
    (insert "\n")
    (pcase-dolist (`(,key ,what)
                   `(("y" ,(if (countersign-trial-lands-p (countersign-pending-data countersign-approval--pending))
                               (countersign-words "approve these changes")
                             (countersign-words "approve"))) ("n" ,(countersign-words "reject"))
                     ("a" ,(countersign-words "approve and remember")) ("e" ,(countersign-words "edit"))
                     ,@(and (countersign-approval--tryable-p) `(("t" ,(countersign-words "try it first"))))
                     ("d" ,(countersign-words "diff")) ("l" ,(countersign-words "list"))
                     ("q" ,(countersign-words "leave")) ("?" ,(countersign-words "help"))))
      (unless (and coming (member key '("y" "a")))
        (insert (propertize key 'face 'countersign-key) " " (propertize what 'face 'countersign-label)
                "   ")))
    (insert "\n")))

(defun countersign-approval--tryable-p ()
  "Return non-nil if this call can be tried first, as far as is known here."
  (and (countersign-trial-possible-p (countersign-pending-data countersign-approval--pending))
       (countersign-project-able-p countersign-approval--project "trials"
                                   (countersign-pending-get countersign-approval--pending 'runner_id))))

(defun countersign-approval--revert (&rest _)
  "Fetch this card again."
  (unless countersign-approval--outcome
    (countersign-project-refetch countersign-approval--project
                                 (countersign-pending-id countersign-approval--pending))))

;;;; New, changed and settled cards

(defun countersign-approval--happened (project pending what)
  "Update the card of PENDING in PROJECT after WHAT happened to it."
  (pcase what
    ('new (countersign-approval--announce project pending))
    ('changed
     (when-let ((buffer (countersign-approval--buffer pending)))
       (with-current-buffer buffer
         (when (and countersign-approval--drawn
                    ;; The outcome of a trial speaks for itself.
                    (not (countersign-pending-get pending 'preview 'trial))
                    (not (equal (nth 1 countersign-approval--drawn)
                                (countersign-pending-get pending 'revision))))
           (setq countersign-approval--note (countersign-words "It was changed; look at it anew.")))
         (countersign-approval--draw))))
    ('closed (countersign-approval--withdraw project pending (countersign-words "this Emacs is not connected any more") nil))
    (_ (let ((here (countersign-project-decided-here-p project pending)))
         (countersign-approval--withdraw
          project pending
          (concat (countersign-resolution-words what here)
                  (and (countersign-get what 'rule_id)
                       (countersign-words ", saved in your policy as %s"
                               (countersign-one-line (countersign-get what 'rule_id) 60))))
          here))))
  (countersign-approvals--refresh))

(defun countersign-approval--withdraw (project pending words here)
  "Withdraw the card of PENDING in PROJECT; WORDS say how it was settled.
HERE is non-nil if this Emacs decided it."
  (let ((buffer (countersign-approval--buffer pending)))
    (unless (active-minibuffer-window)
      (message "%s: %s" (countersign-one-line (countersign-pending-title pending) 80)
               words))
    (when buffer
      (with-current-buffer buffer
        (setq countersign-approval--outcome words
              countersign-approval--settled-at (float-time)
              countersign-approval--sending nil)
        (countersign-approval--draw))
      (cond
       ((not (get-buffer-window buffer t)) (kill-buffer buffer))
       ;; After a decision here, go on.  Otherwise, let the person read the outcome first.
       ((and here (eq buffer (window-buffer (selected-window))))
        (countersign-approval--go-on project))
       (t (run-at-time countersign-approval-read-time nil #'countersign-approval--put-away buffer))))))

(defun countersign-approval--go-on (project)
  "Show the next pending card in the selected window, or quit the window.
Cards of PROJECT come first."
  (let ((next (or (cl-find project (countersign-waiting) :key #'car) (car (countersign-waiting))))
        (settled (window-buffer (selected-window))))
    (if next
        (progn (countersign-approval--offered (cdr next) 'displayed)
               (switch-to-buffer (countersign-approval-buffer (car next) (cdr next)) t t)
               (countersign-approval--attend))
      (countersign-approval-restore-windows))
    (when (buffer-live-p settled) (kill-buffer settled))))

;;;; Windows

(defvar countersign-approval--windows (make-hash-table :test #'eq :weakness 'key)
  "By frame: (CONFIGURATION . BUFFERS) of its windows before a card was shown.")

(defun countersign-approval-remember-windows ()
  "Remember the windows of this frame, unless a card is shown there already."
  (unless (cl-some #'countersign-approval--own-p (countersign-approval--shown-buffers))
    (puthash (selected-frame)
             (cons (current-window-configuration) (countersign-approval--shown-buffers))
             countersign-approval--windows)))

(defun countersign-approval-restore-windows ()
  "Put the windows of this frame back as they were before a card was shown.
If the person has shown another buffer meanwhile, only this window is quit."
  (pcase-let ((`(,configuration . ,buffers) (gethash (selected-frame) countersign-approval--windows)))
    (remhash (selected-frame) countersign-approval--windows)
    (if (and configuration
             (not (active-minibuffer-window))
             (cl-every #'buffer-live-p buffers)
             (cl-subsetp (cl-remove-if #'countersign-approval--own-p (countersign-approval--shown-buffers))
                         buffers))
        (set-window-configuration configuration)
      (quit-window))))

(defun countersign-approval--shown-buffers ()
  "Return the buffers that the windows of this frame show."
  (mapcar #'window-buffer (window-list nil 'nomini)))

(defun countersign-approval--own-p (buffer)
  "Return non-nil if BUFFER is a card, or its diff, edit, help or list."
  (with-current-buffer buffer
    (or countersign-approval--pending countersign-approval--explained
        (derived-mode-p 'countersign-approvals-mode 'countersign-hunks-mode
                        'countersign-edit-mode 'countersign-edit-string-mode))))

(defun countersign-approval--put-away (buffer)
  "Remove the window of BUFFER, a settled card, unless it is selected.
If another card waits, it takes that window instead."
  (if (countersign-waiting) (countersign-approval--offer)
    (dolist (window (and (buffer-live-p buffer) (get-buffer-window-list buffer nil t)))
      (unless (eq window (selected-window)) (quit-restore-window window 'kill)))))

;;;; Offering cards

(defvar countersign-approval--offered (make-hash-table :test #'eq :weakness 'key)
  "How each pending card was offered to the person: `told' or `displayed'.
An entry stays when the person kills the buffer of the card.")

(defun countersign-approval--offered (pending how)
  "Remember HOW the card of PENDING was offered to the person."
  (puthash pending how countersign-approval--offered))

;; A new card never takes a selected window or the minibuffer.  Whether there is
;; room is checked every second (`countersign-approval--tick'), so that a card
;; that came while the minibuffer was active is shown afterwards.

(defun countersign-approval--announce (project pending)
  "Announce PENDING of PROJECT, and display it if there is room."
  (let ((buffer (countersign-approval-buffer project pending)))
    (countersign-approval--offer)
    (unless (or (active-minibuffer-window) (get-buffer-window buffer 'visible))
      (countersign-approval--offered pending 'told)
      (message "%s  (%s)" (countersign-one-line (countersign-pending-title pending) 100)
               (countersign-words "%s lists what waits"
                                  (countersign-approval--keys "\\[countersign-approvals]"))))))

(defun countersign-approval--offer ()
  "Display the oldest card that was not displayed yet, if there is room.
There is room in the window of a settled card.  A card that was not
announced may also use a window that is not selected.  A person who left a
card, or looks at the list, is not disturbed."
  (when (and countersign-approval-show
             (not (active-minibuffer-window))
             (not (countersign-approval--displayed-p)))
    (if-let ((settled (countersign-approval--settled-window)))
        (when-let ((next (and (not (countersign-approval--fresh-p (window-buffer settled)))
                              (countersign-approval--first '(nil told)))))
          (let ((old (window-buffer settled)))
            (countersign-approval--offered (cdr next) 'displayed)
            (set-window-buffer settled (countersign-approval-buffer (car next) (cdr next)))
            (kill-buffer old)))
      (when-let ((next (countersign-approval--first '(nil))))
        (countersign-approval-remember-windows)
        (when (windowp (display-buffer (countersign-approval-buffer (car next) (cdr next))
                                       countersign-approval-display-action))
          (countersign-approval--offered (cdr next) 'displayed))))))

(defun countersign-approval--first (how)
  "Return the first (PROJECT . PENDING) that was offered in one of the ways HOW."
  (cl-find-if (lambda (waiting) (memq (gethash (cdr waiting) countersign-approval--offered) how))
              (countersign-waiting)))

(defun countersign-approval--displayed-p ()
  "Return non-nil if a pending card is visible."
  (cl-some (lambda (window)
             (buffer-local-value 'countersign-approval--drawn (window-buffer window)))
           (window-list-1 nil 'nomini 'visible)))

(defun countersign-approval--settled-window ()
  "Return a window with a settled card that is not selected, or nil."
  (cl-find-if (lambda (window)
                (and (not (eq window (selected-window)))
                     (buffer-local-value 'countersign-approval--outcome (window-buffer window))))
              (window-list-1 nil 'nomini 'visible)))

(defun countersign-approval--fresh-p (buffer)
  "Return non-nil if the card in BUFFER was settled just now."
  (< (- (float-time) (buffer-local-value 'countersign-approval--settled-at buffer))
     countersign-approval-read-time))

;;;; Commands

(defun countersign-approval--send (function)
  "Send a decision: call FUNCTION with a callback for the response."
  (let ((buffer (current-buffer)))
    (setq countersign-approval--sending t
          countersign-approval--note nil)
    (force-mode-line-update)
    (funcall function
             (lambda (problem)
               (when (and problem (buffer-live-p buffer))
                 (with-current-buffer buffer
                   (setq countersign-approval--sending nil)
                   (unless countersign-approval--outcome
                     (setq countersign-approval--note (plist-get problem :message))
                     (countersign-approval--draw))
                   (message "%s" (plist-get problem :message))))))))

(defun countersign-approval-approve ()
  "Approve this call, this once.
A HIGH call needs its preview and a typed yes.  A call without a preview
needs a typed yes."
  (interactive nil countersign-approval-mode)
  (countersign-approval--check)
  (let ((project countersign-approval--project)
        (pending countersign-approval--pending))
    (countersign-approval--second-step pending)
    (countersign-approval--send
     (lambda (callback) (countersign-project-approve project pending callback)))))

(defun countersign-approval--second-step (pending)
  "Ask a second time about PENDING if needed.
Signal an error if it cannot be approved."
  (let ((high (countersign-pending-high-p pending))
        (seen (countersign-pending-get pending 'preview)))
    (cond
     ((countersign-pending-get pending 'unfit)
      (user-error "%s" (countersign-words "The preview does not fit its digest: this call can only be rejected")))
     ((and high (not seen))
      (user-error "%s" (countersign-words "A HIGH call is approved with its preview only; it is being made")))
     ((countersign-pending-get pending 'trying)
      (user-error "%s" (countersign-words "It can be approved once the trial has ended")))
     ((countersign-project-preview-coming-p countersign-approval--project pending)
      (user-error "%s" (countersign-words "It can be approved once its preview is here; that is being made")))
     (high
      (countersign-approval--asking
        (countersign-approval--type-yes
         (countersign-words "HIGH risk: %s."
                            (countersign-one-line (countersign-pending-title pending) 60)))))
     ((not seen)
      (countersign-approval--asking
        (countersign-approval--type-yes (countersign-words "There is no preview yet: approve it unseen?")))))))

(defun countersign-approval-reject ()
  "Reject this call, with an optional message for the agent."
  (interactive nil countersign-approval-mode)
  (countersign-approval--check)
  (let* ((project countersign-approval--project)
         (pending countersign-approval--pending)
         (message (countersign-approval--asking
                    (read-from-minibuffer (countersign-words "Tell the agent why, or what to do instead (may be empty): ")))))
    (countersign-approval--send
     (lambda (callback)
       (countersign-project-reject project pending (string-trim message) callback)))))

(defun countersign-approval-try ()
  "Try this command first: run it beside the project, without network.
The card then shows what it would change.  Nothing is decided, and the
project stays as it is."
  (interactive nil countersign-approval-mode)
  (countersign-approval--check)
  (let ((buffer (current-buffer)))
    (setq countersign-approval--note nil)
    (message "%s" (countersign-words "Trying …"))
    (countersign-project-try
     countersign-approval--project countersign-approval--pending
     (lambda (problem)
       (when (and problem (buffer-live-p buffer))
         (with-current-buffer buffer
           (unless countersign-approval--outcome
             (setq countersign-approval--note (plist-get problem :message))
             (countersign-approval--draw))
           (message "%s" (plist-get problem :message))))))))

(defun countersign-approval-widen (&optional include-high)
  "Approve this call and more: its tool, its class, the session, or always.
With a prefix argument INCLUDE-HIGH, calls of HIGH risk are covered too."
  (interactive "P" countersign-approval-mode)
  (countersign-approval--check)
  (let* ((project countersign-approval--project)
         (pending countersign-approval--pending)
         (offers (or (countersign-approval--offers (countersign-pending-data pending))
                     (user-error "%s" (countersign-words "This call can only be approved one at a time"))))
         (offer (or (countersign-approval--asking
                      (countersign-choose (countersign-words "Approve and remember (a number chooses): ")
                                          (countersign-approval--choices offers)
                                          (lambda (offer)
                                            (when-let ((warning (countersign-get offer 'warning)))
                                              (countersign-one-line warning 100)))))
                    (user-error "%s" (countersign-words "Nothing was sent"))))
         (warning (countersign-get offer 'warning))
         (scope (countersign-get offer 'scope)))
    (when (or warning include-high (member scope '("session" "always")))
      (countersign-approval--asking
        (countersign-approval--type-yes
         (concat (countersign-one-line (countersign-text-of offer 'label) 80) ".  "
                 (and (equal scope "always") (not (countersign-get offer 'only_here))
                      (countersign-approval--backtest project offer include-high))
                 (and warning (concat (countersign-one-line warning 200) "  "))
                 (and include-high (countersign-words "HIGH calls will run without a second look.  "))))))
    (countersign-approval--second-step pending)
    (countersign-approval--send
     (lambda (callback)
       (countersign-project-approve project pending callback :scope offer
                                    :include-high (and include-high t))))))

(defun countersign-approval--backtest (project offer include-high)
  "Return how much of the history of PROJECT the OFFER covers (RK-5), in words.
HIGH calls count as covered if INCLUDE-HIGH."
  (message "%s" (countersign-words "Looking at your earlier calls …"))
  (condition-case problem
      (let* ((found (countersign-project-await
                     project "POST" (countersign-transport-path "my" "policy" "backtest")
                     (countersign-body-backtest offer include-high)))
             (decided (or (countersign-get found 'matched) 0))
             (rejected (or (countersign-get found 'rejected_before) 0)))
        (pcase decided
          (0 (countersign-words "This rule would have decided none of your earlier calls.  "))
          (1 (if (eql rejected 1)
                 (countersign-words "This rule would have decided one earlier call, which you rejected.  ")
               (countersign-words "This rule would have decided one earlier call, which you did not reject.  ")))
          (_ (countersign-words "This rule would have decided %d earlier calls, %d of which you rejected.  "
                                decided rejected))))
    (error (countersign-words "Your earlier calls could not be looked at: %s.  "
                   (string-trim-right (error-message-string problem) "\\.")))))

(defun countersign-approval--offers (data)
  "Return the wider scopes in DATA of a card.
Each \"always\" is there for all projects, and for this one only."
  (cl-loop for offer in (countersign-list-of data 'offered_scopes)
           collect offer
           when (equal (countersign-get offer 'scope) "always")
           collect (append `((only_here . t)
                             (warning . nil)
                             (label . ,(countersign-words "%s, only in this project" (countersign-text-of offer 'label))))
                           offer)))

(defun countersign-approval--choices (all)
  "Return (LABEL . OFFER) for each offer in ALL, with numbered, unique labels."
  (cl-loop for offer in all
           for number from 1
           collect (cons (format "%d %s" number
                                 (countersign-one-line (countersign-text-of offer 'label) 100))
                         offer)))

(defun countersign-approval-leave ()
  "Leave this card; nothing is decided."
  (interactive nil countersign-approval-mode)
  (let ((settled (and countersign-approval--outcome (current-buffer))))
    (countersign-approval-restore-windows)
    (when settled (kill-buffer settled))))

(defun countersign-approval-help ()
  "Explain the keys and the tool, and show the details of this call."
  (interactive nil countersign-approval-mode)
  (let* ((pending countersign-approval--pending)
         (data (and pending (countersign-pending-data pending)))
         ;; Do not use a help buffer, which would turn untrusted text into links.
         (buffer (get-buffer-create "*countersign help*")))
    (countersign-approval--draw-help buffer data nil)
    (display-buffer buffer)
    (when pending
      (countersign-project-request
       countersign-approval--project "GET"
       (countersign-project-path countersign-approval--project "tools" "available")
       :callback
       (lambda (answer problem)
         ;; The buffer may show another call by now, or be gone.
         (when (and (buffer-live-p buffer)
                    (eq (buffer-local-value 'countersign-approval--explained buffer) data))
           (countersign-approval--draw-help
            buffer data
            (or (cl-find (countersign-get data 'tool_name) (countersign-list-of answer 'tools)
                         :key (lambda (tool) (countersign-get tool 'name)) :test #'equal)
                `((problem . ,(or (plist-get problem :message)
                                  (countersign-words "It is not in the list of tools any more."))))))))))))

(defun countersign-approval--draw-help (buffer data tool)
  "Draw in BUFFER the help for the approval DATA; TOOL is nil until known."
  (with-current-buffer buffer
    (let ((inhibit-read-only t)
          (place (point)))
      (special-mode)
      (setq countersign-approval--explained data)
      (erase-buffer)
      (insert (countersign-words "y  approve this one; a HIGH one asks a second time
n  reject; you may tell the agent what to do instead
a  approve more than this one: its tool, its class, the session, always
   (C-u a covers HIGH calls too)
e  change the parameters, then approve
t  try a command first, beside the project, and see what it would change
d  show the change in diff-mode, and approve some of its hunks
l  list what waits · N  go to the next · g  fetch it again · q  leave

A key counts once the card has been in sight for half a second.
Nothing is decided by time or by leaving.") "\n")
      (when data
        (countersign-card-insert-tool data tool)
        (insert "\n")
        (pcase-dolist (`(,label ,field) `((,(countersign-words "Approval") approval_id)
                                          (,(countersign-words "Call") tool_id)
                                          (,(countersign-words "Session") session_id)
                                          (,(countersign-words "Agent") agent)
                                          (,(countersign-words "Runner") runner_id)
                                          (,(countersign-words "Digest") digest)
                                          (,(countersign-words "Revision") revision)
                                          (,(countersign-words "Until") expires_at)))
          (insert (format "%-12s" label))
          (countersign-insert (format "%s" (or (countersign-get data field) "none")))
          (insert "\n"))
        (insert "\n" (countersign-words "What a offers") "\n")
        (dolist (offer (countersign-list-of data 'offered_scopes))
          (insert "  ")
          (countersign-insert (countersign-one-line (countersign-text-of offer 'label)))
          (when-let ((warning (countersign-get offer 'warning)))
            (insert ".  ")
            (countersign-insert (countersign-one-line warning)))
          (insert "\n")))
      (goto-char (if tool (min place (point-max)) (point-min))))))

(defun countersign-approval-visit (project pending)
  "Select a window with the card of PENDING in PROJECT."
  (countersign-approval--offered pending 'displayed)
  (countersign-approval-remember-windows)
  (pop-to-buffer (countersign-approval-buffer project pending)
                 '((display-buffer-reuse-window display-buffer-same-window)))
  (countersign-approval--attend))

;;;###autoload
(defun countersign-approval-next ()
  "Go to the next pending call, in any project."
  (interactive)
  (let* ((waiting (or (countersign-waiting) (user-error "%s" (countersign-words "Nothing waits for you"))))
         (here (and (derived-mode-p 'countersign-approval-mode) countersign-approval--pending))
         (next (or (cadr (cl-member here waiting :key #'cdr)) (car waiting))))
    (countersign-approval-visit (car next) (cdr next))))

;;;; The list

(defvar countersign-approvals-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map tabulated-list-mode-map)
    (define-key map (kbd "RET") #'countersign-approvals-visit)
    map)
  "Keys of the list of pending calls.")

(define-derived-mode countersign-approvals-mode tabulated-list-mode "Approvals"
  "Mode for the list of pending calls of all projects.

\\{countersign-approvals-mode-map}"
  :interactive nil
  (setq-local bidi-display-reordering nil)
  (setq tabulated-list-format (vector (list (countersign-words "Risk") 8 t)
                                      (list (countersign-words "Left") 14 nil)
                                      (list (countersign-words "Project") 16 t)
                                      (list (countersign-words "What") 0 nil))
        tabulated-list-entries #'countersign-approvals--entries)
  (tabulated-list-init-header))

(defun countersign-approvals--entries ()
  "Return the rows of the list."
  (cl-loop for (project . pending) in (countersign-waiting)
           for risk = (countersign-one-line (or (countersign-pending-get pending 'risk_level) "?") 8)
           collect (list (cons project pending)
                         (vector (propertize risk 'face (countersign-card-risk-face risk))
                                 (countersign-approval-time pending)
                                 (countersign-one-line (countersign-project-name project) 16)
                                 (countersign-one-line
                                  (countersign-pending-title pending) 200)))))

;;;###autoload
(defun countersign-approvals ()
  "List what is pending in all projects."
  (interactive)
  (with-current-buffer (get-buffer-create "*countersign approvals*")
    (unless (derived-mode-p 'countersign-approvals-mode) (countersign-approvals-mode))
    (tabulated-list-print t)
    (countersign-approval-remember-windows)
    (pop-to-buffer (current-buffer))))

(defun countersign-approvals-visit ()
  "Visit the call on this line."
  (interactive nil countersign-approvals-mode)
  (pcase (tabulated-list-get-id)
    ('nil (user-error "%s" (countersign-words "There is no call on this line")))
    (`(,project . ,pending)
     (if (countersign-project-find-pending project (countersign-pending-id pending))
         (countersign-approval-visit project pending)
       (user-error "%s" (countersign-words "It is settled"))))))

(defun countersign-approvals--refresh ()
  "Redraw the list if it is shown."
  (when-let ((buffer (get-buffer "*countersign approvals*")))
    (with-current-buffer buffer (tabulated-list-print t))))

;;;; The clock

(defvar countersign-approval--clock nil "The timer that updates the remaining time.")

(defun countersign-approval--tick ()
  "Update the remaining time; stop the clock if no call is pending."
  (if (countersign-waiting)
      (progn
        (when (get-buffer-window "*countersign approvals*" t) (countersign-approvals--refresh))
        (countersign-approval--offer)
        (force-mode-line-update t))
    (when countersign-approval--clock (cancel-timer countersign-approval--clock))
    (setq countersign-approval--clock nil)))

(defun countersign-approval--start-clock (&rest _)
  "Start the clock of the remaining time."
  (unless countersign-approval--clock
    (setq countersign-approval--clock (run-at-time 1 1 #'countersign-approval--tick))))

(defun countersign-approval-install ()
  "Show approvals when they arrive."
  (add-hook 'countersign-approval-functions #'countersign-approval--happened)
  (add-hook 'countersign-approval-functions #'countersign-approval--start-clock)
  (add-hook 'window-selection-change-functions #'countersign-approval--attend)
  (add-hook 'window-buffer-change-functions #'countersign-approval--attend))

(provide 'countersign-approval)

;;; countersign-approval.el ends here
