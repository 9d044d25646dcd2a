;;; countersign-chat.el --- The conversation with the agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Each project has one buffer, which shows one of its sessions: the messages
;; as they are streamed, and folded tool calls.  Everything above the prompt is
;; read-only; the person types below it.  New content never moves point or the
;; text that is being typed.

;;; Code:

(require 'cl-lib)
(require 'ring)
(require 'countersign-project)
(require 'countersign-card)
(require 'countersign-call)
(require 'countersign-markdown)
(require 'countersign-approval)
(require 'countersign-choose)

(defface countersign-you '((t :inherit font-lock-keyword-face :weight bold))
  "Heading of the person's messages."
  :group 'countersign-faces)
(defface countersign-agent '((t :inherit font-lock-function-name-face :weight bold))
  "Heading of the agent's messages."
  :group 'countersign-faces)
(defcustom countersign-model nil
  "The model of the agent, as PROVIDER:MODEL; nil means the server's default."
  :type '(choice (const :tag "The server's default" nil) string)
  :group 'countersign)

(declare-function countersign-menu "countersign-menu")
(declare-function countersign-chat-switch-session "countersign-session")
(declare-function countersign-chat-switch-mode "countersign-session")
(declare-function countersign-chat-undo-run "countersign-take-back")
(declare-function countersign-take-back-summarize "countersign-take-back")

(defvar-local countersign-chat--project nil "The project of this conversation.")
(defvar-local countersign-chat--session nil "Id of the session that is shown, or nil.")
(defvar-local countersign-chat--title nil "Title of the session.")
(defvar-local countersign-chat--mode nil "Mode of the session, or nil before it is known.")
(defvar-local countersign-chat--items nil "Items by id.")
(defvar-local countersign-chat--last nil "The last item.")
(defvar-local countersign-chat--end nil "Marker: the end of the transcript.")
(defvar-local countersign-chat--input nil "Marker: where the input begins.")
(defvar-local countersign-chat--texts nil "Messages that are being streamed, by id.")
(defvar-local countersign-chat--loading nil
  "Events that came while the session is being read, latest first, or nil.
The last element is the symbol `loading'.")
(defvar-local countersign-chat--queued nil "Messages that wait for the agent.")
(defvar-local countersign-chat--queue nil "Overlay: the queued messages, before the prompt.")
(defvar-local countersign-chat--hint nil "Overlay: a hint in an empty conversation.")
(defvar-local countersign-chat--ring nil "The messages that were sent from here.")
(defvar-local countersign-chat--ring-index nil "The message that was recalled, or nil.")
(defvar-local countersign-chat--draft nil "What was typed before a message was recalled.")

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
    (define-key map (kbd "C-c C-z") #'countersign-chat-undo-run)
    (define-key map (kbd "C-c C-k") #'countersign-chat-cancel)
    (define-key map (kbd "C-c C-r") #'countersign-chat-reload)
    (define-key map (kbd "C-c C-o") #'countersign-chat-show-output)
    (define-key map (kbd "C-c C-q") #'countersign-chat-edit-queued)
    (define-key map (kbd "<backtab>") #'countersign-chat-switch-mode)
    (define-key map (kbd "C-c C-f") #'countersign-chat-send-queued)
    (define-key map (kbd "C-c C-m") #'countersign-menu)
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
              countersign-chat--ring (make-ring 50)
              imenu-create-index-function #'countersign-chat--index)
  (setq header-line-format '(:eval (countersign-chat--header)))
  (let ((inhibit-read-only t))
    (erase-buffer)
    (setq countersign-chat--end (copy-marker (point-min) t))
    (insert (propertize "> " 'face 'minibuffer-prompt 'read-only t 'field 'countersign-prompt
                        'front-sticky '(read-only field) 'rear-nonsticky t))
    (set-marker countersign-chat--end (point-min))
    (setq countersign-chat--input (copy-marker (point-max)))
    (setq countersign-chat--hint (make-overlay (point-min) (point-min))
          ;; It stays before the prompt while the transcript grows.
          countersign-chat--queue (make-overlay countersign-chat--end countersign-chat--input nil t))
    (countersign-chat--update-hint))
  (setq buffer-undo-list nil))

(defun countersign-chat--update-hint ()
  "Show a hint in an empty conversation, as an overlay and not as text."
  (overlay-put
   countersign-chat--hint 'before-string
   (unless countersign-chat--last
     (propertize
      (concat (countersign-words "What should the agent do?  Describe a task below; RET sends it, C-j begins a new line.") "\n"
              (countersign-words "Without a model's key you type the tool calls: /read_file path=README.md or /run npm test") "\n"
              (substitute-command-keys
               (countersign-words "\\<countersign-chat-mode-map>\\[countersign-chat-switch-session] goes on in an earlier conversation, \\[countersign-menu] shows all commands."))
              "\n\n")
      'face 'countersign-label))))

(defun countersign-chat-buffer (project)
  "Return the chat buffer of PROJECT; create it if needed."
  (let ((buffer (or (countersign-project-chat project) (countersign-chat--left-behind project))))
    (if (and (buffer-live-p buffer) (eq project (buffer-local-value 'countersign-chat--project buffer))) buffer
      (with-current-buffer (if (buffer-live-p buffer) buffer
                             (generate-new-buffer
                              (format "*countersign: %s*" (countersign-project-name project))))
        (unless (derived-mode-p 'countersign-chat-mode) (countersign-chat-mode))
        (setq countersign-chat--project project
              default-directory (file-name-as-directory (countersign-project-root project)))
        (setf (countersign-project-chat project) (current-buffer))
        (goto-char (point-max))
        (current-buffer)))))

(defun countersign-chat--left-behind (project)
  "Return the chat buffer of a disconnected project with the root of PROJECT.
Its draft is kept when the project is connected again."
  (cl-find-if (lambda (buffer)
                (let ((other (buffer-local-value 'countersign-chat--project buffer)))
                  (and other
                       (eq (countersign-project-state other) 'closed)
                       (equal (countersign-project-root other) (countersign-project-root project))
                       (with-current-buffer buffer (derived-mode-p 'countersign-chat-mode)))))
              (buffer-list)))

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
                  (countersign-words-shared "modes" (or countersign-chat--mode "ask") "name")
                  (countersign-chat--state-words project)
                  (pcase agent
                    ("thinking" (countersign-words "thinking …"))
                    ("tool_execution" (countersign-words "working …"))
                    ("awaiting_approval" (countersign-words "waits for you")))
                  (and (> waiting 0)
                       (countersign-words "%d to decide (%s)" waiting
                                          (countersign-approval--keys
                                           "\\<countersign-chat-mode-map>\\[countersign-approval-next]")))))
      "  ·  "))))

(defun countersign-chat--state-words (project)
  "Return a text about the connection of PROJECT."
  (let ((problem (countersign-one-line (or (countersign-project-problem project) "") 80)))
    (pcase (countersign-project-state project)
      ((guard (countersign-project-up-ended-p project))
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
  "Draw in the transcript with BODY; keep point, input and its undo."
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
         ;; The positions in other entries are unknown: drop them.
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
  "Redraw ITEM.  Windows keep their position in it."
  (let* ((start (marker-position (countersign-item-start item)))
         (points (countersign-chat--points-in start (countersign-chat--item-end item))))
    (countersign-chat--drawing
      (delete-region start (countersign-chat--item-end item))
      (goto-char start)
      (insert (countersign-chat--render item))
      (set-marker (countersign-item-start item) start))
    (setf (countersign-item-drawn-at item) (float-time))
    ;; Restore positions last, because drawing moves point to the end of the item.
    (pcase-dolist (`(,window . ,offset) points)
      (let ((position (min (+ start offset) (1- (countersign-chat--item-end item)))))
        (if window (set-window-point window position) (goto-char position))))))

(defun countersign-chat--points-in (start end)
  "Return (WINDOW . OFFSET) for windows whose point is between START and END.
For the buffer's own point, WINDOW is nil."
  (cl-loop for window in (cons nil (get-buffer-window-list nil nil t))
           for point = (if window (window-point window) (point))
           when (and (<= start point) (< point end))
           collect (cons window (- point start))))

(defconst countersign-chat--redraw-pause 0.5
  "Seconds before a message that is being streamed is fontified again.")

(defun countersign-chat--grow (item text)
  "Add TEXT at the end of ITEM, a message that is being streamed.
Complete lines are fontified now and then, and all at the end."
  (if (and (string-search "\n" text)
           (> (- (float-time) (or (countersign-item-drawn-at item) 0)) countersign-chat--redraw-pause))
      (countersign-chat--redraw item)
    (countersign-chat--drawing
      (goto-char (max (point-min) (1- (countersign-chat--item-end item))))
      (insert (countersign-chat--sealed (countersign-card-text text) item)))))

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
     (pcase (countersign-item-kind item)
       ('tool (countersign-chat--insert-call item))
       ('note (countersign-insert (concat (countersign-item-text item) "\n\n") 'countersign-label))
       (_ (countersign-chat--insert-message item)))
     (buffer-string))
   item))

(defun countersign-chat--role-words (role)
  "Return ROLE of a message in words."
  (pcase role
    ("user" (countersign-words "You"))
    ("assistant" (countersign-words "Agent"))
    (_ (countersign-one-line (or role "?") 20))))

(defun countersign-chat--insert-message (item)
  "Insert ITEM, a message."
  (let ((role (countersign-item-role item)))
    (insert (propertize (concat (countersign-chat--role-words role)
                                (and (eq (countersign-item-note item) 'rewound)
                                     (concat "  " (countersign-words "taken back")))
                                "\n")
                        'face (pcase role
                                ("user" 'countersign-you)
                                ("assistant" 'countersign-agent)
                                (_ 'countersign-label))))
    ;; While the message is streamed, exactly one line feed must follow its text.
    (let ((text (countersign-card-text (countersign-item-text item))))
      (insert (pcase role
                ("system" (propertize (countersign-words-sentence text) 'face 'countersign-label))
                ("assistant" (countersign-markdown text))
                (_ text))
              "\n"))
    (unless (eq (countersign-item-status item) 'writing) (insert "\n"))))

(defun countersign-chat-note (id text)
  "Show TEXT at the end of the transcript, as the note ID."
  (if-let* ((known (gethash id countersign-chat--items)))
      (progn (setf (countersign-item-text known) text) (countersign-chat--redraw known))
    (countersign-chat--add (make-countersign-item :id id :kind 'note :text text))))

(defun countersign-chat--insert-call (item)
  "Insert ITEM, a tool call, and an empty line if no other call follows it."
  (countersign-call-insert item)
  (unless (and (countersign-item-next item)
               (eq (countersign-item-kind (countersign-item-next item)) 'tool))
    (insert "\n")))

;;;; Events

(defun countersign-chat--event (project name payload)
  "Show the event NAME with PAYLOAD in the chat buffer of PROJECT."
  (let ((buffer (countersign-project-chat project)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (cond
         ((equal name "stream.reset") (countersign-chat-reload))
         ((equal name "session.changed")
          (countersign-chat--take-session (countersign-get payload 'session) (countersign-get payload 'deleted)))
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
    ("session.rewound" (countersign-chat-reload))
    ("agent.state"
     (when (and (equal (countersign-get payload 'state) "idle") (countersign-get payload 'run_id))
       (countersign-take-back-summarize (countersign-get payload 'run_id))))
    ("tool.call" (countersign-chat--take-call payload))
    ("tool.progress" (countersign-chat--take-progress payload))
    ("tool.result" (countersign-chat--take-result payload))
    ("tool.execution_signal" (countersign-chat--set-status payload "executing"))
    ;; The person edited the parameters: show those that are executed.
    ((or "approval.updated" "tool.approval_request")
     (when-let ((item (gethash (countersign-get payload 'tool_id) countersign-chat--items)))
       (unless (countersign-omits-p payload "preview")
         (setf (countersign-item-preview item) (countersign-get payload 'preview)))
       (unless (countersign-omits-p payload "tool_params")
         (setf (countersign-item-params item) (countersign-get payload 'tool_params)))
       (countersign-chat--redraw item)))
    ("queue.changed"
     (let ((queued (countersign-list-of payload 'queued)))
       ;; Taking back a message whose text was too large for an event would lose it.
       (if (cl-some (lambda (message) (countersign-omits-p message "content")) queued)
           (countersign-chat-reload)
         (countersign-chat--show-queue queued))))
    ("approval.resolved"
     (let ((item (gethash (countersign-get payload 'tool_id) countersign-chat--items)))
       (when item
         (setf (countersign-item-decision item) (countersign-chat--decision-words payload))
         (when (equal (countersign-item-status item) "awaiting_approval")
           (setf (countersign-item-status item) (countersign-get payload 'status)))
         (countersign-chat--redraw item))))))

(defun countersign-chat--decision-words (resolution)
  "Return a text about RESOLUTION: who decided, and the message to the agent."
  (concat (countersign-resolution-words
           resolution (gethash (countersign-get resolution 'approval_id)
                               (countersign-project-decided-here countersign-chat--project)))
          (and (countersign-get resolution 'message)
               (format ": %s" (countersign-get resolution 'message)))))

(defun countersign-chat--take-message (payload)
  "Show the message PAYLOAD, and begin its text if it is being streamed."
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
        (when-let* (((countersign-get payload 'rewound)) (item (gethash id countersign-chat--items)))
          (setf (countersign-item-note item) 'rewound)
          (countersign-chat--redraw item))
        (when complete (remhash id countersign-chat--texts))
        ;; Calls that had not begun when the run was stopped have no record of their own.
        (dolist (call (countersign-list-of payload 'tool_calls))
          (when (countersign-get call 'not_started)
            (countersign-chat--take-call
             `((status . "cancelled")
               (tool_id . ,(or (countersign-get call 'tool_id) (countersign-get call 'tool_call_id)))
               ,@call))))))))

(defun countersign-chat--show-text (id role text)
  "Show TEXT, the message ID of ROLE, as it is now."
  (let ((item (gethash id countersign-chat--items))
        (string (countersign-stream-text-string text)))
    (cond
     ;; A message that only calls tools has no text: do not show it.
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
                   ;; The beginning of this message was missed.
                   (and id (not (gethash id countersign-chat--items))
                        (puthash id (countersign-stream-text-create) countersign-chat--texts))))
         (item (gethash id countersign-chat--items)))
    (when text
      (pcase (countersign-stream-text-add text (or (countersign-get payload 'offset) 0)
                                          (countersign-text-of payload 'text))
        ('gap (countersign-chat-reload))
        ((and (pred stringp) grown)
         (if item
             (progn (setf (countersign-item-text item) (countersign-stream-text-string text))
                    (countersign-chat--grow item grown))
           (countersign-chat--show-text id "assistant" text)))
        ('again (countersign-chat--show-text id "assistant" text))))))

(defun countersign-chat--tool-item (id)
  "Return the item of the call ID; add it if needed."
  (or (gethash id countersign-chat--items)
      (let ((item (make-countersign-item :id id :kind 'tool)))
        (countersign-chat--add item)
        item)))

(defun countersign-chat--take-state (item payload)
  "Set the state of ITEM from PAYLOAD, an event of a call or of its result."
  (setf (countersign-item-tool-name item) (countersign-get payload 'tool_name)
        (countersign-item-status item) (countersign-get payload 'status)
        (countersign-item-error item) (countersign-get payload 'error)
        (countersign-item-not-started item) (countersign-get payload 'not_started)
        (countersign-item-time-ms item) (countersign-get payload 'execution_time_ms)
        (countersign-item-exit-code item) (countersign-get payload 'exit_code)))

(defun countersign-chat--take-call (payload)
  "Show the tool call PAYLOAD."
  (when-let ((id (countersign-get payload 'tool_id)))
    (let* ((before countersign-chat--last)
           (item (countersign-chat--tool-item id)))
      ;; A later event of a known call has its status, but not its parameters.
      (unless (and (countersign-item-params item) (countersign-omits-p payload "tool_params"))
        (setf (countersign-item-params item) (countersign-get payload 'tool_params)))
      (countersign-chat--take-state item payload)
      (setf (countersign-item-undoable item) (or (countersign-item-undoable item)
                                                 (countersign-get payload 'undoable)))
      (when (countersign-get payload 'undone_at) (setf (countersign-item-undo item) 'undone))
      (when-let ((decision (or (countersign-get payload 'decision)
                               ;; A server that does not send decisions says only that it was approved.
                               (and (or (countersign-get payload 'grant_id)
                                        (equal (countersign-get payload 'approved_by) "user"))
                                    '((status . "approved"))))))
        (setf (countersign-item-decision item)
              (countersign-chat--decision-words
               (append decision `((approval_id . ,(countersign-get payload 'approval_id))
                                  (grant_id . ,(countersign-get payload 'grant_id)))))))
      (countersign-chat--redraw item)
      ;; Redraw the call before: there is no empty line between two calls.
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
  "Return the last part of TEXT, at most `countersign-chat-output-max' long."
  (if (> (length text) countersign-chat-output-max)
      (substring text (- countersign-chat-output-max))
    text))

(defun countersign-chat--take-result (payload)
  "Show the result PAYLOAD of a call, or of its undo."
  (when-let ((id (countersign-get payload 'tool_id)))
    (let ((item (countersign-chat--tool-item id)))
      (if (countersign-get payload 'undo_id)
          (countersign-chat--take-undo item payload)
        (countersign-chat--take-state item payload)
        (setf (countersign-item-note item) ; what it said while it ran is over
              (and (countersign-get payload 'late) (countersign-words "the result came late"))
              (countersign-item-result item)
              (if (countersign-omits-p payload "result") 'omitted
                (let ((result (countersign-get payload 'result)))
                  (if (consp result) result (and result `((content . ,(format "%s" result)))))))
              ;; Results of file tools have a `path'; those of commands say whether they can be undone.
              (countersign-item-undoable item)
              (or (countersign-get payload 'result 'undoable)
                  (and (countersign-get payload 'result 'path)
                       (countersign-list-of payload 'result 'changed_files)
                       t)))
        ;; Of a command, only the result says whether it can be undone.
        (when (and (eq (countersign-item-result item) 'omitted)
                   (or (countersign-item-open item)
                       (member (countersign-item-tool-name item) '("execute_command" "shell_exec"))))
          (countersign-chat--fetch-result item))
        (countersign-chat--redraw item)))))

(defun countersign-chat--take-undo (item payload)
  "Show the outcome of undoing ITEM, which is in PAYLOAD."
  (setf (countersign-item-undo item)
        (if (equal (countersign-get payload 'status) "completed") 'undone
          (countersign-words "not undone: %s" (countersign-text-of payload 'error 'message))))
  (countersign-chat--redraw item)
  (message "%s: %s" (countersign-one-line (or (countersign-item-tool-name item) "") 40)
           (if (eq (countersign-item-undo item) 'undone) (countersign-words "undone")
             (countersign-one-line (countersign-item-undo item) 300))))

(defconst countersign-chat--shortened "\\[\\(?:… \\)?[0-9]+ characters \\(?:are left out here\\|of base64 are left out\\)"
  "What the server writes into a result that it shortened for the model.")

(defun countersign-chat--take-tool-message (payload)
  "Set the result of a call from PAYLOAD, the message with its result.
If it was shortened for the model, the whole result is fetched later."
  (let* ((item (gethash (countersign-get payload 'tool_id) countersign-chat--items))
         (content (countersign-text-of payload 'content))
         (told (and item (null (countersign-item-result item))
                    (ignore-error countersign-bad-json (countersign-json-read content)))))
    (when (consp (countersign-get told 'result))
      (setf (countersign-item-result item)
            (if (string-match-p countersign-chat--shortened content) 'omitted (countersign-get told 'result)))
      (countersign-chat--redraw item))))

;;;; Reading a session

(defun countersign-chat-reload ()
  "Read the session again."
  (interactive nil countersign-chat-mode)
  (if (null countersign-chat--session)
      (countersign-chat--clear)
    (let ((buffer (current-buffer)) (session countersign-chat--session))
      (setq countersign-chat--loading '(loading))
      (countersign-chat--read-all
       buffer session
       (lambda (messages executions queued problem)
         (when (and (buffer-live-p buffer)
                    (equal session (buffer-local-value 'countersign-chat--session buffer)))
           (with-current-buffer buffer
             (let ((missed (reverse (butlast countersign-chat--loading))))
               (setq countersign-chat--loading nil)
               (if problem
                   (message "%s" (countersign-words "The session could not be read: %s" (plist-get problem :message)))
                 (countersign-chat--show messages executions)
                 (countersign-chat--show-queue queued))
               (pcase-dolist (`(,name . ,payload) missed)
                 (countersign-chat--take name payload))))))))))

(defun countersign-chat--read-all (buffer session callback)
  "Read all of SESSION for BUFFER.
CALLBACK gets messages, calls, queued messages and an error."
  (let ((project (buffer-local-value 'countersign-chat--project buffer)))
    (countersign-chat--pages
     project 'messages
     (lambda (cursor)
       (countersign-project-path project "chat" "messages"
                                 `(("session_id" . ,session) ("limit" . "100")
                                   ,@(and cursor `(("cursor" . ,cursor))))))
     (lambda (messages problem answer)
       (if problem (funcall callback nil nil nil problem)
         (countersign-chat--pages
          project 'executions
          (lambda (cursor)
            (countersign-transport-path "my" "tools" "history"
                                        `(("session_id" . ,session) ("limit" . "100")
                                          ,@(and cursor `(("cursor" . ,cursor))))))
          (lambda (executions problem _answer)
            (funcall callback messages executions (countersign-list-of answer 'queued) problem))))))))

(defun countersign-chat--pages (project field path-of callback &optional cursor so-far)
  "Read all pages of FIELD in PROJECT, at PATH-OF a cursor.
CALLBACK gets all entries, an error, and the last answer.
CURSOR and SO-FAR are for the pages after the first."
  (countersign-project-request
   project "GET" (funcall path-of cursor) :retries 2
   :callback
   (lambda (answer problem)
     (let ((all (append so-far (countersign-list-of answer field)))
           (next (countersign-get answer 'next_cursor)))
       (cond (problem (funcall callback nil problem nil))
             ((and next (< (length all) 5000))
              (countersign-chat--pages project field path-of callback next all))
             (t (funcall callback all nil answer)))))))

(defun countersign-chat--clear ()
  "Empty the transcript."
  (countersign-chat--drawing
    (delete-region (point-min) countersign-chat--end))
  (clrhash countersign-chat--items)
  (clrhash countersign-chat--texts)
  (setq countersign-chat--last nil)
  (countersign-chat--show-queue nil)
  (countersign-chat--update-hint))

(defconst countersign-chat--fetches-max 30
  "Upper bound for calls that are fetched by themselves, newest first.")

(defun countersign-chat--keep (before item)
  "Copy to ITEM what BEFORE, the same call, knows and the history lacks."
  (dolist (slot '(note decision preview output))
    (unless (member (cl-struct-slot-value 'countersign-item slot before) '(nil ""))
      (setf (cl-struct-slot-value 'countersign-item slot item)
            (cl-struct-slot-value 'countersign-item slot before)))))

(defun countersign-chat--show (messages executions)
  "Show MESSAGES and EXECUTIONS, in the order in which they happened."
  (let ((open (cl-loop for item being the hash-values of countersign-chat--items
                       when (countersign-item-open item) collect (countersign-item-id item)))
        ;; Keep what the history does not have.
        (known (cl-loop for item being the hash-values of countersign-chat--items
                        collect (cons (countersign-item-id item) item)))
        (fetches countersign-chat--fetches-max)
        (sent '())
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
        (countersign-chat--take-message data)
        (when (and (ring-empty-p countersign-chat--ring) (equal (countersign-get data 'role) "user"))
          (push (countersign-text-of data 'content) sent))))
    (mapc #'countersign-chat--remember (reverse sent))
    (dolist (execution executions)
      ;; Results in the history are masked, so the full result is fetched later.
      (when-let ((item (gethash (countersign-get execution 'tool_id) countersign-chat--items)))
        (let ((before (cdr (assoc (countersign-item-id item) known))))
          (when (and before (equal (countersign-item-status before) (countersign-item-status item)))
            (countersign-chat--keep before item)
            (countersign-chat--redraw item)))
        (when (and (null (countersign-item-result item))
                   (member (countersign-item-status item) '("completed" "failed")))
          (setf (countersign-item-result item) 'omitted))
        ;; A rejection has its message, and a failed command its last lines.
        (when (and (if (equal (countersign-item-status item) "rejected") (null (countersign-item-decision item))
                     (and (countersign-call-nonzero-p item) (eq (countersign-item-result item) 'omitted)))
                   (>= (cl-decf fetches) 0))
          (countersign-chat--fetch-result item))
        (when (member (countersign-item-id item) open)
          (countersign-chat--unfold item))))
    (pcase-dolist (`(,window . ,place) places)
      (countersign-chat--go-back window place))
    ;; The end of a run that is under way is an event.
    (when-let* ((run (countersign-get (car (last messages)) 'run_id))
                (idle (member (car (countersign-project-agent countersign-chat--project countersign-chat--session))
                              '(nil "idle"))))
      (countersign-take-back-summarize run))))

(defun countersign-chat--place (window)
  "Return (ID . DISTANCE) of the item at point of WINDOW, or at point if nil.
Return nil if there is no item, such as in the input."
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
  (interactive nil countersign-chat-mode)
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
  "Show the details of ITEM, a tool call."
  (setf (countersign-item-open item) t)
  (when (or (eq (countersign-item-result item) 'omitted)
            ;; The diff of an edit is part of its preview.
            (and (assq 'changed_files (countersign-item-result item)) (null (countersign-item-preview item))
                 (not (assq 'stdout (countersign-item-result item)))))
    (countersign-chat--fetch-result item))
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
               (setf (countersign-item-undoable item) (countersign-get answer 'execution 'undoable))
               (setf (countersign-item-preview item) (countersign-get answer 'preview))
               (when-let ((decision (countersign-get answer 'decision)))
                 (unless (countersign-item-decision item)
                   (setf (countersign-item-decision item)
                         (countersign-chat--decision-words
                          `((status . ,(countersign-get decision 'status))
                            (device . ,(countersign-get decision 'by 'device))
                            (grant_id . ,(countersign-get answer 'execution 'grant_id))
                            (approval_id . ,(countersign-get answer 'execution 'approval_id))
                            (message . ,(countersign-get decision 'message)))))))))
           ;; A reload may have removed the item.
           (when (eq item (gethash (countersign-item-id item) countersign-chat--items))
             (countersign-chat--redraw item))))))))

(defun countersign-chat-show-output ()
  "Show all the output of the call at point, or of the last call with output."
  (interactive nil countersign-chat-mode)
  (let* ((item (countersign-chat--call-at-point-or-last
                (lambda (item) (not (string-empty-p (countersign-call-output item))))
                (countersign-words "There is no output")))
         (output (countersign-call-output item)))
    (when (string-empty-p output) (user-error "%s" (countersign-words "There is no output")))
    (with-current-buffer (get-buffer-create "*countersign output*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (countersign-result-coloured output) "\n"))
      (special-mode)
      (countersign-card-plain-buffer)
      (goto-char (point-max))
      (pop-to-buffer (current-buffer)))))

;;;; The index

(defun countersign-chat--index ()
  "Return the index of the conversation for `imenu'.
It has messages, headings and calls."
  (let ((messages '()) (headings '()) (calls '()))
    (dolist (item (countersign-chat--in-order))
      (let ((start (copy-marker (countersign-item-start item))))
        (cond
         ((eq (countersign-item-kind item) 'tool)
          (push (cons (countersign-one-line (countersign-chat--first-line item) 80) start) calls))
         ((equal (countersign-item-role item) "user")
          (push (cons (countersign-one-line (countersign-item-text item) 80) start) messages))
         (t (setq headings (append (countersign-chat--headings item) headings))))))
    (cl-loop for (name . entries) in (list (cons (countersign-words "Messages") messages)
                                           (cons (countersign-words "Headings") headings)
                                           (cons (countersign-words "Calls") calls))
             when entries collect (cons name (nreverse entries)))))

(defun countersign-chat--in-order ()
  "Return the items of the transcript, the first one first."
  (sort (cl-remove-if-not #'countersign-item-start (hash-table-values countersign-chat--items))
        (lambda (a b) (< (countersign-item-start a) (countersign-item-start b)))))

(defun countersign-chat--first-line (item)
  "Return the first line of ITEM as it is drawn."
  (save-excursion
    (goto-char (countersign-item-start item))
    (buffer-substring-no-properties (point) (line-end-position))))

(defun countersign-chat--headings (item)
  "Return (TITLE . MARKER) for each heading of ITEM, a message, the last one first."
  (save-excursion
    (goto-char (countersign-item-start item))
    (let ((end (countersign-chat--item-end item)) (found '()))
      (while (re-search-forward "^#\\{1,6\\}[ \t]+\\(.+\\)$" end t)
        ;; A line of code may look like a heading.
        (when (eq (get-text-property (match-beginning 0) 'face) 'countersign-markdown-markup)
          (push (cons (countersign-one-line (match-string-no-properties 1) 80)
                      (copy-marker (match-beginning 0)))
                found)))
      found)))

;;;; Typing and sending

(defun countersign-chat-self-insert (count)
  "Insert what was typed COUNT times; in the transcript, go to the input first."
  (interactive "p" countersign-chat-mode)
  (when (< (point) countersign-chat--input) (goto-char (point-max)))
  (self-insert-command count))
;; For `delete-selection-mode'.
(put 'countersign-chat-self-insert 'delete-selection 'delete-selection-uses-region-p)

(defun countersign-chat-input ()
  "Return the typed text that is not yet sent."
  (save-restriction
    (widen)
    (buffer-substring-no-properties countersign-chat--input (point-max))))

(defun countersign-chat--set-input (text)
  "Replace the input by TEXT."
  (widen)
  (delete-region countersign-chat--input (point-max))
  (goto-char (point-max))
  (insert text))

(defun countersign-chat-send (&optional now)
  "Send the typed text; on a tool call, fold or unfold it.
While the agent works, the text is queued for its next step.  With a prefix
argument NOW, that step comes after the call that is running."
  (interactive "P" countersign-chat-mode)
  (let ((text (string-trim (countersign-chat-input))))
    (cond
     ((and (< (point) countersign-chat--input) (countersign-chat--item-at-point))
      (countersign-chat-toggle))
     ((string-empty-p text) (user-error "%s" (countersign-words "There is nothing to send")))
     (t
      (countersign-chat--check-connected)
      (countersign-chat--set-input "")
      (setq buffer-undo-list nil)
      (countersign-chat-submit text (and now "send_now"))))))

(defun countersign-chat--check-connected ()
  "Signal an error unless a message can be sent, now or in a moment."
  (unless (memq (countersign-project-state countersign-chat--project) '(open connecting waiting))
    (user-error "%s" (countersign-words "Not connected: %s" (countersign-chat--state-words countersign-chat--project)))))

(defun countersign-chat-submit (text &optional when-busy)
  "Send TEXT in this conversation; begin a session if there is none.
If it cannot be sent, it is put into the empty input.  WHEN-BUSY is as for
`countersign-chat--post'."
  (countersign-chat--check-connected)
  (countersign-chat--remember text)
  (setq countersign-chat--ring-index nil)
  (countersign-chat--with-session
   (lambda (problem)
     (if problem (countersign-chat--not-sent text problem)
       (countersign-chat--post text when-busy)))))

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
             (setq countersign-chat--session (countersign-get answer 'session 'session_id))
             (countersign-chat--take-session (countersign-get answer 'session))
             (funcall callback problem))))))))

(defun countersign-chat--post (text &optional when-busy)
  "Send TEXT in the session of this buffer.
WHEN-BUSY says what happens to it while the agent works: with nil it is
queued for the next step of the agent."
  (let ((buffer (current-buffer)))
    (countersign-project-request
     countersign-chat--project "POST"
     (countersign-project-path countersign-chat--project "chat" "messages")
     :body (append (countersign-body-message text countersign-chat--session)
                   (and countersign-model `((model . ,countersign-model)))
                   `((when_busy . ,(or when-busy "queue"))))
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
  "Replace the input by the message sent COUNT messages before it.
The first step keeps the draft; going beyond the last message shows it again."
  (interactive "p" countersign-chat-mode)
  (when (ring-empty-p countersign-chat--ring) (user-error "%s" (countersign-words "Nothing was sent from here")))
  (let ((index (+ (or countersign-chat--ring-index -1) count)))
    (unless countersign-chat--ring-index (setq countersign-chat--draft (countersign-chat-input)))
    (setq countersign-chat--ring-index (and (>= index 0) (min index (1- (ring-length countersign-chat--ring)))))
    (countersign-chat--set-input
     (if countersign-chat--ring-index (ring-ref countersign-chat--ring countersign-chat--ring-index)
       (or countersign-chat--draft "")))))

(defun countersign-chat--remember (text)
  "Let `countersign-chat-previous-input' find TEXT, the latest message."
  (unless (and (not (ring-empty-p countersign-chat--ring)) (equal text (ring-ref countersign-chat--ring 0)))
    (ring-insert countersign-chat--ring text)))

(defun countersign-chat-next-input (count)
  "Replace the input by the message sent COUNT messages after it."
  (interactive "p" countersign-chat-mode)
  (countersign-chat-previous-input (- count)))

;;;; Messages that are queued while the agent works

(defun countersign-chat--show-queue (queued)
  "Show the messages QUEUED below the transcript."
  (setq countersign-chat--queued queued)
  (overlay-put
   countersign-chat--queue 'before-string
   (when queued
     (concat
      (mapconcat
       (lambda (message)
         (concat (propertize (concat (if (equal (countersign-get message 'when_busy) "send_now")
                                         (countersign-words "Queued, sent after the running call: ")
                                       (countersign-words "Queued: "))
                                     (countersign-one-line (countersign-text-of message 'content) 200))
                             'face 'countersign-label)
                 "\n"))
       queued "")
      (propertize (countersign-approval--keys
                   (countersign-words "\\<countersign-chat-mode-map>\\[countersign-chat-edit-queued] edits it, \\[countersign-chat-send-queued] sends it now"))
                  'face 'countersign-label)
      "\n"))))

(defun countersign-chat--choose-queued ()
  "Return a queued message; ask which if there are several."
  (pcase countersign-chat--queued
    ('nil (user-error "%s" (countersign-words "Nothing is queued")))
    (`(,only) only)
    (_ (or (countersign-choose (countersign-words "Queued: ")
                               (cl-loop for message in countersign-chat--queued
                                        for number from 1
                                        collect (cons (format "%d %s" number
                                                              (countersign-one-line
                                                               (countersign-text-of message 'content) 80))
                                                      message)))
           (user-error "%s" (countersign-words "Nothing was sent"))))))

(defun countersign-chat--queue-path (message &rest more)
  "Return the path of the queued MESSAGE and MORE parts."
  (apply #'countersign-project-path countersign-chat--project "chat" "queue"
         (countersign-get message 'message_id) more))

(defun countersign-chat-edit-queued ()
  "Take a queued message out of the queue and put it into the input."
  (interactive nil countersign-chat-mode)
  (let ((message (countersign-chat--choose-queued))
        (buffer (current-buffer)))
    (countersign-project-request
     countersign-chat--project "DELETE" (countersign-chat--queue-path message)
     :callback
     (lambda (_answer problem)
       (cond
        ;; The agent took it meanwhile, or another device removed it.
        (problem (message "%s" (plist-get problem :message)))
        ((buffer-live-p buffer)
         (with-current-buffer buffer
           (let ((typed (string-trim (countersign-chat-input))))
             (countersign-chat--set-input
              (concat (countersign-text-of message 'content)
                      (unless (string-empty-p typed) (concat "\n" typed))))))))))))

(defun countersign-chat-send-queued ()
  "Give a queued message to the agent now.
If no run is under way, this begins one."
  (interactive nil countersign-chat-mode)
  (countersign-project-request
   countersign-chat--project "POST" (countersign-chat--queue-path (countersign-chat--choose-queued) "send")
   :body 'empty
   :callback (lambda (_answer problem) (when problem (message "%s" (plist-get problem :message))))))

;;;; The session, stop, cancel, undo

(defun countersign-chat-stop ()
  "Stop the agent."
  (interactive nil countersign-chat-mode)
  (pcase-let ((`(,state . ,run) (countersign-project-agent countersign-chat--project
                                                           countersign-chat--session)))
    (when (or (null run) (equal state "idle")) (user-error "%s" (countersign-words "The agent is idle")))
    (countersign-project-request
     countersign-chat--project "POST" (countersign-transport-path "my" "runs" run "stop")
     :body 'empty :retries 2
     :callback (lambda (_answer problem)
                 (message "%s" (if problem (plist-get problem :message) (countersign-words "Stopped")))))))

(defun countersign-chat-new-session ()
  "Begin a new session; it is created with its first message."
  (interactive nil countersign-chat-mode)
  (setq countersign-chat--session nil countersign-chat--title nil countersign-chat--mode nil
        countersign-chat--loading nil)
  (countersign-chat--clear)
  (goto-char (point-max))
  (force-mode-line-update))

(defun countersign-chat--take-session (session &optional deleted)
  "Show title and mode of SESSION, if it is the one of this buffer.
If it was DELETED, begin a new one; what was typed stays."
  (when (and countersign-chat--session
             (equal (countersign-get session 'session_id) countersign-chat--session))
    (when deleted (countersign-chat-new-session))
    (unless deleted
      (setq countersign-chat--title (countersign-text-of session 'title)
            countersign-chat--mode (countersign-get session 'mode)))
    (force-mode-line-update)))

(defun countersign-chat-show-session (session)
  "Show SESSION, as the list of sessions has it."
  (setq countersign-chat--session (countersign-get session 'session_id))
  (countersign-chat--take-session session)
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
           ;; Keep a session that the person chose meanwhile.
           (unless countersign-chat--session
             (countersign-chat-show-session latest))))))))

(defun countersign-chat--call-at-point-or-last (test nothing)
  "Return the call at point, or the last call that passes TEST.
If there is none, signal an error with the text NOTHING."
  (or (countersign-chat--item-at-point)
      (let ((found nil))
        (maphash (lambda (_id item)
                   (when (and (eq (countersign-item-kind item) 'tool) (funcall test item))
                     (setq found item)))
                 countersign-chat--items)
        found)
      (user-error "%s" nothing)))

(defun countersign-chat-undo (&optional force)
  "Undo the tool call at point, or the last call that can be undone.
With a prefix argument FORCE, undo even if the file was changed since;
that change is lost."
  (interactive "P" countersign-chat-mode)
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
  "Cancel the tool call at point, or the last call that has not ended."
  (interactive nil countersign-chat-mode)
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
