;;; countersign-transport-test.el --- HTTP and the stream, also when they go wrong  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Code:

(require 'countersign-test-helper)

(defmacro countersign-test-with-fake (fake handler &rest body)
  "Run BODY with FAKE, a server whose exchanges HANDLER gets."
  (declare (indent 2) (debug t))
  `(let ((,fake (countersign-fake-start ,handler))
         (inhibit-message t))
     (unwind-protect (progn ,@body)
       (countersign-fake-stop ,fake))))

(cl-defun countersign-test-request (server method path &rest more)
  "Send METHOD and PATH to SERVER, with MORE; answer (ANSWER PROBLEM)."
  (let ((result nil))
    (apply #'countersign-transport-request server method path
           :callback (lambda (answer problem) (setq result (list answer problem))) more)
    (countersign-test-until "an answer" (lambda () result))))

(ert-deftest countersign-transport-knows-addresses ()
  "[RE-5] An address has no secret in it, and a token goes nowhere in the clear."
  (should (equal (countersign-server-address (countersign-server-at "http://127.0.0.1:4180/"))
                 "http://127.0.0.1:4180"))
  (should (equal (countersign-server-address (countersign-server-at "https://cs.example.org/a/"))
                 "https://cs.example.org/a"))
  (should (equal (countersign-server-host (countersign-server-at "http://[::1]:4180")) "::1"))
  (dolist (bad '("ftp://x" "127.0.0.1:4180" "http://" "http://me:pw@localhost" "http://localhost/?t=1"
                 "http://localhost/#sign-in=x" "http://example.org"))
    (should-error (countersign-server-at bad) :type 'user-error))
  (let ((countersign-allow-http t))
    (should (countersign-server-at "http://example.org"))))

(ert-deftest countersign-transport-sends-and-reads ()
  (countersign-test-with-fake fake
      (lambda (exchange) (countersign-fake-answer exchange 200 "{\"success\":true,\"n\":1}"))
    (let ((server (countersign-fake-server fake "the-token")))
      (should (equal (countersign-test-request server "POST" "/a" :body '((x . "ä\n")))
                     '(((success . t) (n . 1)) nil)))
      (let ((exchange (car (countersign-fake-exchanges fake))))
        (should (equal (countersign-fake-exchange-body exchange)
                       (encode-coding-string "{\"x\":\"ä\\n\"}" 'utf-8)))
        (should (equal (countersign-fake-header exchange "authorization") "Bearer the-token"))
        (should (equal (countersign-fake-header exchange "host")
                       (format "127.0.0.1:%d" (countersign-fake-port fake))))
        (should (equal (countersign-fake-header exchange "content-type") "application/json"))
        (should-not (string-search "the-token" (countersign-fake-exchange-path exchange)))))))

(ert-deftest countersign-transport-tells-errors ()
  "[RE-3] An error has its code and its words; rubbish is an error too."
  (let (answer)
    (countersign-test-with-fake fake (lambda (exchange) (apply #'countersign-fake-answer exchange answer))
      (let ((server (countersign-fake-server fake)))
        (dolist (example (countersign-test-fixture "bodies/error.response.json"))
          (setq answer (list 409 (countersign-json-write example)))
          (let ((problem (cadr (countersign-test-request server "GET" "/"))))
            (should (equal (plist-get problem :status) 409))
            (should (equal (plist-get problem :code) (countersign-get example 'code)))
            (should (equal (plist-get problem :message)
                           (countersign-one-line (countersign-get example 'error))))))
        (pcase-dolist (`(,status ,body ,type) '((200 "<html>" "text/html") (200 "[]") (200 "")
                                                (502 "Bad gateway" "text/plain") (200 "{\"a\":")
                                                (200 "\377\376\0")))
          (setq answer (list status body type))
          (should (equal (plist-get (cadr (countersign-test-request server "GET" "/")) :code)
                         "INTERNAL")))))))

