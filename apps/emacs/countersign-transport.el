;;; countersign-transport.el --- HTTP and the event stream, asynchronously  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Requests and the event stream.  Each has its own network process, which
;; never blocks Emacs.  `url-retrieve' is not used, because it asks for
;; passwords after a refusal, keeps cookies and follows redirects, which
;; could send the token to another server.
;;
;; The stream resumes after the id of the last event (EV-2), with growing
;; pauses.  A connection counts as lost after 45 seconds of silence.

;;; Code:

(require 'cl-lib)
(require 'url-parse)
(require 'url-util)
(require 'gnutls)
(require 'nsm)
(require 'countersign-protocol)

(defgroup countersign nil
  "An AI agent uses tools on your machine, and you countersign what it does."
  :group 'tools
  :prefix "countersign-"
  :link '(url-link "https://github.com/countersign/countersign"))

(defcustom countersign-allow-http nil
  "Whether a token may go to a host other than this one without encryption."
  :type 'boolean)

(defcustom countersign-request-timeout 30
  "Seconds after which a request without a response has failed."
  :type 'number)

;;;; Servers

(cl-defstruct (countersign-server (:copier nil))
  "A server: ADDRESS as people write it, and a function for the TOKEN."
  address tls host port path token)

(defun countersign-server-at (address &optional token)
  "Return the server at ADDRESS, such as http://127.0.0.1:4180.
TOKEN is a function that returns the token, or nil."
  (let* ((url (url-generic-parse-url (string-trim address)))
         (scheme (url-type url))
         (host (and (url-host url) (string-trim (url-host url) "\\[" "\\]")))
         (path (replace-regexp-in-string "/+\\'" "" (or (url-filename url) ""))))
    (unless (and (member scheme '("http" "https")) host (not (string-empty-p host)))
      (user-error "%s" (countersign-words "Not an address of a server: %s.  One looks like http://127.0.0.1:4180" address)))
    (when (or (url-user url) (url-password url) (url-target url) (string-search "?" path))
      (user-error "%s" (countersign-words "The address of a server has no name, password or query")))
    (when (and (equal scheme "http") (not countersign-allow-http)
               (not (countersign-transport--loopback-p host)))
      (user-error "%s" (countersign-words "Your token would go to http://%s unencrypted; use https" host)))
    (make-countersign-server
     :address (format "%s://%s%s" scheme (countersign-transport--authority url host) path)
     :tls (equal scheme "https") :host host :port (url-port url) :path path :token token)))

(defun countersign-transport--loopback-p (host)
  "Return non-nil if HOST is this machine."
  (or (member host '("localhost" "::1"))
      (string-suffix-p ".localhost" host)
      (string-match-p "\\`127\\(?:\\.[0-9]\\{1,3\\}\\)\\{3\\}\\'" host)))

(defun countersign-transport--authority (url host)
  "Return HOST and the port of URL as a Host header has them."
  (let ((name (if (string-search ":" host) (format "[%s]" host) host))
        (port (url-port url)))
    (if (= port (if (equal (url-type url) "https") 443 80)) name (format "%s:%d" name port))))

;;;; Responses

