;;; countersign-approval.el --- Where a person decides  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Each call that waits has a buffer of its own.  The promises of UI-6:
;;
;; - A new card is displayed in another window at most.  It never selects
;;   itself, and never takes the place of something that is selected.
;; - A key counts only after the card has been in the selected window for
;;   half a second, unchanged.  Earlier keys are discarded.
;; - HIGH takes its preview and a typed "yes".
;; - A card that changes while it is shown counts as a new card.
;;
;; An approval names the digest that was displayed.  Leaving or killing a
;; buffer decides nothing (AP-3).

;;; Code:

(require 'cl-lib)
(require 'tabulated-list)
(require 'countersign-project)
(require 'countersign-card)

(defcustom countersign-approval-show t
  "Whether a new card is displayed in another window when there is room.
Otherwise the mode line tells that something waits."
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
  "Seconds that a settled card stays before the next one takes its window.")

(defconst countersign-approval-focus 0.5
  "Seconds that a card is in the selected window before a key counts.")

(defvar-local countersign-approval--project nil "The project of this card.")
(defvar-local countersign-approval--pending nil "What this card is about.")
(defvar-local countersign-approval--outcome nil "How it was settled, in words, or nil.")
(defvar-local countersign-approval--drawn nil "Identity of what this card displays.")
(defvar-local countersign-approval--sending nil "Whether a decision is under way.")
(defvar-local countersign-approval--note nil "Something to tell on this card.")
(defvar-local countersign-approval--settled-at 0 "When it was settled.")

;;;; Attention: what a person has looked at

(defvar countersign-approval--attended nil
  "(WINDOW IDENTITY) of the card in the selected window.")
(defvar countersign-approval--armed nil
  "Whether that card has been there long enough for a key to count.")
(defvar countersign-approval--arm-timer nil)

(defun countersign-approval--attention ()
  "Return (WINDOW IDENTITY) of the card in the selected window, or nil."
  (let* ((window (selected-window))
         (drawn (buffer-local-value 'countersign-approval--drawn (window-buffer window))))
    (and drawn (list window drawn))))

(defun countersign-approval--attend (&rest _)
  "Restart the half second if the selected window shows another or changed card."
  (let ((attention (countersign-approval--attention)))
    (unless (equal attention countersign-approval--attended)
      (setq countersign-approval--attended attention
            countersign-approval--armed nil)
      (when countersign-approval--arm-timer (cancel-timer countersign-approval--arm-timer))
      (when attention (countersign-approval--count)))))

(defun countersign-approval--count ()
  "Arm the attended card in half a second."
  (setq countersign-approval--arm-timer
        (run-at-time countersign-approval-focus nil #'countersign-approval--arm
                     countersign-approval--attended)))

(defun countersign-approval--arm (attention)
  "Arm the card if it is still what ATTENTION says.
Keys that wait to be read were typed before: then it counts anew."
  (when (and attention (equal attention countersign-approval--attended)
             (equal attention (countersign-approval--attention)))
    (if (input-pending-p)
        (countersign-approval--count)
      (setq countersign-approval--armed t)
      (force-mode-line-update t))))

(defun countersign-approval--check ()
  "Signal an error unless the key that was pressed may count."
  (cond
   ((not (derived-mode-p 'countersign-approval-mode))
    (user-error "%s" (countersign-words "This is no approval buffer")))
   (countersign-approval--outcome
    (user-error "%s" (countersign-words "It is settled: %s" countersign-approval--outcome)))
   (countersign-approval--sending (user-error "%s" (countersign-words "Your decision is being sent")))
   ((or executing-kbd-macro
        (not countersign-approval--armed)
        (not (equal (countersign-approval--attention) countersign-approval--attended))
        (not (eq (window-buffer (selected-window)) (current-buffer))))
    (discard-input)
    (countersign-approval--attend)
    (user-error "%s" (countersign-words "Look at it first: keys count when it has been here for half a second")))))

(defun countersign-approval--check-same (drawn)
  "Signal an error unless this card is still pending and drawn as DRAWN."
  (when countersign-approval--outcome
    (user-error "%s" (countersign-words "Too late: %s" countersign-approval--outcome)))
  (unless (and (equal drawn countersign-approval--drawn)
               (countersign-project-find-pending countersign-approval--project (car drawn))
               (equal drawn (countersign-pending-identity countersign-approval--pending)))
    (user-error "%s" (countersign-words "It was changed meanwhile; look at it anew"))))

(defmacro countersign-approval--asking (&rest body)
  "Run BODY, which asks in the minibuffer, and go on only if the card is the same."
  (declare (indent 0) (debug t))
  `(let ((buffer (current-buffer))
         (drawn countersign-approval--drawn))
     (discard-input)
     (prog1 (progn ,@body)
       (unless (buffer-live-p buffer) (user-error "%s" (countersign-words "The card is gone; nothing was sent")))
       (with-current-buffer buffer (countersign-approval--check-same drawn)))))

(defun countersign-approval--type-yes (question)
  "Ask QUESTION; anything but a typed yes, in full, is an error.
`yes-or-no-p' is not used: it may have been made to take a mere y."
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
         "  ·  " (cond (countersign-approval--sending (countersign-words "sending …"))
                       ;; While a header is drawn, its window is selected.
                       ((and countersign-approval--armed
                             (equal (countersign-approval--attention) countersign-approval--attended))
                        "y n a e ?")
                       (t (countersign-words "look first …")))
         (and (countersign-approval--more-below-p) (countersign-words "  ·  ↓ more below (SPC)")))))))))

(defun countersign-approval--more-below-p ()
  "Return non-nil if the card continues below the end of its window."
  (let ((end (window-end)))
    (and end (< end (point-max)))))

(defun countersign-approval--keys (text)
  "Return the keys that TEXT names as `substitute-command-keys' does."
  (substring-no-properties (substitute-command-keys text)))

(defun countersign-approval--header-text (text)
  "Return TEXT for a header line, with percent signs escaped."
  (replace-regexp-in-string "%" "%%" text t t))

(defun countersign-approval-time (pending)
  "Say how much time is left for PENDING."
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
Approving is not offered while the preview is being made."
  (let ((coming (countersign-project-preview-coming-p countersign-approval--project
                                                      countersign-approval--pending)))
    (insert "\n")
    (pcase-dolist (`(,key ,what)
                   `(("y" ,(countersign-words "approve")) ("n" ,(countersign-words "reject"))
                     ("a" ,(countersign-words "wider")) ("e" ,(countersign-words "edit"))
                     ("d" ,(countersign-words "diff")) ("l" ,(countersign-words "list"))
                     ("q" ,(countersign-words "leave")) ("?" ,(countersign-words "help"))))
      (unless (and coming (member key '("y" "a")))
        (insert (propertize key 'face 'countersign-key) " " (propertize what 'face 'countersign-label)
                "   ")))
    (insert "\n")))

(defun countersign-approval--revert (&rest _)
  "Fetch this card again."
  (unless countersign-approval--outcome
    (countersign-project-refetch countersign-approval--project
                                 (countersign-pending-id countersign-approval--pending))))

;;;; What happens to a card

(defun countersign-approval--happened (project pending what)
  "Update the card of PENDING in PROJECT after WHAT happened to it."
  (pcase what
    ('new (countersign-approval--announce project pending))
    ('changed
     (when-let ((buffer (countersign-approval--buffer pending)))
       (with-current-buffer buffer
         (when (and countersign-approval--drawn
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
HERE is non-nil when that was this Emacs."
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
       ;; The person who decided has seen it; the others read it first.
       ((and here (eq buffer (window-buffer (selected-window))))
        (countersign-approval--go-on project))))))

(defun countersign-approval--go-on (project)
  "Show the next pending card in the selected window, or quit the window.
Cards of PROJECT come first."
  (let ((next (or (cl-find project (countersign-waiting) :key #'car) (car (countersign-waiting))))
        (settled (window-buffer (selected-window))))
    (if next
        (progn (countersign-approval--offered (cdr next) 'displayed)
               (switch-to-buffer (countersign-approval-buffer (car next) (cdr next)) t t)
               (countersign-approval--attend)
               (kill-buffer settled))
      (quit-window t))))

(defvar countersign-approval--offered (make-hash-table :test #'eq :weakness 'key)
  "How the person learned of each pending card: `told' or `displayed'.
It stays when they kill the buffer of a card.")

(defun countersign-approval--offered (pending how)
  "Remember HOW the person learned of PENDING."
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
  "Display the oldest card that was not displayed yet, where there is room.
Room is the window of a card that was settled, or else another window than
the selected one for a card that nobody was told of.  Who leaves a card,
or looks at the list, is left alone."
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
        (when (windowp (display-buffer (countersign-approval-buffer (car next) (cdr next))
                                       countersign-approval-display-action))
          (countersign-approval--offered (cdr next) 'displayed))))))

(defun countersign-approval--first (how)
  "Return the first (PROJECT . PENDING) that was offered in one of the ways HOW."
  (cl-find-if (lambda (waiting) (memq (gethash (cdr waiting) countersign-approval--offered) how))
              (countersign-waiting)))

(defun countersign-approval--displayed-p ()
  "Return non-nil if a card that waits can be seen."
  (cl-some (lambda (window)
             (buffer-local-value 'countersign-approval--drawn (window-buffer window)))
           (window-list-1 nil 'nomini 'visible)))

(defun countersign-approval--settled-window ()
  "Return a window that shows a settled card and is not selected, or nil."
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
A HIGH one takes its preview and a typed yes; so does one that has no
preview yet."
  (interactive)
  (countersign-approval--check)
  (let* ((project countersign-approval--project)
         (pending countersign-approval--pending)
         (seen (countersign-pending-get pending 'preview)))
    (countersign-approval--second-step pending seen "")
    (countersign-approval--send
     (lambda (callback) (countersign-project-approve project pending callback)))))

(defun countersign-approval--second-step (pending seen more)
  "Ask a second time about PENDING where that is needed, saying MORE.
SEEN tells whether there is a preview."
  (let ((high (countersign-pending-high-p pending)))
    (cond
     ((countersign-pending-get pending 'unfit)
      (user-error "%s" (countersign-words "The preview does not fit its digest: this call can only be rejected")))
     ((and high (not seen))
      (user-error "%s" (countersign-words "A HIGH call is approved with its preview only; it is being made")))
     ((countersign-project-preview-coming-p countersign-approval--project pending)
      (user-error "%s" (countersign-words "It can be approved once its preview is here; that is being made")))
     (high
      (countersign-approval--asking
        (countersign-approval--type-yes
         (concat (countersign-words "HIGH risk: %s."
                                    (countersign-one-line (countersign-pending-title pending) 60))
                 more))))
     ((not seen)
      (countersign-approval--asking
        (countersign-approval--type-yes (concat (countersign-words "There is no preview yet: approve it unseen?") more)))))))

(defun countersign-approval-reject ()
  "Reject this call; the agent gets the message that you may type."
  (interactive)
  (countersign-approval--check)
  (let* ((project countersign-approval--project)
         (pending countersign-approval--pending)
         (message (countersign-approval--asking
                    (read-from-minibuffer (countersign-words "Reject.  Message for the agent (may be empty): ")))))
    (countersign-approval--send
     (lambda (callback)
       (countersign-project-reject project pending (string-trim message) callback)))))

(defun countersign-approval-widen (&optional include-high)
  "Approve this call and more: its tool, its class, the session, or always.
With a prefix argument INCLUDE-HIGH, calls of HIGH risk are covered too."
  (interactive "P")
  (countersign-approval--check)
  (let* ((project countersign-approval--project)
         (pending countersign-approval--pending)
         (seen (countersign-pending-get pending 'preview))
         (offers (or (countersign-list-of (countersign-pending-data pending) 'offered_scopes)
                     (user-error "%s" (countersign-words "This call can only be approved one at a time"))))
         (choices (countersign-approval--choices offers))
         (chosen (countersign-approval--asking
                   (completing-read (countersign-words "Approve this one, and from now on also (TAB lists what, a number chooses): ")
                                    (countersign-approval--in-order (mapcar #'car choices)) nil t)))
         (offer (or (cdr (assoc chosen choices)) (user-error "%s" (countersign-words "Nothing was sent"))))
         (warning (countersign-get offer 'warning))
         (scope (countersign-get offer 'scope)))
    (when (or warning include-high (member scope '("session" "always")))
      (countersign-approval--asking
        (countersign-approval--type-yes
         (concat (countersign-one-line (countersign-text-of offer 'label) 80) ".  "
                 (and (equal scope "always")
                      (countersign-approval--backtest project offer include-high))
                 (and warning (concat (countersign-one-line warning 200) "  "))
                 (and include-high (countersign-words "HIGH calls will run without a second look.  "))))))
    (countersign-approval--second-step pending seen "")
    (countersign-approval--send
     (lambda (callback)
       (countersign-project-approve project pending callback :scope offer
                                    :include-high (and include-high t))))))

(defun countersign-approval--backtest (project offer include-high)
  "Say what OFFER would have decided on earlier calls of PROJECT (RK-5).
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

(defun countersign-approval--choices (offers)
  "Return (LABEL . OFFER) for each of OFFERS, each label once."
  (cl-loop for offer in offers
           for number from 1
           collect (cons (format "%d %s" number
                                 (countersign-one-line (countersign-text-of offer 'label) 100))
                         offer)))

(defun countersign-approval--in-order (labels)
  "Return a completion table of LABELS that keeps their order."
  (lambda (string predicate action)
    (if (eq action 'metadata)
        '(metadata (display-sort-function . identity) (cycle-sort-function . identity))
      (complete-with-action action labels string predicate))))

(defun countersign-approval-leave ()
  "Leave this card; nothing is decided."
  (interactive)
  (quit-window countersign-approval--outcome))

(defun countersign-approval-diff ()
  "Show the change of this call in a buffer of its own, in `diff-mode'."
  (interactive)
  (let ((files (countersign-list-of (countersign-pending-data countersign-approval--pending)
                                    'preview 'files))
        (directory default-directory))
    (unless files (user-error "%s" (countersign-words "This call has no diff")))
    (with-current-buffer (get-buffer-create "*countersign diff*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (dolist (file files)
          (insert (countersign-visible (countersign-text-of file 'diff)))
          (unless (bolp) (insert "\n"))))
      (setq default-directory directory)
      (let ((enable-local-variables nil)) (diff-mode))
      ;; Syntax highlighting would open the files.
      (setq-local diff-font-lock-syntax nil diff-refine nil)
      (setq-local bidi-display-reordering nil)
      (setq buffer-read-only t)
      (set-buffer-modified-p nil)
      (goto-char (point-min))
      (pop-to-buffer (current-buffer)))))

(defun countersign-approval-help ()
  "Explain the keys and the tool, and show all that is known of this call."
  (interactive)
  (let* ((pending countersign-approval--pending)
         (data (and pending (countersign-pending-data pending)))
         ;; Not a help window, which would turn text of others into links.
         (buffer (get-buffer-create "*countersign help*")))
    (countersign-approval--draw-help buffer data nil)
    (display-buffer buffer)
    (when pending
      (countersign-project-request
       countersign-approval--project "GET"
       (countersign-project-path countersign-approval--project "tools" "available")
       :callback
       (lambda (answer problem)
         ;; The person may have asked about another call meanwhile, or left.
         (when (and (buffer-live-p buffer)
                    (eq (buffer-local-value 'countersign-approval--explained buffer) data))
           (countersign-approval--draw-help
            buffer data
            (or (cl-find (countersign-get data 'tool_name) (countersign-list-of answer 'tools)
                         :key (lambda (tool) (countersign-get tool 'name)) :test #'equal)
                `((problem . ,(or (plist-get problem :message)
                                  (countersign-words "It is not in the list of tools any more."))))))))))))

(defvar-local countersign-approval--explained nil
  "The approval that this help is about.")

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
d  show the change in diff-mode
l  list what waits · N  go to the next · g  fetch it again · q  leave

A key counts once the card has been in the selected window for half a
second.  Nothing is decided by time or by leaving.") "\n")
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
  (pop-to-buffer (countersign-approval-buffer project pending)
                 '((display-buffer-reuse-window display-buffer-same-window)))
  (countersign-approval--attend))

;;;###autoload
(defun countersign-approval-next ()
  "Go to the next call that waits for a decision, in any project."
  (interactive)
  (let* ((waiting (or (countersign-waiting) (user-error "%s" (countersign-words "Nothing waits for you"))))
         (here (and (derived-mode-p 'countersign-approval-mode) countersign-approval--pending))
         (next (or (cadr (cl-member here waiting :key #'cdr)) (car waiting))))
    (countersign-approval-visit (car next) (cdr next))))

;;;; Editing the parameters

(defvar countersign-edit-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'countersign-edit-approve)
    (define-key map (kbd "C-c C-k") #'countersign-edit-cancel)
    (define-key map (kbd "C-c '") #'countersign-edit-string)
    map)
  "Keys for editing parameters.")

(defvar-local countersign-edit--card nil "The buffer of the card that is edited.")
(defvar-local countersign-edit--drawn nil "Identity of the card when it was taken.")

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
  (interactive)
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
    ;; Switch instead of display: otherwise the window forgets that it was made for the card and stays afterwards.
    (switch-to-buffer edit t t)))

(defun countersign-edit-approve ()
  "Approve the call with the parameters as they are here."
  (interactive)
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
  (interactive)
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
  (interactive)
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
On the name of a parameter, that is the string behind it."
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
  (interactive)
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

;;;; The list

(defvar countersign-approvals-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map tabulated-list-mode-map)
    (define-key map (kbd "RET") #'countersign-approvals-visit)
    map)
  "Keys of the list of what waits.")

(define-derived-mode countersign-approvals-mode tabulated-list-mode "Approvals"
  "Everything that waits for a decision, in all projects.

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
  "List everything that waits for a decision."
  (interactive)
  (with-current-buffer (get-buffer-create "*countersign approvals*")
    (unless (derived-mode-p 'countersign-approvals-mode) (countersign-approvals-mode))
    (tabulated-list-print t)
    (pop-to-buffer (current-buffer))))

(defun countersign-approvals-visit ()
  "Visit the call on this line."
  (interactive)
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

(defvar countersign-approval--clock nil "The timer that lets the time go on.")

(defun countersign-approval--tick ()
  "Show how much time is left; end when nothing waits."
  (if (countersign-waiting)
      (progn
        (when (get-buffer-window "*countersign approvals*" t) (countersign-approvals--refresh))
        (countersign-approval--offer)
        (force-mode-line-update t))
    (when countersign-approval--clock (cancel-timer countersign-approval--clock))
    (setq countersign-approval--clock nil)))

(defun countersign-approval--start-clock (&rest _)
  "Update the remaining time while something is pending."
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