(ert-deftest countersign-transport-follows-no-redirect ()
  "[RE-5] A token never goes where a redirect points."
  (countersign-test-with-fake other #'ignore
    (countersign-test-with-fake fake
        (lambda (exchange)
          (process-send-string
           (countersign-fake-exchange-connection exchange)
           (format "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n"
                   (countersign-fake-port other))))
      (should (equal (plist-get (cadr (countersign-test-request (countersign-fake-server fake) "GET" "/"))
                                :status)
                     302))
      (should-not (countersign-fake-exchanges other)))))

(ert-deftest countersign-transport-reads-chunks-cut-anywhere ()
  (let* ((body (encode-coding-string "{\"text\":\"naïve 👍\"}" 'utf-8))
         (text (concat "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                       (format "5;x=y\r\n%s\r\n" (substring body 0 5))
                       (format "%X\r\n%s\r\n0\r\n\r\n" (- (length body) 5) (substring body 5)))))
    (dolist (size '(1 2 3 1000))
      (let ((reader (make-countersign-http)) (pieces '()))
        (cl-loop for start from 0 below (length text) by size
                 do (setq pieces (append pieces (countersign-http-feed
                                                 reader (substring text start
                                                                   (min (length text) (+ start size)))))))
        (should (equal (string-join pieces) body))
        (should (eq (countersign-http-phase reader) 'done))))
    (should-error (countersign-http-feed (make-countersign-http) "SSH-2.0-OpenSSH\r\n\r\n")
                  :type 'countersign-bad-answer)
    (should-error (countersign-http-feed (make-countersign-http)
                                         "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n")
                  :type 'countersign-bad-answer)
    (should-error (countersign-http-feed (make-countersign-http) (make-string 70000 ?x))
                  :type 'countersign-bad-answer)))

(ert-deftest countersign-transport-bears-a-server-that-is-gone ()
  (let* ((fake (countersign-fake-start)) (server (countersign-fake-server fake)))
    (countersign-fake-stop fake)
    (let ((problem (cadr (countersign-test-request server "GET" "/"))))
      (should (equal (plist-get problem :status) 0))
      (should (equal (plist-get problem :code) "UNAVAILABLE"))))
  ;; One that hangs up, and one that says nothing.
  (countersign-test-with-fake fake #'countersign-fake-cut
    (should (equal (plist-get (cadr (countersign-test-request (countersign-fake-server fake) "GET" "/"))
                              :code)
                   "UNAVAILABLE")))
  (let ((countersign-request-timeout 0.2))
    (countersign-test-with-fake fake #'ignore
      (should (string-search "in time" (plist-get (cadr (countersign-test-request
                                                         (countersign-fake-server fake) "GET" "/"))
                                                  :message))))))

(ert-deftest countersign-transport-tries-again-where-that-is-harmless ()
  "[RN-1] Only where retries are asked for, and only when the answer may change."
  (let ((answers '(503 503 200)))
    (countersign-test-with-fake fake
        (lambda (exchange)
          (countersign-fake-answer exchange (or (pop answers) 500) "{\"success\":true}"))
      (let ((server (countersign-fake-server fake)))
        (should (car (countersign-test-request server "GET" "/" :retries 3)))
        (should (equal (length (countersign-fake-exchanges fake)) 3))
        (setq answers '(503 200))
        (should (cadr (countersign-test-request server "GET" "/")))
        (setq answers '(404 200))
        (should (cadr (countersign-test-request server "GET" "/" :retries 3)))
        (should (equal (length (countersign-fake-exchanges fake)) 5))))))

(ert-deftest countersign-transport-waits-as-long-as-the-server-asks ()
  "[RN-1] Retry-After counts; more than a minute is left to the person."
  (let ((answers '("1" nil)) (began (float-time)))
    (countersign-test-with-fake fake
        (lambda (exchange)
          (let ((wait (pop answers)))
            (if wait
                (countersign-fake-answer exchange 429 "{\"code\":\"RATE_LIMITED\"}"
                                         (format "application/json\r\nRetry-After: %s" wait))
              (countersign-fake-answer exchange 200 "{\"success\":true}"))))
      (let ((server (countersign-fake-server fake)))
        (should (car (countersign-test-request server "GET" "/" :retries 3)))
        (should (>= (- (float-time) began) 1))
        (setq answers '("61" nil))
        (should (equal (plist-get (cadr (countersign-test-request server "GET" "/" :retries 3)) :retry-after)
                       61))))))

(ert-deftest countersign-transport-takes-a-large-answer ()
  "A result of megabytes arrives, and one without end is given up."
  (let ((size 3000000))
    (countersign-test-with-fake fake
        (lambda (exchange)
          (countersign-fake-answer exchange 200 (format "{\"content\":\"%s\"}" (make-string size ?x))))
      (let ((server (countersign-fake-server fake)))
        (should (equal (length (countersign-get (car (countersign-test-request server "GET" "/")) 'content))
                       size))
        (cl-letf (((symbol-value 'countersign-transport-max-body) 1000000))
          (should (string-search "too large" (plist-get (cadr (countersign-test-request server "GET" "/"))
                                                        :message))))))))

(ert-deftest countersign-transport-escapes-paths ()
  (should (equal (countersign-transport-path "my" "a/../b" '(("q" . "x&y=z ")))
                 "/my/a%2F..%2Fb?q=x%26y%3Dz%20"))
  (should-error (countersign-transport--request-text
                 (countersign-server-at "http://localhost" (lambda () "a\r\nX: y")) "GET" "/" nil nil)))

;;;; The stream

(defmacro countersign-test-with-stream (fake stream events &rest body)
  "Run BODY with STREAM to FAKE; EVENTS are the reasons that came, in order."
  (declare (indent 3) (debug t))
  `(let ((,events '())
         (countersign-stream-stable 0) (countersign-stream-pause 0.05))
     (countersign-test-with-fake ,fake #'ignore
       (let ((,stream (countersign-stream-open
                       (countersign-fake-server ,fake) "/my/stream"
                       :on-event (lambda (name payload)
                                   (setq ,events (append ,events
                                                         (list (or (countersign-get payload 'reason)
                                                                   name))))))))
         (unwind-protect (progn ,@body)
           (countersign-stream-close ,stream))))))

(defun countersign-test-next (fake count)
  "Return the exchange number COUNT that FAKE gets."
  (countersign-test-until (format "exchange %d" count)
                          (lambda () (= (length (countersign-fake-exchanges fake)) count)))
  (car (countersign-fake-exchanges fake)))

(defun countersign-test-cancel (reason &optional id)
  "Return the frame of a tool.cancel with REASON and ID."
  (countersign-fake-frame "tool.cancel" `((tool_id . "t") (reason . ,reason)) id))

(ert-deftest countersign-stream-goes-on-from-the-last-id ()
  "[EV-2] Nothing is missed and nothing comes twice; half an event is no event."
  (countersign-test-with-stream fake stream events
    (let ((first (countersign-test-next fake 1)))
      (should-not (countersign-fake-header first "last-event-id"))
      (should (equal (countersign-fake-header first "accept") "text/event-stream"))
      (countersign-fake-stream first (concat (countersign-test-cancel "one" 9)
                                             (countersign-test-cancel "two" 10)
                                             (substring (countersign-test-cancel "three" 11) 0 -1)))
      (countersign-test-wait (equal events '("one" "two")))
      (should (eq (countersign-stream-state stream) 'open))
      (countersign-fake-cut first))
    (let ((second (countersign-test-next fake 2)))
      (should (equal (countersign-fake-header second "last-event-id") "10"))
      (countersign-fake-stream second (concat (countersign-test-cancel "two" 10)
                                              (countersign-test-cancel "three" 11)))
      (countersign-test-wait (equal events '("one" "two" "three"))))))

(ert-deftest countersign-stream-outlives-rubbish ()
  "[EV-4] Unknown events, garbage and a listener that fails do not stop it."
  (countersign-test-with-stream fake stream events
    (let ((first (countersign-test-next fake 1)))
      (countersign-fake-stream
       first (concat "event: tool.invented\ndata: {\"a\":1}\nid: 1\n\n"
                     "event: tool.cancel\ndata: {half\nid: 2\n\n" "rubbish\n\n" "data\n\n"
                     (countersign-test-cancel "naïve 👍\r\n\r\nid: 5" 3)))
      (countersign-test-wait (equal events '("tool.invented" "naïve 👍\r\n\r\nid: 5")))
      (should (equal (countersign-stream-last-id stream) "3")))
    (setf (countersign-stream-on-event stream)
          (let ((before (countersign-stream-on-event stream)))
            (lambda (name payload) (funcall before name payload) (error "Broken"))))
    (countersign-fake-write (car (countersign-fake-exchanges fake))
                            (concat (countersign-test-cancel "a" 4) (countersign-test-cancel "b" 5)))
    (countersign-test-wait (equal (last events 2) '("a" "b")))))

(ert-deftest countersign-stream-begins-anew-after-a-reset ()
  "[EV-2] After stream.reset smaller ids are new, and who listens is told."
  (countersign-test-with-stream fake stream events
    (let ((first (countersign-test-next fake 1)))
      (countersign-fake-stream first (concat (countersign-test-cancel "old" 900)
                                             (countersign-fake-frame "stream.reset" '((reason . "too old")))
                                             (countersign-test-cancel "new" 2)))
      (countersign-test-wait (equal events '("old" "too old" "new")))
      (should (equal (countersign-stream-last-id stream) "2")))))

(ert-deftest countersign-stream-waits-longer-each-time ()
  "It keeps trying, and closes only when asking again is of no use."
  (countersign-test-with-stream fake stream events
    (let ((states '()))
      (setf (countersign-stream-on-state stream)
            (lambda (stream) (push (countersign-stream-state stream) states)))
      (countersign-fake-answer (countersign-test-next fake 1) 503 "{\"success\":false}")
      (countersign-fake-answer (countersign-test-next fake 2) 200 "<html>" "text/html")
      (process-send-string (countersign-fake-exchange-connection (countersign-test-next fake 3)) "rubbish\r\n\r\n")
      (countersign-fake-answer
       (countersign-test-next fake 4) 401
       "{\"success\":false,\"error\":\"No valid token\",\"code\":\"UNAUTHENTICATED\"}")
      (countersign-test-wait (eq (countersign-stream-state stream) 'closed))
      (should (equal (plist-get (countersign-stream-problem stream) :code) "UNAUTHENTICATED"))
      (should (memq 'waiting states))
      (should-not events))))

(ert-deftest countersign-stream-notices-silence-and-an-endless-event ()
  "[EV-4] Silence is a dead connection, and an event without end a broken one."
  (let ((countersign-stream-silence 0.3))
    (countersign-test-with-stream fake stream events
      (countersign-fake-stream (countersign-test-next fake 1))
      (let ((second (countersign-test-next fake 2)))
        (cl-letf (((symbol-value 'countersign-sse-max) 100000))
          (countersign-fake-stream second (concat "data: " (make-string 200000 ?x)))
          (countersign-fake-stream (countersign-test-next fake 3) (countersign-test-cancel "fine" 1))
          (countersign-test-wait (equal events '("fine"))))))))

(ert-deftest countersign-stream-closes-for-good ()
  (countersign-test-with-stream fake stream events
    (countersign-fake-stream (countersign-test-next fake 1))
    (countersign-test-wait (eq (countersign-stream-state stream) 'open))
    (countersign-stream-close stream)
    (countersign-stream-close stream)
    (countersign-test-pass 0.3)
    (should (equal (length (countersign-fake-exchanges fake)) 1))
    (should-not (countersign-stream-timer stream))
    (should-not events)))

;;; countersign-transport-test.el ends here
