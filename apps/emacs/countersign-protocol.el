;;; countersign-protocol.el --- The protocol as data, without connections  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The protocol of docs/protocol.md as data: JSON, frames of the event
;; stream, streamed texts, the bodies of requests, and text of tools and
;; models with hidden characters made visible.  Nothing here opens a
;; connection, so all of it is tested with the fixtures of packages/protocol.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'subr-x)
(require 'countersign-words)

;;;; JSON

(define-error 'countersign-bad-json "This is not JSON")

(defun countersign-json-read (text)
  "Read TEXT, one JSON value, as alists, vectors, `:null' and `:false'.
Nothing is lost: an empty array and an empty object stay different, so
that the value can be written again."
  (condition-case problem
      (if (fboundp 'json-parse-string)
          (condition-case problem
              (json-parse-string text :object-type 'alist :array-type 'array
                                 :null-object :null :false-object :false)
            ;; The C library refuses NUL, half a surrogate pair and large
            ;; numbers, which JSON may hold.  The reader in Lisp accepts them,
            ;; but it is slow and also accepts some invalid JSON.
            (error (if (string-match-p "\\\\u\\(?:[dD][89a-fA-F]\\|0000\\)\\|[0-9]\\{18\\}" text)
                       (countersign-json--read-slowly text)
                     (signal (car problem) (cdr problem)))))
        (countersign-json--read-slowly text))
    (error (signal 'countersign-bad-json (list (error-message-string problem))))))

(defun countersign-json--read-slowly (text)
  "Read TEXT with the reader that is written in Lisp."
  (let ((json-object-type 'alist)
        (json-array-type 'vector)
        (json-key-type 'symbol)
        (json-null :null)
        (json-false :false))
    (with-temp-buffer
      (insert text)
      (goto-char (point-min))
      (prog1 (json-read)
        (skip-chars-forward " \t\r\n")
        (unless (eobp) (error "Something follows the value"))))))

;; The encoders of Emacs 28 refuse large numbers or write an empty object as
;; null, so this file has its own.

(defun countersign-json-write (value)
  "Return VALUE, in the form of `countersign-json-read', as JSON in UTF-8."
  (encode-coding-string (countersign-json--deeply (lambda () (countersign-json--text value)))
                        'utf-8 t))

(defun countersign-json--deeply (function)
  "Call FUNCTION with a larger limit for nested values.
The protocol allows 200 levels, and each takes several levels of Lisp."
  ;; Bind by name to avoid a warning: the second variable is obsolete in Emacs 29.
  (cl-progv '(max-lisp-eval-depth max-specpdl-size) '(4000 8000) (funcall function)))

(defun countersign-json--text (value)
  "Write VALUE as text."
  (cond
   ((stringp value) (countersign-json--string value))
   ((vectorp value) (concat "[" (mapconcat #'countersign-json--text value ",") "]"))
   ((eq value t) "true")
   ((eq value :false) "false")
   ((eq value :null) "null")
   ((integerp value) (number-to-string value))
   ((floatp value) (json-encode value))
   ((listp value)
    (concat "{" (mapconcat (lambda (field)
                             (concat (countersign-json--string (format "%s" (car field))) ":"
                                     (countersign-json--text (cdr field))))
                           value ",")
            "}"))
   (t (signal 'wrong-type-argument (list 'json-value-p value)))))

(defun countersign-json--string (text)
  "Write TEXT as a JSON string."
  (concat "\""
          (replace-regexp-in-string
           "[\"\\\0-\x1f\x7f\ud800-\udfff]"
           (lambda (character)
             (pcase (aref character 0)
               (?\" "\\\"") (?\\ "\\\\") (?\n "\\n") (?\t "\\t") (?\r "\\r")
               (code (format "\\u%04x" code))))
           (substring-no-properties text) t t)
          "\""))

(defun countersign-get (object &rest path)
  "Return the value in OBJECT at PATH: names, or indices of lists.
Null, false and missing values are nil."
  (dolist (step path)
    (setq object
          (cond ((integerp step)
                 (and (vectorp object) (< step (length object)) (aref object step)))
                ((and (consp object) (consp (car object))) (alist-get step object)))))
  (if (memq object '(:null :false)) nil object))

(defun countersign-text-of (object &rest path)
  "Return the string in OBJECT at PATH, or an empty string."
  (let ((value (apply #'countersign-get object path)))
    (if (stringp value) value "")))

(defun countersign-list-of (object &rest path)
  "Return the list in OBJECT at PATH as a Lisp list."
  (let ((value (apply #'countersign-get object path)))
    (and (vectorp value) (append value nil))))

(defun countersign-omits-p (object what)
  "Return non-nil if OBJECT came without WHAT because of its size."
  (member what (countersign-list-of object 'omitted)))

;;;; Digests: a card shows only a preview that matches its digest (AP-8)

(defvar countersign-digest--long nil
  "Long texts, which are digested without JSON escapes, the last one first.")

(defun countersign-digest (value)
  "Return the protocol's digest of VALUE, in the form of `countersign-json-read'.
It covers the canonical JSON and then the long texts, each with its length.
The examples in packages/protocol/fixtures/digests.json pin it."
  (let* ((countersign-digest--long nil)
         (text (countersign-json--deeply (lambda () (countersign-digest--text value))))
         (long (mapconcat (lambda (item) (format "#%d:%s" (countersign-utf16-length item) item))
                          (reverse countersign-digest--long) "")))
    (concat "sha256:" (secure-hash 'sha256 (encode-coding-string (concat text long) 'utf-8 t)))))

(defun countersign-digest--text (value)
  "Write VALUE as JSON with the keys of each object in order."
  (cond
   ((stringp value)
    (if (or (<= (countersign-utf16-length value) 65536) (string-match-p "[\ud800-\udfff]" value))
        (countersign-digest--string value)
      (push (substring-no-properties value) countersign-digest--long)
      "#"))
   ((vectorp value) (concat "[" (mapconcat #'countersign-digest--text value ",") "]"))
   ((floatp value) (countersign-digest--float value))
   ((and value (listp value))
    (concat "{"
            (mapconcat (lambda (field)
                         (concat (countersign-digest--string (format "%s" (car field))) ":"
                                 (countersign-digest--text (cdr field))))
                       (sort (copy-sequence value)
                             (lambda (a b) (string< (countersign-digest--key a) (countersign-digest--key b))))
                       ",")
            "}"))
   (t (countersign-json--text value))))

(defun countersign-digest--key (field)
  "Return the sort key of the name of FIELD: its UTF-16 code units."
  (encode-coding-string (format "%s" (car field)) 'utf-16be t))

(defun countersign-digest--string (text)
  "Write TEXT as JavaScript writes a JSON string."
  (or (countersign-digest--string-fast text)
      (countersign-digest--string-slow text)))

(defun countersign-digest--string-fast (text)
  "Write TEXT as a JSON string with the C library, or return nil.
The library writes rare control characters in other ways than JavaScript."
  (and (fboundp 'json-serialize)
       (not (string-match-p "[\0-\x07\x0b\x0e-\x1f\x7f\ud800-\udfff]" text))
       (ignore-errors (decode-coding-string (json-serialize (substring-no-properties text)) 'utf-8 t))))

(defun countersign-digest--string-slow (text)
  "Write TEXT as a JSON string in Lisp."
  (concat "\""
          (replace-regexp-in-string
           "[\"\\\0-\x1f\ud800-\udfff]"
           (lambda (character)
             (pcase (aref character 0)
               (?\" "\\\"") (?\\ "\\\\") (?\n "\\n") (?\t "\\t") (?\r "\\r") (?\b "\\b") (?\f "\\f")
               (code (format "\\u%04x" code))))
           (substring-no-properties text) t t)
          "\""))

(defun countersign-digest--float (number)
  "Write NUMBER as JavaScript writes it."
  (let ((text (number-to-string (abs number))) (sign (if (< number 0) "-" "")))
    (unless (string-match "\\`\\([0-9]+\\)\\(?:\\.\\([0-9]+\\)\\)?\\(?:e\\([-+]?[0-9]+\\)\\)?\\'" text)
      (signal 'wrong-type-argument (list 'json-value-p number)))
    (let* ((whole (match-string 1 text))
           (all (concat whole (match-string 2 text)))
           (zeros (string-match-p "[1-9]\\|\\'" all))
           (point (- (+ (length whole) (string-to-number (or (match-string 3 text) "0"))) zeros))
           (digits (replace-regexp-in-string "0+\\'" "" (substring all zeros)))
           (count (length digits)))
      (concat
       sign
       (cond
        ((zerop count) "0")
        ((and (<= count point) (<= point 21)) (concat digits (make-string (- point count) ?0)))
        ((and (< 0 point) (<= point 21)) (concat (substring digits 0 point) "." (substring digits point)))
        ((and (< -6 point) (<= point 0)) (concat "0." (make-string (- point) ?0) digits))
        (t (concat (substring digits 0 1) (if (> count 1) (concat "." (substring digits 1)) "")
                   (format "e%+d" (1- point)))))))))

(defun countersign-shown-digest (data)
  "Return the digest of the parts of the approval DATA that are on its card."
  (countersign-digest
   `((form . 2)
     (base . ,(alist-get 'digest_base data))
     (tool_name . ,(alist-get 'tool_name data))
     (tool_params . ,(alist-get 'tool_params data))
     (risk_level . ,(alist-get 'risk_level data))
     (preview . ,(alist-get 'preview data)))))

(defun countersign-checked (data)
  "Return the approval DATA as it may be shown.
A preview that does not match its digest is removed and `unfit' is set:
the call can then only be rejected."
  (let ((preview (countersign-get data 'preview)) (digest (countersign-get data 'digest))
        (data (assq-delete-all 'unfit (copy-alist data))))
    (if (or (and (null digest) (or (null preview) (equal (countersign-get preview 'kind) "unavailable")))
            (countersign-list-of data 'left_out)
            (and preview digest (countersign-get data 'digest_base)
                 (equal digest (ignore-errors (countersign-shown-digest data)))))
        data
      `((unfit . t)
        (preview . ((kind . "unavailable")
                    (reason . ,(countersign-words "it does not fit its digest, so it is not shown and cannot be approved"))))
        ,@(assq-delete-all 'preview data)))))

;;;; Text of tools and models

(defconst countersign-text--hidden
  (rx-to-string
   '(any (#x0 . #x8) (#xb . #x1f) (#x7f . #xa0) #xad #x34f (#x600 . #x605) #x61c #x6dd #x70f
         ;; Lookalikes of | || ! ; . / : and mathematical letters.
         (#x1c0 . #x1c1) #x1c3 #x37e #x2024 #x2044 #x2215 #x29f8 #xa789 (#x1d400 . #x1d7ff)
         (#x890 . #x891) #x8e2 (#x115f . #x1160) #x1680 (#x17b4 . #x17b5) (#x180b . #x180f)
         (#x2000 . #x200f) (#x2028 . #x202f) (#x205f . #x206f) #x3000 #x3164
         (#xd800 . #xf8ff) (#xfe00 . #xfe0f) #xfeff #xffa0 (#xfff0 . #xfffb) #x110bd #x110cd
         (#x13430 . #x1343f) (#x1bca0 . #x1bca3) (#x1d173 . #x1d17a) (#xe0000 . #xe0fff)
         (#xf0000 . #x3fff7f))
   t)
  "Invisible characters, and those that move, hide, reorder or imitate text.")

(defconst countersign-text--foreign
  (rx-to-string
   '(any (#x370 . #x3ff) (#x400 . #x52f) (#x531 . #x58f) (#x13a0 . #x13ff) (#x1c80 . #x1c8f)
         (#x1f00 . #x1fff) (#x2de0 . #x2dff) (#xa640 . #xa69f) (#xab70 . #xabbf)
         (#xff01 . #xff5e))
   t)
  "Letters that may look like Latin ones.")

(defconst countersign-text--latin "[A-Za-zÀ-ÖØ-öø-ɏ]"
  "A Latin letter.")

(defun countersign-visible (text)
  "Return TEXT with hidden characters visible, without properties.
Nothing in it moves the cursor, hides, reorders or imitates: such
characters are named, as in ⟨U+202E⟩.  Line feeds and tabs stay."
  (let ((plain (substring-no-properties (if (stringp text) text (format "%s" text)))))
    (if (not (string-match-p "[^\t\n -~]" plain))
        plain
      ;; Use a buffer, because searching in a long string is slow.
      (with-temp-buffer
        (let ((case-fold-search nil) (inhibit-modification-hooks t))
          (insert (countersign-text--name-bytes plain))
          (goto-char (point-min))
          (while (re-search-forward countersign-text--hidden nil t)
            (replace-match (countersign-text--name (match-string 0)) t t))
          (goto-char (point-min))
          (while (re-search-forward countersign-text--foreign nil t)
            (countersign-text--mark-word))
          (buffer-string))))))

(defun countersign-text--name (character)
  "Return the label of CHARACTER, a string of length 1."
  (format "⟨U+%04X⟩" (aref character 0)))

(defun countersign-text--name-bytes (text)
  "Return TEXT with labels for raw bytes, which are not characters.
No regular expression of Emacs matches raw bytes reliably."
  (let ((text (if (multibyte-string-p text) text (string-to-multibyte text))))
    (if (cl-some (lambda (code) (>= code #x3fff80)) text)
        (mapconcat (lambda (code)
                     (if (>= code #x3fff80) (format "⟨byte %02X⟩" (- code #x3fff00))
                       (string code)))
                   text "")
      text)))

(defun countersign-text--mark-word ()
  "Label the letters of the word at point that only look Latin.
Point is after the first of them; it is moved to the end of the word."
  (skip-chars-forward "[:alnum:]_\\-")
  (let ((end (point-marker)))
    (skip-chars-backward "[:alnum:]_\\-")
    (when (save-excursion (re-search-forward countersign-text--latin end t))
      (while (re-search-forward countersign-text--foreign end t)
        (insert (countersign-text--name (match-string 0)))))
    (goto-char end)
    (set-marker end nil)))

(defun countersign-one-line (text &optional limit)
  "Return TEXT on one line of LIMIT characters, hidden characters visible."
  (let* ((text (if (stringp text) text (format "%s" text)))
         ;; Cut a long text first, because only its beginning is shown.
         (text (if (and limit (> (length text) (* 20 limit))) (substring text 0 (* 20 limit)) text))
         (line (string-trim (replace-regexp-in-string "[ \t\n]+" " " (countersign-visible text)))))
    (if limit (truncate-string-to-width line limit nil nil "…") line)))

(defun countersign-json-pretty (value)
  "Write VALUE as JSON for a person to edit.
Characters that hide or reorder are written as escapes."
  (let ((text (with-temp-buffer
                (insert (decode-coding-string (countersign-json-write value) 'utf-8))
                (let ((json-null :null) (json-false :false))
                  (countersign-json--deeply #'json-pretty-print-buffer))
                (buffer-string))))
    (replace-regexp-in-string countersign-text--hidden #'countersign-json--escape text t t)))

(defun countersign-json--escape (character)
  "Return the JSON escape of CHARACTER, a string of length 1.
Line breaks between values stay as they are."
  (let ((code (aref character 0)))
    (cond ((memq code '(?\n ?\t)) character)
          ((< code #x10000) (format "\\u%04x" code))
          ((> code #x10ffff) character)
          (t (let ((rest (- code #x10000)))
               (format "\\u%04x\\u%04x"
                       (+ #xd800 (ash rest -10)) (+ #xdc00 (logand rest #x3ff))))))))

;;;; Names of files

(defun countersign-file-below (root path)
  "Return the untrusted PATH as a file below the folder ROOT, or nil.
Only names are compared: no file is touched.  File name handlers are
disabled: a name like /sudo:root@localhost:/etc would start a program."
  (let ((file-name-handler-alist nil))
    (unless (or (string-empty-p path) (string-match-p "[\0\n]" path) (> (length path) 4096))
      (let ((file (expand-file-name path root)))
        (and (string-prefix-p (file-name-as-directory root) file)
             (not (string-match-p "\\`/[^/]+:" file))
             file)))))

;;;; Frames of the event stream

(cl-defstruct (countersign-sse (:constructor countersign-sse-create) (:copier nil))
  "Reads Server-Sent Events from bytes that arrive in pieces."
  (rest "") (name "") (data nil) (id nil) (size 0))

(defconst countersign-sse-max 4194304
  "Upper bound for the bytes of one event.")

(define-error 'countersign-bad-stream "The event stream cannot be read")

(defun countersign-sse-feed (reader bytes)
  "Feed BYTES to READER and return the frames that are complete now.
A frame is a list (NAME DATA ID); DATA and ID may be nil.  A frame
named \"retry\" without data asks to wait ID milliseconds."
  (let* ((text (concat (countersign-sse-rest reader) bytes))
         (start 0)
         (frames '())
         end)
    (while (setq end (string-search "\n" text start))
      (let* ((last (if (and (> end start) (eq (aref text (1- end)) ?\r)) (1- end) end))
             (frame (countersign-sse--line reader (substring text start last))))
        (when frame (push frame frames)))
      (setq start (1+ end)))
    (setf (countersign-sse-rest reader) (substring text start))
    (when (> (+ (- (length text) start) (countersign-sse-size reader)) countersign-sse-max)
      (signal 'countersign-bad-stream '("an event has no end")))
    (nreverse frames)))

(defun countersign-sse--line (reader line)
  "Feed LINE to READER and return the frame that it ends, or nil."
  (cond
   ((string-empty-p line) (countersign-sse--dispatch reader))
   ((eq (aref line 0) ?:) nil)
   (t
    (let* ((colon (string-search ":" line))
           (field (substring line 0 colon))
           (value (if colon (substring line (1+ colon)) "")))
      (when (string-prefix-p " " value) (setq value (substring value 1)))
      (cond
       ((equal field "event") (setf (countersign-sse-name reader) value) nil)
       ((equal field "data")
        (push value (countersign-sse-data reader))
        (cl-incf (countersign-sse-size reader) (length value))
        nil)
       ((equal field "id")
        (unless (string-search "\0" value) (setf (countersign-sse-id reader) value))
        nil)
       ((and (equal field "retry") (string-match-p "\\`[0-9]+\\'" value))
        (list "retry" nil (string-to-number value))))))))

(defun countersign-sse--dispatch (reader)
  "Return the frame that READER has gathered, and begin the next."
  (let ((name (countersign-sse-name reader))
        (data (countersign-sse-data reader))
        (id (countersign-sse-id reader)))
    (setf (countersign-sse-name reader) ""
          (countersign-sse-data reader) nil
          (countersign-sse-id reader) nil
          (countersign-sse-size reader) 0)
    (when (or data id)
      (list (decode-coding-string name 'utf-8)
            (and data (decode-coding-string (string-join (nreverse data) "\n") 'utf-8))
            id))))

(defun countersign-event-read (frame)
  "Return FRAME as (NAME . PAYLOAD), or nil if its data is not a JSON object."
  (pcase-let ((`(,name ,data ,_) frame))
    (when (and data (not (string-empty-p name)))
      (let ((payload (ignore-error countersign-bad-json (countersign-json-read data))))
        (and (consp payload) (consp (car payload)) (cons name payload))))))

;;;; Streamed text

(defun countersign-utf16-length (text)
  "Count the UTF-16 code units of TEXT."
  (let ((count (length text)))
    (when (string-match-p "[^\0-\uffff]" text)
      (mapc (lambda (character) (when (> character #xffff) (cl-incf count))) text))
    count))

(defun countersign-utf16-tail (text units)
  "Return TEXT without its first UNITS UTF-16 code units."
  (let ((index 0) (left units))
    (while (and (> left 0) (< index (length text)))
      (cl-decf left (if (> (aref text index) #xffff) 2 1))
      (cl-incf index))
    (substring text index)))

(cl-defstruct (countersign-stream-text (:constructor countersign-stream-text-create) (:copier nil))
  "The text of one message while it is streamed."
  (pieces nil) (units 0) (complete nil) (held nil))

(defun countersign-stream-text-string (message)
  "Return all of the text of MESSAGE so far."
  (let ((pieces (countersign-stream-text-pieces message)))
    (if (cdr pieces)
        (car (setf (countersign-stream-text-pieces message) (list (string-join (reverse pieces)))))
      (or (car pieces) ""))))

(defun countersign-stream-text-add (message offset text)
  "Add TEXT to MESSAGE at OFFSET.
Return the added string, `again' if the message started again, `gap' if
text before OFFSET is missing and must be fetched, or nil."
  (let ((units (countersign-stream-text-units message)))
    (cond
     ((countersign-stream-text-complete message) nil)
     ((> offset units)
      (push (cons offset text) (countersign-stream-text-held message))
      'gap)
     ;; Deltas are not sent twice: a second delta at offset 0 means that the
     ;; model started again after its message was cut off.
     ((and (= offset 0) (> units 0)
           (not (string-prefix-p text (countersign-stream-text-string message))))
      (countersign-stream-text--set message text)
      'again)
     (t (let ((tail (countersign-utf16-tail text (- units offset))))
          (unless (string-empty-p tail)
            (push tail (countersign-stream-text-pieces message))
            (cl-incf (countersign-stream-text-units message) (countersign-utf16-length tail))
            tail))))))

(defun countersign-stream-text-replace (message content complete)
  "Set MESSAGE to CONTENT of the server; COMPLETE if that is all of it.
Otherwise, text that was streamed after CONTENT is kept."
  (if complete
      (progn (countersign-stream-text--set message content)
             (setf (countersign-stream-text-complete message) t
                   (countersign-stream-text-held message) nil))
    (when (> (countersign-utf16-length content) (countersign-stream-text-units message))
      (countersign-stream-text--set message content))
    (let ((held (sort (countersign-stream-text-held message) #'car-less-than-car)))
      (setf (countersign-stream-text-held message) nil)
      (pcase-dolist (`(,offset . ,text) held)
        (countersign-stream-text-add message offset text)))))

(defun countersign-stream-text--set (message text)
  "Make TEXT the whole text of MESSAGE."
  (setf (countersign-stream-text-pieces message) (list text)
        (countersign-stream-text-units message) (countersign-utf16-length text)))

;;;; Pending approvals

(cl-defstruct (countersign-pending (:copier nil))
  "One pending approval: DATA as received, DEADLINE by our clock."
  data deadline)

(cl-defstruct (countersign-approvals (:constructor countersign-approvals-create) (:copier nil))
  "The pending approvals, in the order of their arrival."
  (waiting nil)
  ;; Ids of settled approvals: a late response must not add them again.
  (settled (make-hash-table :test #'equal)))

(defun countersign-approvals-find (approvals id)
  "Return the pending one of APPROVALS with ID, or nil."
  (cl-find id (countersign-approvals-waiting approvals) :key #'countersign-pending-id :test #'equal))

(defun countersign-pending-id (pending)
  "Return the id of the approval PENDING."
  (countersign-get (countersign-pending-data pending) 'approval_id))

(defun countersign-pending-get (pending &rest path)
  "Return the value in the approval PENDING at PATH."
  (apply #'countersign-get (countersign-pending-data pending) path))

(defun countersign-pending-title (pending)
  "Return a sentence about PENDING."
  (countersign-title (countersign-pending-data pending)))

(defun countersign-title (data)
  "Return a sentence about the approval DATA.
The server's sentence is English.  In another language it is made here,
if there is a title for the tool."
  (let* ((words (countersign-words-title (countersign-intent data)))
         (values (and words (cons (cons "who" (countersign-words-caller (countersign-one-line (countersign-text-of data 'agent) 40)))
                                  (countersign-title-values (countersign-get data 'tool_params)))))
         (missing nil)
         ;; Replace each placeholder once: braces in a value are plain text.
         (title (and words
                     (replace-regexp-in-string
                      "{\\([a-z]+\\)}"
                      (lambda (place)
                        (let ((value (cdr (assoc (substring place 1 -1) values))))
                          (when (member value '(nil "")) (setq missing t))
                          (or value "")))
                      words t t))))
    (if (and title (not missing)) title (countersign-text-of data 'description))))

(defun countersign-title-values (params)
  "Return the values for a title of a call with PARAMS, by placeholder.
Each value is cut by itself: a long value must not hide the next one.
The page does the same (titleValues in packages/approvals)."
  (cl-flet ((shown (name) (let ((value (countersign-get params name)))
                            (if (stringp value) (countersign-one-line value 160) ""))))
    `(("path" . ,(shown 'path)) ("source" . ,(shown 'source)) ("dest" . ,(shown 'dest))
      ("message" . ,(shown 'message)) ("name" . ,(shown 'name))
      ("host" . ,(shown 'host))
      ("command" . ,(if (countersign-get params 'command) (countersign-one-line (countersign--command-line params) 160) ""))
      ("files" . ,(number-to-string (length (countersign-list-of params 'files))))
      ("target" . ,(string-trim (format "%s %s" (if (string-empty-p (shown 'remote)) "origin" (shown 'remote))
                                        (shown 'branch)))))))

(defun countersign--command-line (params)
  "Return the command of PARAMS and its arguments, quoted where needed."
  (string-join (cons (format "%s" (countersign-get params 'command))
                     (mapcar (lambda (word)
                               (if (and (stringp word) (string-match-p "\\`[^[:space:]\"'\\]+\\'" word)) word
                                 (decode-coding-string (countersign-json-write word) 'utf-8)))
                             (countersign-list-of params 'args)))
               " "))

(defun countersign-intent (data)
  "Return the tool of the approval DATA, or a name for this use of it.
Only a preview tells that a file is new; without one, writing is a change."
  (let ((tool (countersign-get data 'tool_name)))
    (cond ((not (equal tool "write_file")) tool)
          ((equal (countersign-get data 'preview 'files 0 'operation) "created") "create_file")
          ((equal (countersign-get data 'tool_params 'mode) "append") "append_file")
          (t tool))))

(defun countersign-operand (params)
  "Return the parameter that identifies a call with PARAMS best, as text."
  (let ((source (countersign-get params 'source))
        (dest (countersign-get params 'dest))
        (remote (countersign-get params 'remote)))
    (cond
     ((countersign-get params 'command) (countersign-one-line (countersign--command-line params) 60))
     ((and (stringp source) (stringp dest))
      (format "%s → %s" (countersign-one-line source 60) (countersign-one-line dest 60)))
     ((stringp remote)
      (countersign-one-line (string-trim (format "%s %s" remote (countersign-text-of params 'branch))) 60))
     (t (countersign-one-line
         (or (cl-loop for name in '(path source pattern content message name branch job_id host)
                      for value = (countersign-get params name)
                      when (stringp value) return value)
             "")
         60)))))

(defun countersign-pending-high-p (pending)
  "Return non-nil if PENDING is HIGH, or of an unknown risk."
  (not (member (countersign-pending-get pending 'risk_level) '("LOW" "MEDIUM"))))

(defun countersign-pending-identity (pending)
  "Return a value that is `equal' as long as the card of PENDING is the same.
It begins with the id and the revision."
  (let ((data (countersign-pending-data pending)))
    (mapcar (lambda (field) (countersign-get data field))
            '(approval_id revision digest risk_level tool_params preview network
                          description reasons runner_id offered_scopes trying))))

(defun countersign-pending-remaining (pending now)
  "Return how many seconds are left for PENDING at NOW."
  (max 0 (- (countersign-pending-deadline pending) now)))

(defun countersign-approvals-keep (approvals data now)
  "Add or update the approval DATA, received at NOW, in APPROVALS.
Return `new', `changed', `fetch' if parts of it were left out for their
size, or nil if it is settled or older than the known version."
  (let* ((id (countersign-get data 'approval_id))
         (known (and id (countersign-approvals-find approvals id)))
         (deadline (+ now (/ (or (countersign-get data 'remaining_ms) 0) 1000.0))))
    (cond
     ((or (null id) (gethash id (countersign-approvals-settled approvals))) nil)
     ((member (countersign-get data 'status) '("approved" "rejected" "timeout" "cancelled")) nil)
     ((and known (< (or (countersign-get data 'revision) 0)
                    (or (countersign-pending-get known 'revision) 0)))
      nil)
     ((or (countersign-omits-p data "tool_params") (countersign-omits-p data "preview")) 'fetch)
     (known
      (let ((before (countersign-pending-identity known)))
        (setf (countersign-pending-data known)
              (countersign-checked (countersign--merge (countersign-pending-data known) data))
              (countersign-pending-deadline known) deadline)
        (unless (equal before (countersign-pending-identity known)) 'changed)))
     ;; An update of an unknown approval has no context: fetch the approval.
     ((null (countersign-get data 'tool_name)) 'fetch)
     (t (setf (countersign-approvals-waiting approvals)
              (append (countersign-approvals-waiting approvals)
                      (list (make-countersign-pending :data (countersign-checked data) :deadline deadline))))
        'new))))

(defun countersign--merge (old new)
  "Return the fields of NEW, and those of OLD that NEW does not have.
A field that is there only while it is true ends with its absence."
  (append new (cl-remove-if (lambda (field) (or (assq (car field) new) (memq (car field) '(omitted trying)))) old)))

(defun countersign-approvals-settle (approvals id)
  "Remember that ID is settled; return its pending entry of APPROVALS."
  (let ((known (countersign-approvals-find approvals id)))
    (puthash id t (countersign-approvals-settled approvals))
    (setf (countersign-approvals-waiting approvals)
          (delq known (countersign-approvals-waiting approvals)))
    known))

(defun countersign-resolution-words (resolution here)
  "Return a sentence about RESOLUTION, an `approval.resolved'.
HERE is non-nil when this Emacs decided it."
  (let* ((status (countersign-get resolution 'status))
         (device (countersign-get resolution 'device))
         (place (and device (countersign-device-place device)))
         (remembered (if (member (countersign-get resolution 'scope) '("class" "session" "always"))
                         (countersign-words ", remembered")
                       "")))
    (pcase status
      ("approved"
       (cond (here (concat (countersign-words "You approved this here") remembered))
             (place (concat (countersign-words "You approved this %s" place) remembered))
             ((equal (countersign-get resolution 'scope) "mode") (countersign-words "Allowed by the mode of this conversation"))
             ((countersign-get resolution 'grant_id) (countersign-words "Allowed by what you approved before"))
             (t (countersign-words "You approved this"))))
      ("rejected" (cond (here (countersign-words "You rejected this here"))
                        (place (countersign-words "You rejected this %s" place))
                        (t (countersign-words "You rejected this"))))
      ("timeout" (countersign-words "expired: nobody decided in time"))
      ("cancelled"
       (if-let* ((failure (countersign-get resolution 'error 'message)))
           (countersign-words "withdrawn, the call failed: %s" (countersign-one-line failure 500))
         (countersign-words "withdrawn: the call was cancelled")))
      (_ (countersign-words "settled: %s" (countersign-one-line (or status "?") 40))))))

(defun countersign-device-place (device)
  "Return where DEVICE is, such as \"in Firefox\" for \"Firefox on vm\"."
  (let ((name (countersign-one-line device 100)))
    (cond ((equal name "VS Code") (countersign-words "in %s" name))
          ((string-match "\\`token \\(.+\\)\\'" name) (countersign-words "with the token “%s”" (match-string 1 name)))
          ((string-match-p "\\`terminal on " name) (countersign-words "in the terminal"))
          ((string-match "\\`\\(.+\\) on [^ ]+\\'" name) (countersign-words "in %s" (match-string 1 name)))
          (t (countersign-words "on %s" name)))))

;;;; Bodies of requests

(defun countersign-body-approve (digest device &optional scope tool-params include-high)
  "The body that approves the card with DIGEST, from DEVICE.
SCOPE is one of the offered scopes or nil; TOOL-PARAMS are (PARAMS)
if the person edited them; INCLUDE-HIGH widens SCOPE to HIGH calls."
  (append
   (and digest `((digest . ,digest)))
   (and scope `((scope . ,(countersign-get scope 'scope))))
   (and scope (countersign-get scope 'pattern) `((pattern . ,(countersign-get scope 'pattern))))
   (and (countersign-get scope 'only_here) '((only_here . t)))
   (and include-high '((include_high . t)))
   (and tool-params `((tool_params . ,(car tool-params))))
   `((device . ,device))))

(defun countersign-body-backtest (scope &optional include-high)
  "Return the body for trying the rules of SCOPE on the history.
SCOPE is an offered scope; INCLUDE-HIGH widens its rules to HIGH calls."
  (let ((rules (mapcar (lambda (rule)
                         (if include-high
                             (cons '(max_risk . "HIGH") (assq-delete-all 'max_risk (copy-alist rule)))
                           rule))
                       (countersign-list-of scope 'rules))))
    `((rule . ,(car rules))
      ,@(and (cdr rules) `((further_rules . ,(vconcat (cdr rules))))))))

(defun countersign-body-reject (message device)
  "The body that rejects with MESSAGE, which may be empty, from DEVICE."
  (append (and message (not (string-empty-p message)) `((message . ,message)))
          `((device . ,device))))

(defun countersign-body-message (content session-id)
  "The body that sends CONTENT in the session SESSION-ID."
  (append `((content . ,content)) (and session-id `((session_id . ,session-id)))))

(defun countersign-params-read (text)
  "Read TEXT, tool parameters as a person edited them.
Signal a `user-error' if TEXT is not a JSON object."
  (let ((params (condition-case problem
                    (countersign-json-read text)
                  (countersign-bad-json (user-error "%s" (countersign-words "Not JSON: %s" (cadr problem)))))))
    (unless (and (listp params) (or (null params) (consp (car params))))
      (user-error "%s" (countersign-words "The parameters must be one JSON object: { … }")))
    params))

(provide 'countersign-protocol)

;;; countersign-protocol.el ends here
