;;; countersign-fakes.el --- A server that does what a test tells it  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A fake HTTP server inside Emacs, for what a real server never does: half
;; an event, rubbish, silence.  And a project without any server, for what
;; the buffers make of events.

;;; Code:

(require 'cl-lib)
(require 'countersign)

(cl-defstruct countersign-fake
  "A server: PROCESS, PORT, and the EXCHANGES that came, latest first."
  process port (exchanges nil) (handler #'ignore) connections)

(cl-defstruct countersign-fake-exchange
  "One request and the CONNECTION on which it is answered."
  connection method path headers body)

(defun countersign-fake-start (&optional handler)
  "Start a server; HANDLER gets each exchange."
  (let ((fake (make-countersign-fake :handler (or handler #'ignore))))
    (setf (countersign-fake-process fake)
          (make-network-process
           :name "fake server" :server t :host "127.0.0.1" :service t :family 'ipv4
           :coding 'binary :noquery t
           :log (lambda (_server connection _message)
                  (set-process-query-on-exit-flag connection nil)
                  (push connection (countersign-fake-connections fake)))
           :filter (lambda (connection bytes) (countersign-fake--receive fake connection bytes)))
          (countersign-fake-port fake)
          (process-contact (countersign-fake-process fake) :service))
    fake))

(defun countersign-fake-stop (fake)
  "Stop FAKE and cut its connections."
  (mapc #'delete-process (countersign-fake-connections fake))
  (delete-process (countersign-fake-process fake)))

(defun countersign-fake-server (fake &optional token)
  "Return FAKE as a client knows it, with TOKEN."
  (countersign-server-at (format "http://127.0.0.1:%d" (countersign-fake-port fake))
                         (lambda () (or token "secret"))))

(defun countersign-fake--receive (fake connection bytes)
  "Gather BYTES of CONNECTION to FAKE until a request is whole."
  (let ((text (concat (process-get connection 'text) bytes)))
    (process-put connection 'text text)
    (when-let* ((end (string-search "\r\n\r\n" text))
                (lines (split-string (substring text 0 end) "\r\n"))
                (headers (mapcar (lambda (line)
                                   (let ((colon (string-search ":" line)))
                                     (cons (downcase (substring line 0 colon))
                                           (string-trim (substring line (1+ colon))))))
                                 (cdr lines))))
      (let ((size (string-to-number (or (cdr (assoc "content-length" headers)) "0")))
            (body (substring text (+ end 4)))
            (words (split-string (car lines) " ")))
        (when (>= (length body) size)
          (process-put connection 'text "")
          (let ((exchange (make-countersign-fake-exchange
                           :connection connection :method (nth 0 words) :path (nth 1 words)
                           :headers headers :body body)))
            (push exchange (countersign-fake-exchanges fake))
            (funcall (countersign-fake-handler fake) exchange)))))))

(defun countersign-fake-answer (exchange status body &optional type)
  "Return EXCHANGE with STATUS and BODY, bytes of TYPE."
  (process-send-string
   (countersign-fake-exchange-connection exchange)
   (format "HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
           status (or type "application/json") (length body) body)))

(defun countersign-fake-stream (exchange &optional text)
  "Begin an event stream on EXCHANGE with TEXT."
  (process-send-string (countersign-fake-exchange-connection exchange)
                       "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
  (countersign-fake-write exchange (or text ": listening\n\n")))

(defun countersign-fake-write (exchange text)
  "Write TEXT as a chunk of the stream on EXCHANGE."
  (let ((bytes (encode-coding-string text 'utf-8)))
    (process-send-string (countersign-fake-exchange-connection exchange)
                         (format "%x\r\n%s\r\n" (length bytes) bytes))))

(defun countersign-fake-cut (exchange)
  "Cut the connection of EXCHANGE."
  (delete-process (countersign-fake-exchange-connection exchange)))

(defun countersign-fake-header (exchange name)
  "Return the header NAME of EXCHANGE."
  (cdr (assoc name (countersign-fake-exchange-headers exchange))))

(defun countersign-fake-frame (name payload &optional id)
  "Return the frame of an event NAME with PAYLOAD and ID."
  (concat (and id (format "id: %s\n" id)) (format "event: %s\n" name)
          "data: " (decode-coding-string (countersign-json-write payload) 'utf-8) "\n\n"))

(defun countersign-fake-project (&optional root fake)
  "Return a project at ROOT that nobody listens to; requests go to FAKE."
  (countersign--install)
  (let ((project (make-countersign-project
                  :root (countersign-project-root-name (or root temporary-file-directory))
                  :name "shop" :id "p1" :state 'open
                  :server (if fake (countersign-fake-server fake)
                            (countersign-server-at "http://127.0.0.1:9" #'ignore)))))
    (push project countersign-projects)
    project))

(provide 'countersign-fakes)

;;; countersign-fakes.el ends here
