;;; countersign-chat.el --- The conversation with the agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; One buffer for each project shows one of its sessions: what was said, as
;; it is written, and the tool calls, folded.  Above the prompt everything
;; is read-only and text of others; below it a person types.  What arrives
;; never moves point or the text that is being typed.

;;; Code:

(require 'cl-lib)
(require 'ring)
(require 'countersign-project)
(require 'countersign-card)
(require 'countersign-approval)

(defface countersign-you '((t :inherit font-lock-keyword-face :weight bold))
  "Who said it: the person."
  :group 'countersign-faces)
(defface countersign-agent '((t :inherit font-lock-function-name-face :weight bold))
  "Who said it: the agent."
  :group 'countersign-faces)
(defface countersign-tool '((t :inherit font-lock-type-face))
  "A tool call."
  :group 'countersign-faces)

(defcustom countersign-chat-output-max 20000
  "Characters of the output of a tool that an unfolded call shows."
  :type 'integer
  :group 'countersign)

(defcustom countersign-model nil
  "The model that answers, as PROVIDER:MODEL; nil is the one of the server."
  :type '(choice (const :tag "The one of the server" nil) string)
  :group 'countersign)

(defvar-local countersign-chat--project nil "The project of this conversation.")
(defvar-local countersign-chat--session nil "Id of the session that is shown, or nil.")
(defvar-local countersign-chat--title nil "Title of the session.")
(defvar-local countersign-chat--items nil "Items by id.")
(defvar-local countersign-chat--last nil "The last item.")
(defvar-local countersign-chat--end nil "Marker: the end of the transcript.")
(defvar-local countersign-chat--input nil "Marker: where the input begins.")
(defvar-local countersign-chat--texts nil "Messages that are being written, by id.")
(defvar-local countersign-chat--loading nil
  "Events that came while the session is being read, latest first, or nil.
The last element is the symbol `loading'.")
(defvar-local countersign-chat--hint nil "Overlay: what to type, while nothing was said.")
(defvar-local countersign-chat--ring nil "What was sent from here.")
(defvar-local countersign-chat--ring-index nil)

(cl-defstruct (countersign-item (:copier nil))
  "Something in the transcript.
KIND is `message' or `tool'; START is a marker; NEXT is the item behind."
  id kind start next (open nil)
  role (text "")
  tool-name params status note result error time-ms exit-code (output "") undoable undo fetching)

;;;; The buffer

(defvar countersign-chat-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'countersign-chat-send)
    (define-key map (kbd "C-j") #'newline)
    (define-key map (kbd "TAB") #'countersign-chat-toggle)
    (define-key map (kbd "M-p") #'countersign-chat-previous-input)
    (define-key map (kbd "M-n") #'countersign-chat-next-input)
    (define-key map (kbd "C-c C-c") #'countersign-chat-stop)
    (define-key map (kbd "C-c C-a") #'countersign-approval-next)
    (define-key map (kbd "C-c C-l") #'countersign-approvals)
    (define-key map (kbd "C-c C-s") #'countersign-chat-switch-session)
    (define-key map (kbd "C-c C-n") #'countersign-chat-new-session)
    (define-key map (kbd "C-c C-u") #'countersign-chat-undo)
    (define-key map (kbd "C-c C-k") #'countersign-chat-cancel)
    (define-key map (kbd "C-c C-r") #'countersign-chat-reload)
    (define-key map [remap self-insert-command] #'countersign-chat-self-insert)
    map)
  "Keys of a conversation.")

(define-derived-mode countersign-chat-mode fundamental-mode "Countersign"
  "A conversation with the agent.

\\{countersign-chat-mode-map}"
  :interactive nil
  (setq-local bidi-paragraph-direction 'left-to-right
              truncate-lines nil
              word-wrap t
              scroll-conservatively 101
              countersign-chat--items (make-hash-table :test #'equal)
              countersign-chat--texts (make-hash-table :test #'equal)
              countersign-chat--ring (make-ring 50))
  (setq header-line-format '(:eval (countersign-chat--header)))
  (let ((inhibit-read-only t))
    (erase-buffer)
    (setq countersign-chat--end (copy-marker (point-min) t))
    (insert (propertize "> " 'face 'minibuffer-prompt 'read-only t 'field 'countersign-prompt
                        'front-sticky '(read-only field) 'rear-nonsticky t))
    (set-marker countersign-chat--end (point-min))
    (setq countersign-chat--input (copy-marker (point-max)))
    (setq countersign-chat--hint (make-overlay (point-min) (point-min)))
    (countersign-chat--update-hint))
  (setq buffer-undo-list nil))

(defun countersign-chat--update-hint ()
  "Show a hint in an empty conversation, as an overlay and not as text."
  (overlay-put
   countersign-chat--hint 'before-string
   (unless countersign-chat--last
     (propertize
      (concat (countersign-words "What should be done?  Describe a task below; RET sends it, C-j begins a new line.") "\n"
              (countersign-words "Without a model's key you type the tool calls: /read_file path=README.md or /run npm test") "\n"
              (substitute-command-keys
               (countersign-words "\\<countersign-chat-mode-map>\\[countersign-chat-switch-session] goes on in an earlier conversation, \\[describe-mode] shows the keys."))
              "\n\n")
      'face 'countersign-label))))

(defun countersign-chat-buffer (project)
  "Return the chat buffer of PROJECT; create it if needed."
  (let ((buffer (countersign-project-chat project)))
    (if (buffer-live-p buffer) buffer
      (with-current-buffer (generate-new-buffer
                            (format "*countersign: %s*" (countersign-project-name project)))
        (countersign-chat-mode)
        (setq countersign-chat--project project
              default-directory (file-name-as-directory (countersign-project-root project)))
        (setf (countersign-project-chat project) (current-buffer))
        (goto-char (point-max))
        (current-buffer)))))

(defun countersign-chat--header ()
  "Return the header line of a conversation."
  (let* ((project countersign-chat--project)
         (waiting (length (countersign-project-waiting project)))
         (agent (car (countersign-project-agent project countersign-chat--session))))
    (countersign-approval--header-text
     (string-join
      (delq nil
            (list (concat " " (countersign-one-line (countersign-project-name project) 30))
                  (and countersign-chat--title (not (string-empty-p countersign-chat--title))
                       (countersign-one-line countersign-chat--title 40))
                  (countersign-chat--state-words project)
                  (pcase agent
                    ("thinking" (countersign-words "thinking …"))
                    ("tool_execution" (countersign-words "working …"))
                    ("awaiting_approval" (countersign-words "waits for you")))
                  (and (> waiting 0)
                       (countersign-words "%d to decide (%s)" waiting
                               (substring-no-properties
                                (substitute-command-keys
                                 "\\<countersign-chat-mode-map>\\[countersign-approval-next]"))))))
      "  ·  "))))

(defun countersign-chat--state-words (project)
  "Say how PROJECT is connected."
  (let ((problem (countersign-one-line (or (countersign-project-problem project) "") 80)))
    (pcase (countersign-project-state project)
      ((guard (countersign-project-lost-its-up-p project))
       (countersign-words "`countersign up' has ended: M-x countersign starts it again"))
      ('starting (countersign-words "starting …"))
      ('connecting (countersign-words "connecting …"))
      ('open (if (countersign-project-runners project) (countersign-words "connected") (countersign-words "connected, no runner")))
      ('waiting (countersign-words "connection lost: %s" problem))
      ('signed-out (countersign-words "signed out: M-x countersign-sign-in"))
      ('failed (countersign-words "failed: %s  (M-x countersign tries again)" problem))
      ('closed (countersign-words "disconnected")))))

;;;; Drawing

(defmacro countersign-chat--drawing (&rest body)
  "Run BODY, which changes the transcript; keep point, input and its undo."
  (declare (indent 0) (debug t))
  `(let ((inhibit-read-only t)
         (inhibit-modification-hooks t)
         (before (marker-position countersign-chat--end))
         (undo buffer-undo-list))
     (save-excursion
       (save-restriction
         (widen)
         (let ((buffer-undo-list t)) ,@body)))
     (setq buffer-undo-list undo)
     (countersign-chat--shift-undo (- (marker-position countersign-chat--end) before))))

(defun countersign-chat--shift-undo (shift)
  "Shift the undo list by SHIFT, after text was inserted before it."
  (unless (or (zerop shift) (atom buffer-undo-list))
    (dolist (cell (cl-loop for rest on buffer-undo-list collect rest))
      (let ((entry (car cell)))
        (cond
         ((integerp entry) (setcar cell (+ entry shift)))
         ((atom entry))
         ((integerp (car entry))
          (setcar cell (cons (+ (car entry) shift)
                             (if (integerp (cdr entry)) (+ (cdr entry) shift) (cdr entry)))))
         ((and (stringp (car entry)) (integerp (cdr entry)))
          (setcar cell (cons (car entry)
                             (if (< (cdr entry) 0) (- (cdr entry) shift) (+ (cdr entry) shift)))))
         ;; The positions of the rest are unknown.
         ((memq (car entry) '(nil apply)) (setcar cell nil)))))))

(defun countersign-chat--item-end (item)
  "Return where ITEM ends."
  (let ((next (countersign-item-next item)))
    (marker-position (if next (countersign-item-start next) countersign-chat--end))))

(defun countersign-chat--add (item)
  "Add ITEM to the end of the transcript."
  (puthash (countersign-item-id item) item countersign-chat--items)
  (when countersign-chat--last (setf (countersign-item-next countersign-chat--last) item))
  (setq countersign-chat--last item)
  (countersign-chat--update-hint)
  (setf (countersign-item-start item) (copy-marker countersign-chat--end t))
  (countersign-chat--redraw item))

(defun countersign-chat--redraw (item)
  "Draw ITEM again.  Windows that show it keep their place."
  (let* ((start (marker-position (countersign-item-start item)))
         (points (countersign-chat--points-in start (countersign-chat--item-end item))))
    (countersign-chat--drawing
      (delete-region start (countersign-chat--item-end item))
      (goto-char start)
      (insert (countersign-chat--render item))
      (set-marker (countersign-item-start item) start))
    ;; Only now, because drawing moves point to the end of the item.
    (pcase-dolist (`(,window . ,offset) points)
      (let ((position (min (+ start offset) (1- (countersign-chat--item-end item)))))
        (if window (set-window-point window position) (goto-char position))))))

(defun countersign-chat--points-in (start end)
  "Return (WINDOW . OFFSET) for windows whose point is between START and END.
Where that is the buffer's own point, WINDOW is nil."
  (cl-loop for window in (cons nil (get-buffer-window-list nil nil t))
           for point = (if window (window-point window) (point))
           when (and (<= start point) (< point end))
           collect (cons window (- point start))))

(defun countersign-chat--grow (item text)
  "Add TEXT at the end of ITEM, a message that is being written."
  (countersign-chat--drawing
    (goto-char (max (point-min) (1- (countersign-chat--item-end item))))
    (insert (countersign-chat--sealed (countersign-card-text text) item))))

(defun countersign-chat--sealed (text item)
  "Return TEXT as read-only text that belongs to ITEM."
  (add-text-properties 0 (length text)
                       (list 'read-only t 'front-sticky '(read-only) 'rear-nonsticky t
                             'countersign-item item)
                       text)
  text)

(defun countersign-chat--render (item)
  "Return ITEM as text."
  (countersign-chat--sealed
   (with-temp-buffer
     (if (eq (countersign-item-kind item) 'tool)
         (countersign-chat--insert-tool item)
       (countersign-chat--insert-message item))
     (buffer-string))
   item))

(defun countersign-chat--insert-message (item)
  "Insert ITEM, a message."
  (let ((role (countersign-item-role item)))
    (insert (pcase role
              ("user" (propertize (concat (countersign-words "You") "\n") 'face 'countersign-you))
              ("assistant" (propertize (concat (countersign-words "Agent") "\n") 'face 'countersign-agent))
              (_ (propertize (concat (countersign-one-line (or role "?") 20) "\n")
                             'face 'countersign-label))))
    ;; The text may still grow, so it is followed by just one line feed.
    (let ((text (countersign-card-text (countersign-item-text item))))
      (insert (if (equal role "system") (propertize text 'face 'countersign-label) text) "\n"))
    (unless (eq (countersign-item-status item) 'writing) (insert "\n"))))

(defun countersign-chat--insert-tool (item)
  "Insert ITEM, a tool call: one line, and what is in it when it is open."
  (let ((start (point))
        (status (countersign-item-status item)))
    (insert (if (countersign-item-open item) "▾ " "▸ "))
    (countersign-insert (countersign-one-line (or (countersign-item-tool-name item) "?") 60)
                        'countersign-tool)
    (insert " " (countersign-operand (countersign-item-params item)) "  ")
    (pcase status
      ((and "completed" (guard (countersign-chat--nonzero-p item)))
       (insert (propertize (countersign-words "exit %s" (countersign-item-exit-code item))
                           'face 'countersign-warning)))
      ("completed"
       (insert (propertize (countersign-words "done")
                           ;; An undone call no longer counts as a success.
                           'face (if (eq (countersign-item-undo item) 'undone) 'countersign-label 'success))))
      ("awaiting_approval"
       (insert (propertize (countersign-words
                            "waits for you (%s)"
                            (countersign-approval--keys
                             "\\<countersign-chat-mode-map>\\[countersign-approval-next]"))
                           'face 'countersign-warning)))
      ("failed" (insert (propertize (countersign-words "failed") 'face 'error)))
      ("rejected" (insert (propertize (countersign-words "rejected") 'face 'error)))
      ("timeout" (insert (propertize (countersign-words "expired") 'face 'error)))
      ("cancelled" (insert (propertize (countersign-words "cancelled") 'face 'error)))
      ("executing" (insert (propertize (countersign-words "executing") 'face 'countersign-label)))
      (_ (countersign-insert (countersign-one-line (or status "…") 20) 'countersign-label)))
    (when (countersign-item-time-ms item)
      (insert (propertize (format "  %s ms" (countersign-item-time-ms item)) 'face 'countersign-label)))
    (when (countersign-item-note item)
      (insert "  ")
      (countersign-insert (countersign-one-line (countersign-item-note item) 200) 'countersign-label))
    (pcase (countersign-item-undo item)
      ('nil nil)
      ('undone (insert "  " (propertize (countersign-words "undone") 'face 'countersign-warning)))
      (words (insert "  ") (countersign-insert (countersign-one-line words 200) 'countersign-warning)))
    (insert "\n")
    (put-text-property start (point) 'mouse-face 'highlight)
    (put-text-property start (point) 'help-echo (countersign-words "TAB folds and unfolds"))
    (when (countersign-item-open item) (countersign-chat--insert-body item))
    (unless (and (countersign-item-next item)
                 (eq (countersign-item-kind (countersign-item-next item)) 'tool))
      (insert "\n"))))

(defun countersign-chat--nonzero-p (item)
  "Return non-nil if ITEM is a command that ended with a nonzero exit code."
  (let ((code (countersign-item-exit-code item)))
    (and (integerp code) (/= code 0))))

(defun countersign-chat--insert-body (item)
  "Insert the parameters and the result of ITEM, a tool call."
  (countersign-card--params (countersign-item-params item))
  (let ((problem (countersign-item-error item))
        (text (countersign-chat--result-text item)))
    (when problem
      (insert "  ")
      (countersign-insert (countersign-one-line (countersign-text-of problem 'message) 500) 'error)
      (insert (propertize (format " [%s]" (countersign-one-line (countersign-text-of problem 'code) 40))
                          'face 'countersign-label)
              "\n"))
    (unless (string-empty-p text)
      (insert (propertize "  ───\n" 'face 'countersign-label))
      (let ((countersign-card-max countersign-chat-output-max))
        (countersign-card--block text nil "  ")))))

(defun countersign-chat--result-text (item)
  "Return the result of ITEM, a tool call, as readable text."
  (let ((result (countersign-item-result item)))
    (cond
     ((countersign-item-fetching item) "…")
     ((eq result 'omitted) "")
     ((null result) (countersign-item-output item))
     ((or (assq 'stdout result) (assq 'stderr result))
      (concat (countersign-text-of result 'stdout)
              (let ((errors (countersign-text-of result 'stderr)))
                (unless (string-empty-p errors) (concat "\n" errors)))
              (let ((code (countersign-get result 'exit_code)))
                (and code (not (eql code 0)) (concat "\n" (countersign-words "(exit code %s)" code))))))
     ((stringp (countersign-get result 'content)) (countersign-get result 'content))
     (t (countersign-json-pretty result)))))

;;;; What arrives

(defun countersign-chat--event (project name payload)
  "Show the event NAME with PAYLOAD in the chat buffer of PROJECT."
  (let ((buffer (countersign-project-chat project)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (cond
         ((equal name "stream.reset") (countersign-chat-reload))
         ((null countersign-chat--session))
         ((not (equal (countersign-get payload 'session_id) countersign-chat--session)))
         (countersign-chat--loading
          (setq countersign-chat--loading (cons (cons name payload) countersign-chat--loading)))
         (t (countersign-chat--take name payload)))))))

(defun countersign-chat--take (name payload)
  "Show the event NAME with PAYLOAD in this buffer."
  (pcase name
    ("message.created" (countersign-chat--take-message payload))
    ("message.delta" (countersign-chat--take-delta payload))
    ("tool.call" (countersign-chat--take-call payload))
    ("tool.progress" (countersign-chat--take-progress payload))
    ("tool.result" (countersign-chat--take-result payload))
    ("tool.execution_signal" (countersign-chat--set-status payload "executing"))
    ;; The person edited the parameters: show those that run.
    ("approval.updated"
     (when-let ((item (gethash (countersign-get payload 'tool_id) countersign-chat--items)))
       (unless (countersign-omits-p payload "tool_params")
         (setf (countersign-item-params item) (countersign-get payload 'tool_params))
         (countersign-chat--redraw item))))
    ("approval.resolved"
     (let ((item (gethash (countersign-get payload 'tool_id) countersign-chat--items)))
       (when item
         (setf (countersign-item-note item) (countersign-chat--decision-words payload))
         (when (equal (countersign-item-status item) "awaiting_approval")
           (setf (countersign-item-status item) (countersign-get payload 'status)))
         (countersign-chat--redraw item))))))

(defun countersign-chat--decision-words (resolution)
  "Say who decided and what they told the agent, of RESOLUTION."
  (concat (countersign-resolution-words
           resolution (gethash (countersign-get resolution 'approval_id)
                               (countersign-project-decided-here countersign-chat--project)))
          (and (countersign-get resolution 'message)
               (format ": %s" (countersign-get resolution 'message)))))

(defun countersign-chat--take-message (payload)
  "Show the message PAYLOAD, or note that it is being written."
  (let* ((id (countersign-get payload 'message_id))
         (role (countersign-get payload 'role))
         (content (countersign-text-of payload 'content))
         (complete (countersign-get payload 'complete))
         (text (or (gethash id countersign-chat--texts)
                   (puthash id (countersign-stream-text-create) countersign-chat--texts))))
    (cond
     ((null id))
     ((equal role "tool") (countersign-chat--take-tool-message payload))
     ((countersign-omits-p payload "content") (countersign-chat-reload))
     (t (countersign-stream-text-replace text content complete)
        (countersign-chat--show-text id role text)
        (when complete (remhash id countersign-chat--texts))))))

(defun countersign-chat--show-text (id role text)
  "Show TEXT, the message ID of ROLE, as it is now."
  (let ((item (gethash id countersign-chat--items))
        (string (countersign-stream-text-string text)))
    (cond
     ;; An answer that only calls tools says nothing.
     ((and (string-empty-p string) (null item)))
     (t
      (unless item
        (setq item (make-countersign-item :id id :kind 'message :role role)))
      (setf (countersign-item-role item) role
            (countersign-item-text item) string
            (countersign-item-status item)
            (if (countersign-stream-text-complete text) 'complete 'writing))
      (if (countersign-item-start item)
          (countersign-chat--redraw item)
        (countersign-chat--add item))))))

(defun countersign-chat--take-delta (payload)
  "Add the piece PAYLOAD to the message that it belongs to."
  (let* ((id (countersign-get payload 'message_id))
         (text (or (gethash id countersign-chat--texts)
                   ;; We missed the beginning of this message.
                   (and id (not (gethash id countersign-chat--items))
                        (puthash id (countersign-stream-text-create) countersign-chat--texts))))
         (item (gethash id countersign-chat--items)))
    (when text
      (pcase (countersign-stream-text-add text (or (countersign-get payload 'offset) 0)
                                          (countersign-text-of payload 'text))
        ('gap (countersign-chat-reload))
        ((and (pred stringp) grown)
         (if item (countersign-chat--grow item grown)
           (countersign-chat--show-text id "assistant" text)))
        ('again (countersign-chat--show-text id "assistant" text))))))

(defun countersign-chat--tool-item (id)
  "Return the item of the call ID; add it if needed."
  (or (gethash id countersign-chat--items)
      (let ((item (make-countersign-item :id id :kind 'tool)))
        (countersign-chat--add item)
        item)))

(defun countersign-chat--take-call (payload)
  "Show the tool call PAYLOAD."
  (when-let ((id (countersign-get payload 'tool_id)))
    (let* ((before countersign-chat--last)
           (item (countersign-chat--tool-item id)))
      ;; A later event of a known call has its status, but not its parameters.
      (unless (and (countersign-item-params item) (countersign-omits-p payload "tool_params"))
        (setf (countersign-item-params item) (countersign-get payload 'tool_params)))
      (setf (countersign-item-tool-name item) (countersign-get payload 'tool_name)
            (countersign-item-status item) (countersign-get payload 'status)
            (countersign-item-error item) (countersign-get payload 'error)
            (countersign-item-time-ms item) (countersign-get payload 'execution_time_ms)
            (countersign-item-exit-code item) (countersign-get payload 'exit_code)
            (countersign-item-undoable item) (or (countersign-item-undoable item)
                                                 (countersign-get payload 'undoable)))
      (when (countersign-get payload 'undone_at) (setf (countersign-item-undo item) 'undone))
      (countersign-chat--redraw item)
      ;; Calls that follow each other stand without a gap.
      (when (and before (not (eq before item)) (eq (countersign-item-kind before) 'tool))
        (countersign-chat--redraw before)))))

(defun countersign-chat--set-status (payload status)
  "Set the status of the call of PAYLOAD to STATUS."
  (when-let ((item (gethash (countersign-get payload 'tool_id) countersign-chat--items)))
    (setf (countersign-item-status item) status)
    (countersign-chat--redraw item)))

(defun countersign-chat--take-progress (payload)
  "Show the progress PAYLOAD."
  (when-let ((item (gethash (countersign-get payload 'tool_id) countersign-chat--items)))
    (let ((progress (countersign-get payload 'progress))
          (message (countersign-get payload 'message))
          (chunk (countersign-text-of payload 'output 'chunk)))
      (setf (countersign-item-status item) "executing"
            (countersign-item-note item)
            (if (or progress message)
                (concat (and progress (format "%d%% " (round progress))) message)
              (countersign-item-note item))
            (countersign-item-output item)
            (countersign-chat--tail (concat (countersign-item-output item) chunk)))
      (countersign-chat--redraw item))))

(defun countersign-chat--tail (text)
  "Return the end of TEXT, as much as is shown."
  (if (> (length text) countersign-chat-output-max)
      (substring text (- countersign-chat-output-max))
    text))

(defun countersign-chat--take-result (payload)
  "Show the result PAYLOAD of a call, or of its undo."
  (when-let ((id (countersign-get payload 'tool_id)))
    (let ((item (countersign-chat--tool-item id)))
      (if (countersign-get payload 'undo_id)
          (countersign-chat--take-undo item payload)
        (setf (countersign-item-tool-name item) (countersign-get payload 'tool_name)
              (countersign-item-status item) (countersign-get payload 'status)
              (countersign-item-error item) (countersign-get payload 'error)
              (countersign-item-time-ms item) (countersign-get payload 'execution_time_ms)
              (countersign-item-exit-code item) (countersign-get payload 'exit_code)
              (countersign-item-result item)
              (if (countersign-omits-p payload "result") 'omitted
                (let ((result (countersign-get payload 'result)))
                  (if (consp result) result (and result `((content . ,(format "%s" result)))))))
              ;; Only file tools name their file beside what changed; a command that changed files cannot be undone.
              (countersign-item-undoable item)
              (and (countersign-get payload 'result 'path)
                   (countersign-list-of payload 'result 'changed_files)
                   t))
        (when (countersign-get payload 'late)
          (setf (countersign-item-note item) (countersign-words "the result came late")))
        (when (and (countersign-item-open item) (eq (countersign-item-result item) 'omitted))
          (countersign-chat--fetch-result item))
        (countersign-chat--redraw item)))))

(defun countersign-chat--take-undo (item payload)
  "Show the outcome of undoing ITEM, as PAYLOAD says."
  (setf (countersign-item-undo item)
        (if (equal (countersign-get payload 'status) "completed") 'undone
          (countersign-words "not undone: %s" (countersign-text-of payload 'error 'message))))
  (countersign-chat--redraw item)
  (message "%s: %s" (countersign-one-line (or (countersign-item-tool-name item) "") 40)
           (if (eq (countersign-item-undo item) 'undone) (countersign-words "undone")
             (countersign-one-line (countersign-item-undo item) 300))))

(defun countersign-chat--take-tool-message (payload)
  "Take the result of a call from PAYLOAD, the message that told the model."
  (let* ((item (gethash (countersign-get payload 'tool_id) countersign-chat--items))
         (told (and item (null (countersign-item-result item))
                    (ignore-error countersign-bad-json
                      (countersign-json-read (countersign-text-of payload 'content))))))
    (when (consp (countersign-get told 'result))
      (setf (countersign-item-result item) (countersign-get told 'result))
      (when (countersign-item-open item) (countersign-chat--redraw item)))))

;;;; Reading a session

(defun countersign-chat-reload ()
  "Read the session again."
  (interactive)
  (if (null countersign-chat--session)
      (countersign-chat--clear)
    (let ((buffer (current-buffer)) (session countersign-chat--session))
      (setq countersign-chat--loading '(loading))
      (countersign-chat--read-all
       buffer session
       (lambda (messages executions problem)
         (when (and (buffer-live-p buffer)
                    (equal session (buffer-local-value 'countersign-chat--session buffer)))
           (with-current-buffer buffer
             (let ((missed (reverse (butlast countersign-chat--loading))))
               (setq countersign-chat--loading nil)
               (if problem
                   (message "%s" (countersign-words "The session could not be read: %s" (plist-get problem :message)))
                 (countersign-chat--show messages executions))
               (pcase-dolist (`(,name . ,payload) missed)
                 (countersign-chat--take name payload))))))))))

(defun countersign-chat--read-all (buffer session callback)
  "Read all of SESSION for BUFFER; CALLBACK gets messages, calls and an error."
  (let ((project (buffer-local-value 'countersign-chat--project buffer)))
    (countersign-chat--pages
     project 'messages
     (lambda (cursor)
       (countersign-project-path project "chat" "messages"
                                 `(("session_id" . ,session) ("limit" . "100")
                                   ,@(and cursor `(("cursor" . ,cursor))))))
     (lambda (messages problem)
       (if problem (funcall callback nil nil problem)
         (countersign-chat--pages
          project 'executions
          (lambda (cursor)
            (countersign-transport-path "my" "tools" "history"
                                        `(("session_id" . ,session) ("limit" . "100")
                                          ,@(and cursor `(("cursor" . ,cursor))))))
          (lambda (executions problem) (funcall callback messages executions problem))))))))

(defun countersign-chat--pages (project field path-of callback &optional cursor so-far)
  "Read all pages of FIELD in PROJECT, at PATH-OF a cursor; then CALLBACK.
CURSOR and SO-FAR are for the pages after the first."
  (countersign-project-request
   project "GET" (funcall path-of cursor) :retries 2
   :callback
   (lambda (answer problem)
     (let ((all (append so-far (countersign-list-of answer field)))
           (next (countersign-get answer 'next_cursor)))
       (cond (problem (funcall callback nil problem))
             ((and next (< (length all) 5000))
              (countersign-chat--pages project field path-of callback next all))
             (t (funcall callback all nil)))))))

(defun countersign-chat--clear ()
  "Empty the transcript."
  (countersign-chat--drawing
    (delete-region (point-min) countersign-chat--end))
  (clrhash countersign-chat--items)
  (clrhash countersign-chat--texts)
  (setq countersign-chat--last nil)
  (countersign-chat--update-hint))

(defconst countersign-chat--decisions-max 30
  "Upper bound for fetched rejection messages of a session, newest first.")

(defun countersign-chat--show (messages executions)
  "Show MESSAGES and EXECUTIONS, in the order in which they happened."
  (let ((open (cl-loop for item being the hash-values of countersign-chat--items
                       when (countersign-item-open item) collect (countersign-item-id item)))
        ;; The history does not have them.
        (notes (cl-loop for item being the hash-values of countersign-chat--items
                        when (countersign-item-note item)
                        collect (list (countersign-item-id item) (countersign-item-status item)
                                      (countersign-item-note item))))
        (fetches countersign-chat--decisions-max)
        (entries (append
                  (mapcar (lambda (message)
                            (list (countersign-text-of message 'created_at) 'message message))
                          messages)
                  (mapcar (lambda (execution)
                            (list (countersign-text-of execution 'created_at) 'call execution))
                          executions)))
        (places (mapcar (lambda (window) (cons window (countersign-chat--place window)))
                        (cons nil (get-buffer-window-list nil nil t)))))
    (countersign-chat--clear)
    (pcase-dolist (`(,_ ,kind ,data) (sort entries (lambda (a b) (string< (car a) (car b)))))
      (if (eq kind 'call) (countersign-chat--take-call data)
        (countersign-chat--take-message data)))
    (dolist (execution executions)
      ;; What the history has of a result is masked; the whole is fetched.
      (when-let ((item (gethash (countersign-get execution 'tool_id) countersign-chat--items)))
        (pcase-let ((`(,status ,note) (cdr (assoc (countersign-item-id item) notes))))
          (when (and note (equal status (countersign-item-status item)))
            (setf (countersign-item-note item) note)
            (countersign-chat--redraw item)))
        (when (and (equal (countersign-item-status item) "rejected")
                   (null (countersign-item-note item))
                   (>= (cl-decf fetches) 0))
          (countersign-chat--fetch-result item))
        (when (and (null (countersign-item-result item))
                   (equal (countersign-item-status item) "completed"))
          (setf (countersign-item-result item) 'omitted))
        (when (member (countersign-item-id item) open)
          (countersign-chat--unfold item))))
    (pcase-dolist (`(,window . ,place) places)
      (countersign-chat--go-back window place))))

(defun countersign-chat--place (window)
  "Return (ID . DISTANCE) of the item that is read in WINDOW, or at point if nil.
Nil where that is no item: who types stays where they type."
  (let* ((position (if window (window-point window) (point)))
         (item (and (< position (point-max)) (get-text-property position 'countersign-item))))
    (when (and item (countersign-item-start item))
      (cons (countersign-item-id item) (- position (countersign-item-start item))))))

(defun countersign-chat--go-back (window place)
  "Move WINDOW, or point if nil, back to PLACE."
  (when-let ((item (and place (gethash (car place) countersign-chat--items)))
             (position (min (+ (countersign-item-start item) (cdr place)) (1- (countersign-chat--item-end item)))))
    (if window (set-window-point window position) (goto-char position))))

;;;; Folding

(defun countersign-chat-toggle ()
  "Fold or unfold the tool call at point."
  (interactive)
  (let ((item (countersign-chat--item-at-point)))
    (cond
     ((null item) (if (>= (point) countersign-chat--input) (insert "\t")
                    (user-error "%s" (countersign-words "There is no tool call here"))))
     ((countersign-item-open item)
      (setf (countersign-item-open item) nil)
      (countersign-chat--redraw item))
     (t (countersign-chat--unfold item)))))

(defun countersign-chat--item-at-point ()
  "Return the tool call at point, or nil."
  (let ((item (get-text-property (point) 'countersign-item)))
    (and item (eq (countersign-item-kind item) 'tool) item)))

(defun countersign-chat--unfold (item)
  "Show what is in ITEM, a tool call."
  (setf (countersign-item-open item) t)
  (when (eq (countersign-item-result item) 'omitted) (countersign-chat--fetch-result item))
  (countersign-chat--redraw item))

(defun countersign-chat--fetch-result (item)
  "Fetch the result of ITEM, which was too large for an event."
  (let ((buffer (current-buffer)))
    (setf (countersign-item-fetching item) t)
    (countersign-project-request
     countersign-chat--project "GET"
     (countersign-transport-path "my" "tools" (countersign-item-id item)) :retries 2
     :callback
     (lambda (answer problem)
       (when (buffer-live-p buffer)
         (with-current-buffer buffer
           (setf (countersign-item-fetching item) nil)
           (if problem
               (setf (countersign-item-note item) (plist-get problem :message))
             (let ((result (countersign-get answer 'result)))
               (setf (countersign-item-result item)
                     (cond ((consp result) result)
                           (result `((content . ,(format "%s" result))))))
               (when-let ((params (countersign-get answer 'execution 'tool_params)))
                 (setf (countersign-item-params item) params))
               (when-let ((decision (countersign-get answer 'decision)))
                 (unless (countersign-item-note item)
                   (setf (countersign-item-note item)
                         (countersign-chat--decision-words
                          `((status . ,(countersign-get decision 'status))
                            (device . ,(countersign-get decision 'by 'device))
                            (grant_id . ,(countersign-get answer 'execution 'grant_id))
                            (approval_id . ,(countersign-get answer 'execution 'approval_id))
                            (message . ,(countersign-get decision 'message)))))))))
           ;; It may have been taken away by a reload.
           (when (eq item (gethash (countersign-item-id item) countersign-chat--items))
             (countersign-chat--redraw item))))))))

;;;; Typing and sending

(defun countersign-chat-self-insert (count)
  "Insert what was typed COUNT times; in the transcript, go to the input first."
  (interactive "p")
  (when (< (point) countersign-chat--input) (goto-char (point-max)))
  (self-insert-command count))
;; For `delete-selection-mode'.
(put 'countersign-chat-self-insert 'delete-selection 'delete-selection-uses-region-p)

(defun countersign-chat-input ()
  "Return what was typed and not yet sent."
  (save-restriction
    (widen)
    (buffer-substring-no-properties countersign-chat--input (point-max))))

(defun countersign-chat--set-input (text)
  "Replace the input by TEXT."
  (widen)
  (delete-region countersign-chat--input (point-max))
  (goto-char (point-max))
  (insert text))

(defun countersign-chat-send ()
  "Send what was typed; on a tool call, fold or unfold it."
  (interactive)
  (let ((text (string-trim (countersign-chat-input))))
    (cond
     ((and (< (point) countersign-chat--input) (countersign-chat--item-at-point))
      (countersign-chat-toggle))
     ((string-empty-p text) (user-error "%s" (countersign-words "There is nothing to send")))
     ((not (memq (countersign-project-state countersign-chat--project) '(open connecting waiting)))
      (user-error "%s" (countersign-words "Not connected: %s" (countersign-chat--state-words countersign-chat--project))))
     (t
      (ring-insert countersign-chat--ring text)
      (setq countersign-chat--ring-index nil)
      (countersign-chat--set-input "")
      (setq buffer-undo-list nil)
      (countersign-chat--with-session
       (lambda (problem)
         (if problem (countersign-chat--not-sent text problem)
           (countersign-chat--post text))))))))

(defun countersign-chat--with-session (callback)
  "Call CALLBACK in this buffer with nil when there is a session, or an error."
  (let ((buffer (current-buffer)))
    (if countersign-chat--session (funcall callback nil)
      (countersign-project-request
       countersign-chat--project "POST"
       (countersign-project-path countersign-chat--project "sessions") :body 'empty
       :callback
       (lambda (answer problem)
         (when (buffer-live-p buffer)
           (with-current-buffer buffer
             (setq countersign-chat--session (countersign-get answer 'session 'session_id)
                   countersign-chat--title (countersign-text-of answer 'session 'title))
             (funcall callback problem))))))))

(defun countersign-chat--post (text)
  "Send TEXT in the session of this buffer."
  (let ((buffer (current-buffer)))
    (countersign-project-request
     countersign-chat--project "POST"
     (countersign-project-path countersign-chat--project "chat" "messages")
     :body (append (countersign-body-message text countersign-chat--session)
                   (and countersign-model `((model . ,countersign-model))))
     :callback
     (lambda (_answer problem)
       (when (and problem (buffer-live-p buffer))
         (with-current-buffer buffer (countersign-chat--not-sent text problem)))))))

(defun countersign-chat--not-sent (text problem)
  "Put TEXT back into the input; it was not sent because of PROBLEM."
  (when (string-empty-p (string-trim (countersign-chat-input)))
    (save-excursion (countersign-chat--set-input text))
    (when (= (point) countersign-chat--input) (goto-char (point-max))))
  (message "%s" (countersign-words "Not sent: %s" (plist-get problem :message))))

(defun countersign-chat-previous-input (count)
  "Put the input COUNT before this one into its place."
  (interactive "p")
  (when (ring-empty-p countersign-chat--ring) (user-error "%s" (countersign-words "Nothing was sent from here")))
  (setq countersign-chat--ring-index
        (mod (+ (or countersign-chat--ring-index -1) count)
             (ring-length countersign-chat--ring)))
  (countersign-chat--set-input (ring-ref countersign-chat--ring countersign-chat--ring-index)))

(defun countersign-chat-next-input (count)
  "Put the input COUNT after this one into its place."
  (interactive "p")
  (countersign-chat-previous-input (- count)))

;;;; Sessions, stop, cancel, undo

(defun countersign-chat-stop ()
  "Stop the agent."
  (interactive)
  (pcase-let ((`(,state . ,run) (countersign-project-agent countersign-chat--project
                                                           countersign-chat--session)))
    (when (or (null run) (equal state "idle")) (user-error "%s" (countersign-words "The agent is idle")))
    (countersign-project-request
     countersign-chat--project "POST" (countersign-transport-path "my" "runs" run "stop")
     :body 'empty :retries 2
     :callback (lambda (_answer problem)
                 (message "%s" (if problem (plist-get problem :message) (countersign-words "Stopped")))))))

(defun countersign-chat-new-session ()
  "Begin a new session; it is made when something is sent."
  (interactive)
  (setq countersign-chat--session nil countersign-chat--title nil countersign-chat--loading nil)
  (countersign-chat--clear)
  (goto-char (point-max))
  (force-mode-line-update))

(defun countersign-chat-show-session (session title)
  "Show SESSION, which has TITLE."
  (setq countersign-chat--session session countersign-chat--title title)
  (countersign-chat--clear)
  (countersign-chat-reload)
  (force-mode-line-update))

(defun countersign-chat-open-latest (project)
  "Show the latest session of PROJECT in its chat buffer, if there is one."
  (countersign-project-request
   project "GET" (countersign-project-path project "sessions") :retries 2
   :callback
   (lambda (answer _problem)
     (let ((latest (car (countersign-list-of answer 'sessions)))
           (buffer (countersign-project-chat project)))
       (when (and latest (buffer-live-p buffer))
         (with-current-buffer buffer
           ;; Unless the person chose a session meanwhile.
           (unless countersign-chat--session
             (countersign-chat-show-session (countersign-get latest 'session_id)
                                            (countersign-text-of latest 'title)))))))))

(defun countersign-chat-switch-session ()
  "Choose another session of this project."
  (interactive)
  (let* ((buffer (current-buffer))
         (answer (countersign-project-await countersign-chat--project "GET"
                                            (countersign-project-path countersign-chat--project "sessions")))
         (choices (cl-loop for session in (countersign-list-of answer 'sessions)
                           for number from 1
                           collect (cons (format "%d %s  %s" number
                                                 (let ((title (countersign-one-line
                                                               (countersign-text-of session 'title) 60)))
                                                   (if (string-empty-p title) (countersign-words "(no title)") title))
                                                 (countersign-one-line
                                                  (countersign-text-of session 'last_message_at) 16))
                                         session)))
         (chosen (cdr (assoc (completing-read (countersign-words "Session: ") (countersign-approval--in-order
                                                           (mapcar #'car choices))
                                              nil t)
                             choices))))
    (when (and chosen (buffer-live-p buffer))
      (with-current-buffer buffer
        (countersign-chat-show-session (countersign-get chosen 'session_id)
                                       (countersign-text-of chosen 'title))))))

(defun countersign-chat--call-at-point-or-last (test nothing)
  "Return the call at point, or the last one that passes TEST.
NOTHING is said when there is none."
  (or (countersign-chat--item-at-point)
      (let ((found nil))
        (maphash (lambda (_id item)
                   (when (and (eq (countersign-item-kind item) 'tool) (funcall test item))
                     (setq found item)))
                 countersign-chat--items)
        found)
      (user-error "%s" nothing)))

(defun countersign-chat-undo (&optional force)
  "Undo the tool call at point, or the last one that changed something.
With a prefix argument FORCE, also where the file was changed since;
that change is lost then."
  (interactive "P")
  (let ((item (countersign-chat--call-at-point-or-last
               (lambda (item)
                 (and (equal (countersign-item-status item) "completed")
                      (not (eq (countersign-item-undo item) 'undone))
                      (countersign-item-undoable item)))
               (countersign-words "There is no call to undo")))
        (buffer (current-buffer)))
    (when (y-or-n-p (countersign-words "Undo %s %s%s? "
                            (countersign-one-line (or (countersign-item-tool-name item) "") 30)
                            (countersign-operand (countersign-item-params item))
                            (if force (countersign-words ", losing what was changed since") "")))
      (setf (countersign-item-undo item) (countersign-words "undoing …"))
      (countersign-chat--redraw item)
      (countersign-project-request
       countersign-chat--project "POST"
       (countersign-transport-path "my" "tools" (countersign-item-id item) "undo")
       :body (if force '((force . t)) 'empty)
       :callback
       (lambda (_answer problem)
         (when (and problem (buffer-live-p buffer))
           (with-current-buffer buffer
             (setf (countersign-item-undo item)
                   (countersign-words "not undone: %s" (plist-get problem :message)))
             (countersign-chat--redraw item)
             (message "%s" (plist-get problem :message)))))))))

(defun countersign-chat-cancel ()
  "Cancel the tool call at point, or the last one that has not ended."
  (interactive)
  (let ((item (countersign-chat--call-at-point-or-last
               (lambda (item)
                 (not (member (countersign-item-status item)
                              '("completed" "failed" "rejected" "timeout" "cancelled"))))
               (countersign-words "There is no call to cancel"))))
    (countersign-project-request
     countersign-chat--project "POST"
     (countersign-transport-path "my" "tools" (countersign-item-id item) "cancel") :body 'empty
     :callback (lambda (_answer problem)
                 (message "%s" (if problem (plist-get problem :message) (countersign-words "Cancelling …")))))))

(defun countersign-chat--state (project)
  "Show the state of PROJECT in its chat buffer."
  (let ((buffer (countersign-project-chat project)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer (force-mode-line-update)))))

(defun countersign-chat-install ()
  "Show events in the chat buffers."
  (add-hook 'countersign-event-functions #'countersign-chat--event)
  (add-hook 'countersign-state-functions #'countersign-chat--state))

(provide 'countersign-chat)

;;; countersign-chat.el ends here