(cl-defstruct (countersign-http (:copier nil))
  "Reads one HTTP response from bytes.
PHASE is `head', `sized', `endless', `chunk-head', `chunk', `chunk-end' or `done'."
  (phase 'head) (rest "") status headers (left 0))

(define-error 'countersign-bad-answer "The answer is not HTTP")

(defconst countersign-transport--max-head 65536 "Upper bound for the bytes of a response's head.")

(defun countersign-http-feed (reader bytes)
  "Feed BYTES to READER and return the pieces of the body in them."
  (let ((text (concat (countersign-http-rest reader) bytes))
        (position 0)
        (pieces '())
        (going t))
    (while going
      (setq going nil)
      (let ((available (- (length text) position)))
        (pcase (countersign-http-phase reader)
          ('head
           (let ((end (string-search "\r\n\r\n" text position)))
             (cond
              (end (countersign-http--head reader (substring text position end))
                   (setq position (+ end 4) going t))
              ((> available countersign-transport--max-head)
               (signal 'countersign-bad-answer '("its head has no end"))))))
          ('endless
           (when (> available 0)
             (push (substring text position) pieces)
             (setq position (length text))))
          ((or 'sized 'chunk)
           (let ((taken (min available (countersign-http-left reader))))
             (when (> taken 0)
               (push (substring text position (+ position taken)) pieces)
               (cl-incf position taken)
               (cl-decf (countersign-http-left reader) taken))
             (when (= (countersign-http-left reader) 0)
               (setf (countersign-http-phase reader)
                     (if (eq (countersign-http-phase reader) 'sized) 'done 'chunk-end))
               (setq going t))))
          ('chunk-end
           (when (>= available 2)
             (cl-incf position 2)
             (setf (countersign-http-phase reader) 'chunk-head)
             (setq going t)))
          ('chunk-head
           (let ((end (string-search "\r\n" text position)))
             (cond
              (end
               (unless (string-match "\\`\\([0-9a-fA-F]\\{1,8\\}\\)[ \t]*\\(?:;.*\\)?\\'"
                                     (substring text position end))
                 (signal 'countersign-bad-answer '("a chunk has no size")))
               (let ((size (string-to-number
                            (substring text position (+ position (match-end 1))) 16)))
                 (setq position (+ end 2) going t)
                 (setf (countersign-http-left reader) size
                       (countersign-http-phase reader) (if (= size 0) 'done 'chunk))))
              ((> available 1000) (signal 'countersign-bad-answer '("a chunk has no size"))))))
          ('done nil))))
    (setf (countersign-http-rest reader) (substring text position))
    (nreverse pieces)))

