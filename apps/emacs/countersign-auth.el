;;; countersign-auth.el --- Tokens, from auth-source  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The token of a server is read from auth-source, for example
;;
;;   machine 127.0.0.1 port 4180 login countersign password TOKEN
;;
;; Without one, a sign-in link is exchanged for a token.  A token never
;; appears on a command line or in an address (RE-5).

;;; Code:

(require 'auth-source)
(require 'countersign-transport)

(defconst countersign-auth-user "countersign"
  "The login under which tokens are kept in auth-source.")

(defvar countersign-auth--fresh (make-hash-table :test #'equal)
  "Tokens from signing in with this Emacs, by the server's address.")

(defun countersign-auth-token (server)
  "Return the token for SERVER, or nil when there is none."
  (or (gethash (countersign-server-address server) countersign-auth--fresh)
      (countersign-auth--kept server)))

(defun countersign-auth--kept (server)
  "Return the token that auth-source has for SERVER, or nil."
  (let* ((found (car (auth-source-search
                      :host (countersign-server-host server)
                      :port (number-to-string (countersign-server-port server))
                      :user countersign-auth-user :max 1 :require '(:secret))))
         (secret (plist-get found :secret)))
    (if (functionp secret) (funcall secret) secret)))

(defun countersign-auth-forget (server)
  "Forget the token of SERVER, so that auth-source is asked again."
  (remhash (countersign-server-address server) countersign-auth--fresh)
  (auth-source-forget+ :host (countersign-server-host server)))

(defun countersign-auth-read-link (text)
  "Return (ADDRESS . CODE) of TEXT, a sign-in link; a bare code has no address."
  (let ((text (string-trim text)))
    (cond
     ((string-match "\\`\\(https?://[^#?[:space:]]+?\\)/?#sign-in=\\([A-Za-z0-9_-]\\{16,200\\}\\)\\'" text)
      (cons (match-string 1 text) (match-string 2 text)))
     ((string-match-p "\\`[A-Za-z0-9_-]\\{16,200\\}\\'" text) (cons nil text))
     (t (user-error "%s" (countersign-words "This is not a sign-in link; one looks like http://127.0.0.1:4180/#sign-in=…"))))))

(defun countersign-auth-sign-in (server code callback &optional keep)
  "Exchange CODE for a token of SERVER.
CALLBACK gets nil, or an error.  With KEEP the token is offered to
auth-source, which asks whether to save it."
  (countersign-transport-request
   ;; Send no token: an expired one would be refused.
   (countersign-server-at (countersign-server-address server))
   "POST" "/sign-in" :body `((code . ,code))
   :callback
   (lambda (answer problem)
     (let ((token (countersign-get answer 'token)))
       (when (stringp token)
         (puthash (countersign-server-address server) token countersign-auth--fresh)
         (when keep (countersign-auth--save server token)))
       (funcall callback
                (or problem
                    (unless (stringp token)
                      (countersign-transport-error 500 "INTERNAL" (countersign-words "The server gave no token")))))))))

(defun countersign-auth--save (server token)
  "Offer TOKEN of SERVER to auth-source."
  (if (countersign-auth--kept server)
      (message "%s" (countersign-words "Signed in.  Your auth-source has an older token for %s: replace it, or it is tried first in the next Emacs"
                                       (countersign-server-address server)))
    (let* ((auth-source-creation-defaults `((secret . ,token)))
           (made (car (auth-source-search
                       :host (countersign-server-host server)
                       :port (number-to-string (countersign-server-port server))
                       :user countersign-auth-user :max 1 :create t)))
           (save (plist-get made :save-function)))
      (when (functionp save) (funcall save)))))

(provide 'countersign-auth)

;;; countersign-auth.el ends here
