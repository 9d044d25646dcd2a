;;; countersign-tls-test.el --- https, with a real proxy in front of the real server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The certificate authority and the certificate are made for each run, by
;; openssl; without it these tests are skipped.

;;; Code:

(require 'gnutls)
(require 'countersign-live)
(require 'countersign-terminal-test)

(defvar countersign-tls--output "" "What the proxy printed.")

(defun countersign-tls--openssl (&rest arguments)
  "Run openssl with ARGUMENTS."
  (with-temp-buffer
    (unless (eq 0 (apply #'call-process "openssl" nil t nil arguments))
      (error "It failed: openssl %s\n%s" arguments (buffer-string)))))

(defun countersign-tls--certificates (folder)
  "Make an authority and a certificate for localhost in FOLDER; answer the authority."
  (let ((default-directory (file-name-as-directory folder)))
    (countersign-tls--openssl "req" "-x509" "-newkey" "rsa:2048" "-nodes" "-days" "2" "-subj" "/CN=Tests"
                              "-addext" "keyUsage=critical,keyCertSign"
                              "-keyout" "authority.key" "-out" "authority.pem")
    (countersign-tls--openssl "req" "-newkey" "rsa:2048" "-nodes" "-subj" "/CN=localhost"
                              "-keyout" "server.key" "-out" "server.csr")
    (write-region "subjectAltName=DNS:localhost\n" nil "extensions" nil 'quiet)
    (countersign-tls--openssl "x509" "-req" "-in" "server.csr" "-CA" "authority.pem" "-CAkey" "authority.key"
                              "-CAcreateserial" "-days" "2" "-extfile" "extensions" "-out" "server.pem")
    (expand-file-name "authority.pem")))

(defmacro countersign-tls-with-proxy (address authority &rest body)
  "Run BODY with a proxy at ADDRESS whose certificate AUTHORITY signed."
  (declare (indent 2) (debug t))
  `(progn
     (skip-unless (and (executable-find "openssl") (gnutls-available-p)))
     (countersign-live-start)
     (let* ((folder (make-temp-file (expand-file-name "tls" countersign-live--folder) t))
            (,authority (countersign-tls--certificates folder))
            (countersign-tls--output "")
            (proxy (make-process
                    :name "tls proxy" :noquery t :connection-type 'pipe
                    :command (list (car (countersign-live-program))
                                   (expand-file-name "apps/emacs/test/tls-proxy.mjs" countersign-test-root)
                                   (expand-file-name "server.key" folder) (expand-file-name "server.pem" folder)
                                   (number-to-string countersign-live--tls-port)
                                   (number-to-string countersign-live--port))
                    :filter (lambda (_process text)
                              (setq countersign-tls--output (concat countersign-tls--output text))))))
       (unwind-protect
           (let ((,address (format "https://localhost:%d" countersign-live--tls-port)))
             (countersign-test-wait (string-search "listens" countersign-tls--output))
             (countersign-tls--keep-token ,address)
             ,@body)
         (delete-process proxy)
         (countersign-test-wait (not (process-live-p proxy)))))))

(defun countersign-tls--keep-token (address)
  "Let auth-source know the token of the server at ADDRESS, too."
  (let ((file (car auth-sources))
        (server (countersign-server-at address)))
    (with-temp-buffer
      (insert-file-contents file)
      (goto-char (point-min))
      (re-search-forward "password \\(.*\\)$")
      (write-region (format "machine %s port %d login countersign password %s\n" (countersign-server-host server)
                            (countersign-server-port server) (match-string 1))
                    nil file t 'quiet))
    (auth-source-forget-all-cached)))

(ert-deftest countersign-tls-refuses-a-certificate-that-nobody-vouches-for ()
  "[RE-5] Nothing is sent to such a server, it is said why, and it is not tried again."
  (countersign-tls-with-proxy address _authority
    (let ((server (countersign-server-at address (lambda () "secret"))) (told '()) (states '()))
      (countersign-transport-request server "GET" "/my/projects" :retries 3
                                     :callback (lambda (_answer problem) (push problem told)))
      (countersign-test-wait told)
      (should (equal (plist-get (car told) :code) "TLS_REFUSED"))
      (should (string-search "was not accepted" (plist-get (car told) :message)))
      (let ((stream (countersign-stream-open server "/my/projects/p/chat/stream" :on-event #'ignore
                                             :on-state (lambda (stream)
                                                         (push (countersign-stream-state stream) states)))))
        (countersign-test-wait (eq (countersign-stream-state stream) 'closed))
        (should (equal (plist-get (countersign-stream-problem stream) :code) "TLS_REFUSED"))
        (should (equal (reverse states) '(connecting closed))))
      (should (= (length told) 1))
      (should-not (string-search "data" countersign-tls--output)))))

(ert-deftest countersign-tls-opens-every-time ()
  "A quick server, on this machine: none of many connections hangs, and none is refused."
  (countersign-tls-with-proxy address authority
    (let ((gnutls-trustfiles (list authority)) (answers '()))
      (dotimes (number 25)
        (countersign-transport-request
         (countersign-server-at address (lambda () "wrong")) "GET" "/my/projects"
         :callback (lambda (_answer problem) (push (plist-get problem :status) answers)))
        (countersign-test-wait (> (length answers) number)))
      (should (equal (delete-dups answers) '(401))))))

(ert-deftest countersign-tls-a-handshake-that-never-ends-blocks-nobody ()
  "A server that says nothing: Emacs goes on, and the request has failed in time."
  (skip-unless (gnutls-available-p))
  (let ((fake (countersign-fake-start)) (told nil) (ticks 0) (countersign-request-timeout 0.5))
    (unwind-protect
        (let ((timer (run-at-time 0 0.05 (lambda () (cl-incf ticks)))))
          (countersign-transport-request
           (countersign-server-at (format "https://127.0.0.1:%d" (countersign-fake-port fake))) "GET" "/x"
           :callback (lambda (_answer problem) (setq told problem)))
          (countersign-test-wait told)
          (cancel-timer timer)
          (should (equal (plist-get told :message) "The server did not answer in time"))
          (should (> ticks 3)))
      (countersign-fake-stop fake))))

(ert-deftest countersign-tls-refuses-a-certificate-of-another-host ()
  "[RE-5] The name must be the one that was typed."
  (countersign-tls-with-proxy address authority
    (let ((gnutls-trustfiles (list authority)) (told nil))
      (countersign-transport-request
       (countersign-server-at (string-replace "localhost" "127.0.0.1" address) (lambda () "secret"))
       "GET" "/my/projects" :callback (lambda (_answer problem) (setq told problem)))
      (countersign-test-wait told)
      (should (member (plist-get told :code) '("TLS_REFUSED" "UNAVAILABLE")))
      (should-not (string-search "data" countersign-tls--output)))))

(ert-deftest countersign-tls-whole-story ()
  "[UI-3] With an authority that the person trusts: connect, ask, approve, all encrypted."
  (countersign-tls-with-proxy address authority
    (let ((gnutls-trustfiles (list authority))
          (process-environment (cons (concat "NODE_EXTRA_CA_CERTS=" authority) process-environment)))
      (cl-letf (((symbol-function 'countersign-live-address) (lambda () address)))
        (countersign-live-with-project project root
          (should (countersign-server-tls (countersign-project-server project)))
          (countersign-live-say project "/edit_file path=config.json old=3000 new=8443")
          (countersign-test-look project (countersign-live-asked project))
          (countersign-test-press "y")
          (countersign-live-shows project "Edited config.json")
          (should (equal (countersign-live-read root "config.json") "{\"port\": 8443}\n")))))))

(ert-deftest countersign-tls-a-person-is-asked-once ()
  "A certificate that nobody vouches for: Emacs asks, no is no, and it is not asked again."
  (countersign-tls-with-proxy address _authority
    (cl-letf (((symbol-function 'countersign-live-address) (lambda () address)))
      (countersign-terminal-with-emacs root "guarded"
        (countersign-terminal-keys "M-x")
        (countersign-terminal-type "countersign")
        (countersign-terminal-keys "Enter")
        (countersign-terminal-shows "Continue connecting\\?")
        (countersign-terminal-shows "localhost")
        (countersign-terminal-keys "n")
        (countersign-terminal-shows "guarded  ·  Ask  ·  failed: The certificate of https://localhost")
        (should-not (string-search "data" countersign-tls--output))
        ;; Nothing tries in the background: the next question is the one of the next M-x countersign.
        (countersign-terminal-keys "M-x")
        (countersign-terminal-type "list-processes")
        (countersign-terminal-keys "Enter")
        (countersign-terminal-shows "Process.* PID")
        (should-not (string-match-p "^countersign \\(stream\\|request\\)" (countersign-terminal-screen)))
        (countersign-terminal-keys "C-x" "0" "M-x")
        (countersign-terminal-type "countersign")
        (countersign-terminal-keys "Enter")
        (countersign-terminal-shows "Continue connecting\\?")
        (countersign-terminal-keys "s")
        ;; The runner has its own mind about certificates, so there is none.
        (countersign-terminal-shows "guarded  ·  Ask  ·  connected, no runner")))))

(provide 'countersign-tls-test)

;;; countersign-tls-test.el ends here