(defun countersign-http--head (reader head)
  "Parse HEAD, the status line and the headers, into READER."
  (unless (string-match "\\`HTTP/1\\.[01] \\([0-9]\\{3\\}\\)" head)
    (signal 'countersign-bad-answer '("it does not begin like one")))
  (let ((status (string-to-number (match-string 1 head)))
        (headers '()))
    (dolist (line (cdr (split-string head "\r\n" t)))
      (when (string-match "\\`\\([^:]+\\):[ \t]*\\(.*?\\)[ \t]*\\'" line)
        (push (cons (downcase (match-string 1 line)) (match-string 2 line)) headers)))
    (setf (countersign-http-status reader) status
          (countersign-http-headers reader) headers)
    (let ((size (cdr (assoc "content-length" headers))))
      (setf (countersign-http-phase reader)
            (cond ((= (/ status 100) 1) 'head)   ; the final response follows
                  ((member status '(204 304)) 'done)
                  ((string-match-p "chunked" (or (cdr (assoc "transfer-encoding" headers)) ""))
                   'chunk-head)
                  ((null size) 'endless)
                  ((= (string-to-number size) 0) 'done)
                  (t (setf (countersign-http-left reader) (string-to-number size)) 'sized))))))

(defun countersign-http-header (reader name)
  "Return the header NAME that READER has read."
  (cdr (assoc name (countersign-http-headers reader))))

;;;; Errors

(defun countersign-transport-error (status code message &optional body retry-after)
  "Return an error for callbacks: STATUS, CODE, MESSAGE, BODY and RETRY-AFTER.
RETRY-AFTER is the number of seconds that the server asks to wait, or nil."
  (list :status status :code code :message (countersign-words-error code message) :body body :retry-after retry-after))

(defun countersign-transport--words (problem)
  "Return a text about PROBLEM, a Lisp error that came up while reading."
  (pcase (car problem)
    ('countersign-bad-answer (countersign-words "The server did not answer as HTTP has it (%s)" (cadr problem)))
    ('countersign-bad-stream (countersign-words "The event stream cannot be read"))
    (_ (error-message-string problem))))

(defun countersign-transport--retryable-p (problem)
  "Return non-nil if sending again may succeed after PROBLEM."
  (let ((status (plist-get problem :status)))
    (and (not (equal (plist-get problem :code) "TLS_REFUSED"))
         (or (memq status '(0 408 425 429)) (>= status 500)))))

;;;; Encryption

;; Emacs itself checks certificates, by the person's settings (`gnutls-trustfiles',
;; `network-security-level'), before the sentinel gets "open".  So nothing is sent
;; to a server that was not accepted.  The Network Security Manager may ask the
;; person.  A refused connection is not retried, so that they are asked only once.

(defun countersign-transport--refused-p (server event)
  "Return non-nil if EVENT is that the certificate of SERVER was refused.
The Network Security Manager deletes the process then.  Other code sets
the sentinel to `ignore' before it deletes a process."
  (and (countersign-server-tls server) (string-prefix-p "deleted" event)))

(defun countersign-transport--refusal (server)
  "Return the error for a certificate of SERVER that was not accepted."
  (countersign-transport-error
   0 "TLS_REFUSED"
   (countersign-words
    "The certificate of %s was not accepted, and nothing was sent.  If it is yours, add the one that signed it to `gnutls-trustfiles'"
           (countersign-server-address server))))

(defun countersign-transport--asked-about-p (process)
  "Return non-nil while Emacs asks the person about the certificate of PROCESS."
  (and (process-live-p process)
       (get-buffer-window "*Network Security Manager*" t)))

;;;; One exchange

(defmacro countersign-transport--guarding (&rest body)
  "Run BODY; show an error that it signals as a message.
Unlike `with-demoted-errors', it also catches errors while Lisp is
debugged: a stream that stops in the middle of an event would lose it."
  (declare (indent 0) (debug t))
  `(condition-case problem (progn ,@body)
     (error (message "Countersign: %s" (error-message-string problem)))))

(defun countersign-transport--open (server name filter sentinel)
  "Open a connection to SERVER as the process NAME with FILTER and SENTINEL.
Return at once; SENTINEL gets \"open\" when the connection is open."
  (when (and (countersign-server-tls server) (not (gnutls-available-p)))
    (error "%s" (countersign-words "This Emacs was built without GnuTLS, so it cannot use https")))
  (let ((process (open-network-stream
                  name nil (countersign-server-host server) (countersign-server-port server)
                  :type 'plain :nowait t :coding 'binary)))
    (set-process-query-on-exit-flag process nil)
    (if (countersign-server-tls server)
        (countersign-transport--encrypt-first server process filter sentinel)
      (set-process-filter process filter)
      (set-process-sentinel process sentinel))
    process))

(defun countersign-transport--open-already (process)
  "Call the sentinel of PROCESS if it is already open."
  (when (eq (process-status process) 'open)
    (funcall (process-sentinel process) process "open")))

(defun countersign-transport--encrypt-first (server process filter sentinel)
  "Start TLS on PROCESS to SERVER before FILTER and SENTINEL are set.
A network process that is opened with TLS and `:nowait' may hang: if the
server is fast, Emacs does not report that it is open.  So the handshake
begins after the plain connection is open.  It does not block either:
Emacs continues the handshake and reports \"open\" a second time, after it
has checked the certificate."
  (let ((begun nil)
        (parameters (gnutls-boot-parameters :type 'gnutls-x509pki
                                            :hostname (countersign-server-host server))))
    ;; Emacs looks here for the name that the certificate must have.
    (plist-put (process-contact process t) :tls-parameters (cons 'gnutls-x509pki parameters))
    ;; No data may come before the handshake.
    (set-process-filter process (lambda (process _bytes) (delete-process process)))
    (cl-labels
        ((hand-over (event)
           (set-process-filter process filter)
           (set-process-sentinel process sentinel)
           (funcall sentinel process event))
         (begin ()
           (setq begun t)
           (let ((answer (gnutls-boot process 'gnutls-x509pki parameters)))
             (pcase answer
               ('gnutls-e-again nil)    ; Emacs continues the handshake
               ('t (when (nsm-verify-connection process (countersign-server-host server)
                                                (countersign-server-port server))
                     (hand-over "open")))
               (_ (set-process-sentinel process #'ignore)
                  (delete-process process)
                  (funcall sentinel process (concat "TLS: " (gnutls-error-string answer))))))))
      (set-process-sentinel process
                            (lambda (_process event)
                              (if (and (string-prefix-p "open" event) (not begun)) (begin)
                                (hand-over event)))))))

(defun countersign-transport--request-text (server method path headers body)
  "Return the bytes of a request to SERVER: METHOD, PATH, HEADERS and BODY."
  (let* ((token (and (countersign-server-token server) (funcall (countersign-server-token server))))
         (url (url-generic-parse-url (countersign-server-address server)))
         (lines `(,(format "%s %s%s HTTP/1.1" method (countersign-server-path server) path)
                  ,(concat "Host: " (countersign-transport--authority
                                     url (countersign-server-host server)))
                  "User-Agent: countersign.el"
                  ,@(and token (list (concat "Authorization: Bearer " token)))
                  ,@headers
                  ,@(and body `("Content-Type: application/json"
                                ,(format "Content-Length: %d" (length body)))))))
    (dolist (line lines)
      (when (string-match-p "[\r\n\0]" line)
        (error "A header of a request must be one line")))
    (concat (encode-coding-string (string-join lines "\r\n") 'us-ascii t) "\r\n\r\n" body)))

(defconst countersign-transport-max-body 67108864
  "Upper bound for the bytes of a response.")

(cl-defun countersign-transport-request (server method path &key body callback (retries 0))
  "Send METHOD to PATH of SERVER, with BODY as JSON unless it is nil.
An empty BODY is given as `empty'.  CALLBACK is called once, later, with
the response and nil, or with nil and an error from
`countersign-transport-error'.  Without a response, or after a temporary
error, up to RETRIES more requests are sent, after 0.5, 1, 2 seconds, or
after the time that the server asks for (Retry-After), up to a minute."
  (let ((try 0) send)
    (setq send
          (lambda ()
            (countersign-transport--exchange
             server method path body
             (lambda (answer problem)
               (let ((asked (or (plist-get problem :retry-after) 0)))
                 (if (and problem (< try retries) (<= asked 60)
                          (countersign-transport--retryable-p problem))
                     (progn (run-at-time (max asked (* 0.5 (expt 2 try))) nil send)
                            (cl-incf try))
                   (when callback (funcall callback answer problem))))))))
    (funcall send)))

(defun countersign-transport--exchange (server method path body callback)
  "Send METHOD, PATH and BODY to SERVER once; CALLBACK as for a request."
  (let* ((reader (make-countersign-http))
         (pieces '()) (size 0) (ended nil)
         process timer)
    (cl-labels
        ((end (answer problem)
           (unless ended
             (setq ended t)
             (when timer (cancel-timer timer))
             (when process
               (set-process-sentinel process #'ignore)
               (set-process-filter process #'ignore)
               (delete-process process))
             ;; Call back later, so that CALLBACK never runs before this function returns.
             (run-at-time 0 nil #'countersign-transport--call callback answer problem)))
         (fail (code message)
           (end nil (countersign-transport-error 0 code message)))
         (wait ()
           (setq timer (run-at-time countersign-request-timeout nil #'late)))
         (late ()
           (if (countersign-transport--asked-about-p process) (wait)
             (fail "UNAVAILABLE" (countersign-words "The server did not answer in time"))))
         (finish ()
           (apply #'end (countersign-transport--outcome reader (string-join (nreverse pieces)))))
         (receive (_process bytes)
           (condition-case problem
               (progn
                 (dolist (piece (countersign-http-feed reader bytes))
                   (cl-incf size (length piece))
                   (push piece pieces))
                 (cond ((> size countersign-transport-max-body)
                        (fail "UNAVAILABLE" (countersign-words "The answer is too large")))
                       ((eq (countersign-http-phase reader) 'done) (finish))))
             (error (fail "INTERNAL" (countersign-transport--words problem)))))
         (change (process event)
           (cond
            ((string-prefix-p "open" event)
             (condition-case problem
                 (process-send-string
                  process (countersign-transport--request-text
                           server method path '("Accept: application/json" "Connection: close")
                           (cond ((eq body 'empty) "{}")
                                 (body (countersign-json-write body)))))
               (error (fail "UNAVAILABLE" (error-message-string problem)))))
            ((memq (countersign-http-phase reader) '(endless done)) (finish))
            ((countersign-transport--refused-p server event)
             (end nil (countersign-transport--refusal server)))
            (t (fail "UNAVAILABLE"
                     (countersign-words "The server does not answer (%s)"
                             (string-trim (countersign-visible event))))))))
      (condition-case problem
          (progn
            (setq process (countersign-transport--open server "countersign request"
                                                       #'receive #'change))
            (wait)
            ;; The connection to a local address may already be open.
            (unless ended (countersign-transport--open-already process)))
        (error (fail "UNAVAILABLE" (error-message-string problem))))
      nil)))

(defun countersign-transport--call (callback answer problem)
  "Call CALLBACK with ANSWER and PROBLEM; show its errors as messages."
  (countersign-transport--guarding (funcall callback answer problem)))

(defun countersign-transport--outcome (reader body)
  "Return (ANSWER PROBLEM) for the response that READER has read, with BODY."
  (let* ((status (countersign-http-status reader))
         (value (ignore-error countersign-bad-json
                  (countersign-json-read (decode-coding-string body 'utf-8))))
         (good (and (consp value) (consp (car value))))
         (wait (countersign-http-header reader "retry-after"))
         (retry-after (and wait (string-match-p "\\`[0-9]+\\'" wait) (string-to-number wait))))
    (cond
     ((and good (= (/ status 100) 2)) (list value nil))
     (good (list nil (countersign-transport-error
                      status (or (countersign-get value 'code) "INTERNAL")
                      (countersign-one-line (or (countersign-get value 'error) (countersign-words "It was refused")) 500)
                      value retry-after)))
     (t (list nil (countersign-transport-error
                   (if (= (/ status 100) 2) 500 status) "INTERNAL"
                   (countersign-words "The server answered %d with something that is not a JSON object" status)
                   nil retry-after))))))

(defun countersign-transport-path (&rest parts)
  "Return the path of PARTS, each of which is escaped.
A last part that is a list of (NAME . VALUE) is the query."
  (let ((query (and (consp (car (last parts))) (car (last parts)))))
    (concat "/" (mapconcat #'url-hexify-string (cl-remove-if #'consp parts) "/")
            (and query
                 (concat "?" (mapconcat (lambda (pair)
                                          (concat (url-hexify-string (car pair)) "="
                                                  (url-hexify-string (cdr pair))))
                                        query "&"))))))

;;;; The event stream

(cl-defstruct (countersign-stream (:copier nil))
  "An event stream that reconnects until it is closed.
STATE is `connecting', `open', `waiting' or `closed'; PROBLEM says why."
  server path on-event on-state (state 'connecting) problem
  process timer watchdog last-id (failures 0) (retry 0) opened-at)

(defvar countersign-stream-silence 45
  "Seconds of silence after which a connection counts as lost.
The server sends something every 15 seconds.")

(defvar countersign-stream-stable 5
  "Seconds after which an open connection resets the pauses.")

(defvar countersign-stream-pause 1.0
  "Pause before the second try in seconds; it doubles, up to 20.")

(cl-defun countersign-stream-open (server path &key on-event on-state last-id)
  "Open the event stream PATH of SERVER and keep it open.
ON-EVENT is called with the name and the payload of each event, once
each and in order; ON-STATE with the stream when its state changes.
LAST-ID is the id of an event to resume after."
  (let ((stream (make-countersign-stream :server server :path path :on-event on-event
                                         :on-state on-state :last-id last-id)))
    (countersign-stream--connect stream)
    stream))

(defun countersign-stream-close (stream)
  "Close STREAM for good."
  (unless (eq (countersign-stream-state stream) 'closed)
    (countersign-stream--drop stream)
    (countersign-stream--enter stream 'closed)))

(defun countersign-stream-retry-now (stream)
  "Connect STREAM at once if it waits."
  (when (eq (countersign-stream-state stream) 'waiting)
    (countersign-stream--connect stream)))

(defun countersign-stream--enter (stream state &optional problem)
  "Set STREAM to STATE because of PROBLEM, and tell its listener."
  (setf (countersign-stream-state stream) state
        (countersign-stream-problem stream) problem)
  (when (countersign-stream-on-state stream)
    (countersign-transport--guarding (funcall (countersign-stream-on-state stream) stream))))

(defun countersign-stream--drop (stream)
  "End the connection and the timers of STREAM."
  (let ((process (countersign-stream-process stream)))
    (dolist (timer (list (countersign-stream-timer stream) (countersign-stream-watchdog stream)))
      (when timer (cancel-timer timer)))
    (setf (countersign-stream-process stream) nil
          (countersign-stream-timer stream) nil
          (countersign-stream-watchdog stream) nil)
    (when process
      (set-process-sentinel process #'ignore)
      (set-process-filter process #'ignore)
      (delete-process process))))

(defun countersign-stream--connect (stream)
  "Connect STREAM; an earlier connection is closed."
  (countersign-stream--drop stream)
  (setf (countersign-stream-opened-at stream) nil)
  (countersign-stream--enter stream 'connecting)
  (let ((http (make-countersign-http))
        (frames (countersign-sse-create))
        (refusal '()))
    (condition-case problem
        (let ((process
               (countersign-transport--open
                (countersign-stream-server stream) "countersign stream"
                (lambda (process bytes)
                  (when (eq process (countersign-stream-process stream))
                    (setq refusal (countersign-stream--receive stream http frames bytes refusal))))
                (lambda (process event)
                  (when (eq process (countersign-stream-process stream))
                    (countersign-stream--change stream process event http refusal))))))
          (setf (countersign-stream-process stream) process)
          (countersign-stream--watch stream)
          (countersign-transport--open-already process))
      (error (countersign-stream--lost stream (countersign-transport-error
                                               0 "UNAVAILABLE" (error-message-string problem)))))))

(defun countersign-stream--change (stream process event http refusal)
  "Handle EVENT of PROCESS, the connection of STREAM.
HTTP and REFUSAL hold what was read from it."
  (cond
   ((string-prefix-p "open" event)
    (condition-case problem
        (process-send-string
         process
         (countersign-transport--request-text
          (countersign-stream-server stream) "GET" (countersign-stream-path stream)
          `("Accept: text/event-stream" "Cache-Control: no-store"
            ,@(and (countersign-stream-last-id stream)
                   (list (concat "Last-Event-ID: " (countersign-stream-last-id stream)))))
          nil))
      (error (countersign-stream--lost
              stream (countersign-transport-error 0 "UNAVAILABLE" (error-message-string problem))))))
   ((and (countersign-http-status http) (/= (countersign-http-status http) 200))
    (countersign-stream--refused stream http refusal))
   ((countersign-transport--refused-p (countersign-stream-server stream) event)
    (countersign-stream--drop stream)
    (countersign-stream--enter stream 'closed
                               (countersign-transport--refusal (countersign-stream-server stream))))
   (t (countersign-stream--lost
       stream (countersign-transport-error
               0 "UNAVAILABLE" (countersign-words "The connection was lost (%s)"
                                       (string-trim (countersign-visible event))))))))

(defun countersign-stream--receive (stream http frames bytes refusal)
  "Feed BYTES of STREAM to the readers HTTP and FRAMES.
REFUSAL is the list of pieces of a response that is not a stream.
Return that list, with new pieces."
  (countersign-stream--watch stream)
  (condition-case problem
      (let ((pieces (countersign-http-feed http bytes)))
        (cond
         ((null (countersign-http-status http)) refusal)
         ((/= (countersign-http-status http) 200)
          (setq refusal (append refusal pieces))
          (when (or (eq (countersign-http-phase http) 'done) (> (length refusal) 100))
            (countersign-stream--refused stream http refusal))
          refusal)
         ((not (string-prefix-p "text/event-stream"
                                (or (countersign-http-header http "content-type") "")))
          (countersign-stream--lost
           stream (countersign-transport-error 0 "INTERNAL" (countersign-words "The server answered without an event stream")))
          nil)
         (t
          (unless (eq (countersign-stream-state stream) 'open)
            (setf (countersign-stream-opened-at stream) (float-time))
            (countersign-stream--enter stream 'open))
          (let ((connection (countersign-stream-process stream)))
            (dolist (piece pieces)
              (dolist (frame (countersign-sse-feed frames piece))
                ;; A listener may have closed the stream.
                (when (eq connection (countersign-stream-process stream))
                  (countersign-stream--deliver stream frame))))
            (when (and (eq (countersign-http-phase http) 'done)
                       (eq connection (countersign-stream-process stream)))
              (countersign-stream--lost
               stream (countersign-transport-error 0 "UNAVAILABLE" (countersign-words "The server ended the stream")))))
          nil)))
    (error
     (countersign-stream--lost
      stream (countersign-transport-error 0 "UNAVAILABLE" (countersign-transport--words problem)))
     nil)))

(defun countersign-stream--deliver (stream frame)
  "Tell the listener of STREAM about FRAME, unless it came before."
  (pcase-let ((`(,name ,data ,id) frame))
    (cond
     ((and (equal name "retry") (null data))
      (setf (countersign-stream-retry stream) (min 20 (/ id 1000.0))))
     (t
      ;; After a reset, the event ids start again.
      (when (equal name "stream.reset") (setf (countersign-stream-last-id stream) nil))
      (let ((last (countersign-stream-last-id stream)))
        (unless (and id last (<= (string-to-number id) (string-to-number last)))
          (when-let ((event (countersign-event-read frame)))
            (countersign-transport--guarding
              (funcall (countersign-stream-on-event stream) (car event) (cdr event))))
          (when (and id (string-match-p "\\`[0-9]+\\'" id))
            (setf (countersign-stream-last-id stream) id))))))))

(defun countersign-stream--watch (stream)
  "Restart the timer for the silence of STREAM."
  (when (countersign-stream-watchdog stream) (cancel-timer (countersign-stream-watchdog stream)))
  (setf (countersign-stream-watchdog stream)
        (run-at-time countersign-stream-silence nil
                     (lambda ()
                       (if (countersign-transport--asked-about-p (countersign-stream-process stream))
                           (countersign-stream--watch stream)
                         (countersign-stream--lost
                          stream (countersign-transport-error
                                  0 "UNAVAILABLE" (countersign-words "Nothing was heard from the server"))))))))

(defun countersign-stream--refused (stream http pieces)
  "Close STREAM, which the server refused with HTTP and PIECES of a body."
  (let ((problem (cadr (countersign-transport--outcome http (string-join pieces)))))
    (if (or (null problem) (countersign-transport--retryable-p problem))
        (countersign-stream--lost
         stream (or problem (countersign-transport-error
                                  0 "INTERNAL" (countersign-words "The server answered without an event stream"))))
      (countersign-stream--drop stream)
      (countersign-stream--enter stream 'closed problem))))

(defun countersign-stream--lost (stream problem)
  "Reconnect STREAM later; its connection was lost because of PROBLEM."
  (unless (eq (countersign-stream-state stream) 'closed)
    (let* ((opened (countersign-stream-opened-at stream))
           (good (and opened (>= (- (float-time) opened) countersign-stream-stable)))
           (failures (if good 1 (1+ (countersign-stream-failures stream))))
           (pause (if (= failures 1) 0
                    (min 20 (* countersign-stream-pause (expt 2 (min 10 (- failures 2)))))))
           ;; Wait at least as long as the server asked for, with jitter.
           (pause (* (max pause (countersign-stream-retry stream))
                     (+ 1 (/ (random 500) 1000.0)))))
      (countersign-stream--drop stream)
      (setf (countersign-stream-failures stream) failures
            (countersign-stream-opened-at stream) nil
            (countersign-stream-timer stream)
            (run-at-time pause nil #'countersign-stream--connect stream))
      (countersign-stream--enter stream 'waiting problem))))

(provide 'countersign-transport)

;;; countersign-transport.el ends here
