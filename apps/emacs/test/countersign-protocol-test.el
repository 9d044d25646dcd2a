;;; countersign-protocol-test.el --- The wire, on the fixtures of packages/protocol  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Code:

(require 'countersign-test-helper)

(ert-deftest countersign-protocol-reads-every-event-however-it-is-cut ()
  "[EV-1] Every event of the fixtures arrives whole, in pieces of any size."
  (let ((seen 0))
    (dolist (size '(1 7 64 100000))
      (pcase-dolist (`(,name . ,examples) (countersign-test-fixtures "events"))
        (dolist (payload examples)
          (let* ((bytes (encode-coding-string (countersign-fake-frame name payload 7) 'utf-8))
                 (reader (countersign-sse-create))
                 (frames (cl-loop for start from 0 below (length bytes) by size
                                  append (countersign-sse-feed
                                          reader (substring bytes start (min (length bytes)
                                                                             (+ start size)))))))
            (should (equal (length frames) 1))
            (should (equal (nth 2 (car frames)) "7"))
            (should (equal (countersign-event-read (car frames)) (cons name payload)))
            (cl-incf seen)))))
    (should (> seen 100))))

(ert-deftest countersign-protocol-skips-what-is-no-event ()
  "[EV-4] Comments, unknown fields, bare ids and rubbish are no events."
  (let ((reader (countersign-sse-create)))
    (should (equal (countersign-sse-feed reader ": heartbeat\n\nretry: 1000\nfoo: bar\n\nid: 5\n\n")
                   '(("retry" nil 1000) ("" nil "5"))))
    (dolist (rubbish '("data: not JSON\n\n" "event: x\ndata: {\"a\":\n\n" "event: x\ndata: 7\n\n"
                       "event: x\ndata: []\n\n" "event: x\ndata: \"text\"\n\n" "data: {\"a\":1}\n\n"
                       "event: x\ndata: \377\376\n\n" "event: x\ndata: {\"a\":1}garbage\n\n"))
      (should-not (countersign-event-read (car (countersign-sse-feed reader rubbish)))))
    (should-error (countersign-sse-feed reader (make-string 5000000 ?x))
                  :type 'countersign-bad-stream)))

(ert-deftest countersign-protocol-reads-crlf-and-several-data-lines ()
  (let ((reader (countersign-sse-create)))
    (should (equal (countersign-sse-feed reader "event: x\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n")
                   '(("x" "{\"a\":\n1}" nil))))))

(ert-deftest countersign-protocol-writes-json-as-it-was-read ()
  "What was read is written again without a loss: all fixtures, and worse."
  (dolist (folder '("events" "bodies"))
    (pcase-dolist (`(,_ . ,examples) (countersign-test-fixtures folder))
      (dolist (example examples)
        (should (equal (countersign-json-read
                        (decode-coding-string (countersign-json-write example) 'utf-8))
                       example)))))
  (dolist (text '("{}" "[]" "{\"a\":[],\"b\":{},\"c\":null,\"d\":false,\"e\":true,\"f\":1.5}"
                  "{\"big\":12345678901234567890}" "{\"\":\"\\u0000\\\"\\\\\\n\"}"
                  "{\"half\":\"\\ud800\"}"))
    (should (equal (countersign-json-write (countersign-json-read text)) text)))
  (dolist (bad '("" "nope" "{\"a\":1}x" "{" "[1,]"))
    (should-error (countersign-json-read bad) :type 'countersign-bad-json)))

(ert-deftest countersign-protocol-digests-as-the-server-does ()
  "[AP-8] Values, long texts and cards of digests.json have the digests that TypeScript gives them."
  (let ((fixture (countersign-test-fixture "digests.json")))
    (seq-doseq (example (alist-get 'values fixture))
      (should (equal (countersign-digest--text (alist-get 'value example)) (alist-get 'json example)))
      (should (equal (countersign-digest (alist-get 'value example)) (alist-get 'digest example))))
    (seq-doseq (example (alist-get 'repeated fixture))
      (let ((text (apply #'concat (make-list (alist-get 'times example) (alist-get 'unit example)))))
        (should (equal (countersign-digest (list (cons (alist-get 'key example) text)))
                       (alist-get 'digest example)))))
    (seq-doseq (card (alist-get 'shown fixture))
      (should (equal (countersign-shown-digest card) (alist-get 'digest card)))
      (should-not (countersign-get (countersign-checked card) 'unfit))
      (should (countersign-get (countersign-checked (countersign--merge card '((risk_level . "LOW")))) 'unfit)))))

(ert-deftest countersign-protocol-names-what-hides ()
  "[UI-6] [AP-7] The cases of packages/protocol/src/visible-text.test.ts."
  (dolist (text '("npm test" "two\nlines\tand a tab" "größe" "привет мир" "日本語" "🧪" ""))
    (should (equal (countersign-visible text) text)))
  (pcase-dolist (`(,text ,visible)
                 '(("if (environment\u01c3=production)" "if (environment⟨U+01C3⟩=production)")
                   ("docs\u2215a.md" "docs⟨U+2215⟩a.md") ("x\u037e" "x⟨U+037E⟩")
                   ("\U0001d626val()" "⟨U+1D626⟩val()")
                   ("v1\u202e0" "v1⟨U+202E⟩0") ("te\u200cst" "te⟨U+200C⟩st")
                   ("\u2067build\u2069" "⟨U+2067⟩build⟨U+2069⟩")
                   ("ls\e[8m hidden" "ls⟨U+001B⟩[8m hidden") ("a\rb\0" "a⟨U+000D⟩b⟨U+0000⟩")
                   ("a\u00a0b\u3164" "a⟨U+00A0⟩b⟨U+3164⟩") ("\U000e0041" "⟨U+E0041⟩")
                   ("p\u0430ypal" "p\u0430⟨U+0430⟩ypal") ("\uff52m" "\uff52⟨U+FF52⟩m")))
    (should (equal (countersign-visible text) visible)))
  (should (equal (countersign-visible (string #xd800)) "⟨U+D800⟩"))
  (should (equal (countersign-visible (decode-coding-string "a\377" 'utf-8)) "a⟨byte FF⟩"))
  (should-not (text-properties-at
               0 (countersign-visible (propertize "x" 'display "y" 'keymap 'z 'invisible t)))))

(ert-deftest countersign-protocol-streams-text ()
  "[EV-4] Deltas are put where they belong, counted in UTF-16."
  (let ((text (countersign-stream-text-create)))
    (dolist (delta (countersign-test-fixture "events/message.delta.json"))
      (should (stringp (countersign-stream-text-add text (countersign-get delta 'offset)
                                                    (countersign-get delta 'text)))))
    (should (equal (countersign-stream-text-string text) "I will run the tests 🧪 first."))
    (should (equal (countersign-stream-text-units text) 30))
    ;; What came before is not added twice; what overlaps adds its rest.
    (should-not (countersign-stream-text-add text 11 "the tests 🧪"))
    (should (equal (countersign-stream-text-add text 24 "first. Then") " Then"))
    (should (eq (countersign-stream-text-add text 99 "beyond") 'gap))
    ;; The model tried again from the beginning.
    (should (eq (countersign-stream-text-add text 0 "No. ") 'again))
    (should (equal (countersign-stream-text-string text) "No. "))
    (countersign-stream-text-replace text "No. I did." t)
    (should-not (countersign-stream-text-add text 10 "more"))
    (should (equal (countersign-stream-text-string text) "No. I did."))))

(ert-deftest countersign-protocol-fills-a-gap ()
  "What came beyond a gap is used when the gap is filled."
  (let ((text (countersign-stream-text-create)))
    (countersign-stream-text-add text 0 "one ")
    (countersign-stream-text-add text 8 "three")
    (countersign-stream-text-replace text "one two " nil)
    (should (equal (countersign-stream-text-string text) "one two three"))))

(ert-deftest countersign-protocol-keeps-approvals ()
  "[AP-2] What waits is kept in order, completed, and settled once for all."
  (let* ((approvals (countersign-approvals-create))
         (requests (countersign-test-fixture "events/tool.approval_request.json"))
         (request (car requests))
         (id (countersign-get request 'approval_id)))
    (should (eq (countersign-approvals-keep approvals request 100.0) 'new))
    (should-not (countersign-approvals-keep approvals request 100.0))
    (dolist (update (countersign-test-fixture "events/approval.updated.json"))
      (when (equal (countersign-get update 'approval_id) id)
        (should (eq (countersign-approvals-keep approvals update 101.0) 'changed))))
    (let ((pending (countersign-approvals-find approvals id)))
      (should (equal (countersign-pending-get pending 'preview 'kind) "command"))
      ;; What the update did not have is still there.
      (should (countersign-pending-get pending 'context 'excerpt))
      (should (= 298.75 (countersign-pending-remaining pending 101.0))))
    (should (countersign-approvals-settle approvals id))
    (should-not (countersign-approvals-settle approvals id))
    (should-not (countersign-approvals-keep approvals request 102.0))
    (should-not (countersign-approvals-waiting approvals))))

(ert-deftest countersign-protocol-fetches-what-was-left-out ()
  "[EV-2] Parts that did not fit into an event are fetched, not taken for empty."
  (let ((approvals (countersign-approvals-create)))
    (dolist (update (countersign-test-fixture "events/approval.updated.json"))
      (should (eq (countersign-approvals-keep approvals update 0.0) 'fetch)))
    (should-not (countersign-approvals-waiting approvals))))

(ert-deftest countersign-protocol-ignores-an-overtaken-answer ()
  (let ((approvals (countersign-approvals-create))
        (request (car (countersign-test-fixture "events/tool.approval_request.json"))))
    (countersign-approvals-keep approvals (countersign--merge request '((revision . 3))) 0.0)
    (should-not (countersign-approvals-keep approvals (countersign--merge request '((revision . 2))) 0.0))))

(defun countersign-test--same-p (a b)
  "Return non-nil if objects A and B have the same fields, in any order."
  (let ((key (lambda (x y) (string< (symbol-name (car x)) (symbol-name (car y))))))
    (equal (sort (copy-sequence a) key) (sort (copy-sequence b) key))))

(ert-deftest countersign-protocol-sends-what-the-fixtures-have ()
  "What is sent equals one of the examples that the server accepts."
  (cl-flet ((accepted (route body)
              (should (cl-some (lambda (example) (countersign-test--same-p example body))
                               (countersign-test-fixture (format "bodies/%s.request.json" route))))))
    (let ((digest "sha256:5d347fd948b66308f502c3f65c8f7e12ff1c5cf8c760bcdfb188ae1ec7b8b618"))
      ;; Fields that always go along (device) or never (decision, a false flag) are evened out.
      (cl-flet ((without (body &rest names)
                  (cl-remove-if (lambda (field) (memq (car field) names)) body)))
        (accepted "approve" (without (countersign-body-approve nil "x") 'device))
        (accepted "approve" (append '((decision . "approved") (include_high . :false))
                                    (countersign-body-approve
                                     digest "phone" '((scope . "class") (pattern . "npm *")))))
        (accepted "approve" (without (countersign-body-approve digest "x" '((scope . "session") (pattern . :null))
                                                               nil t)
                                     'device))
        (accepted "approve" (without (countersign-body-approve
                                      digest "x" '((scope . "always") (pattern . "npm test")))
                                     'device))
        (accepted "approve" (append '((scope . "once"))
                                    (countersign-body-approve
                                     "sha256:df087996d45b03e7eb8c133c0298fd98d35113fca26aaba58612fef3cc212cad"
                                     "web page" nil
                                     '(((path . "config.json") (content . "{\n  \"port\": 9090\n}\n")
                                        (mode . "write"))))))
        (accepted "reject" (append '((decision . "rejected") (reason . "User rejected the operation"))
                                   (countersign-body-reject "Wrong file path" "Emacs")))
        (accepted "reject" (without (countersign-body-reject "" "x") 'device))
        (accepted "sendMessage" (countersign-body-message
                                 "Please make the tests pass and raise the port to 8080." nil))
        (accepted "sendMessage" (append '((model . "manual"))
                                        (countersign-body-message
                                         "/read_file path=README.md"
                                         "0199f3a0-7c1e-7b4a-9d20-000000000002")))))))

(ert-deftest countersign-protocol-says-who-decided ()
  "[AP-2] Every resolution of the fixtures has words."
  (should (equal (mapcar (lambda (resolution) (countersign-resolution-words resolution nil))
                         (countersign-test-fixture "events/approval.resolved.json"))
                 '("You approved this on phone" "You approved this on phone" "Allowed by what you approved before"
                   "You rejected this on phone" "expired: nobody decided in time"
                   "withdrawn: the call was cancelled"
                   "withdrawn, the call failed: What this call would do could not be shown, so that nobody could approve it: the disk failed. Nothing ran.")))
  (should (equal (countersign-resolution-words '((status . "approved") (device . "a\e[2Jb")) nil)
                 "You approved this on a⟨U+001B⟩[2Jb"))
  (should (equal (countersign-resolution-words '((status . "approved")) t) "You approved this here"))
  (pcase-dolist (`(,device ,place) '(("VS Code" "in VS Code")
                                     ("Emacs on vm" "in Emacs") ("terminal on vm" "in the terminal")
                                     ("Chrome on Linux" "in Chrome") ("phone" "on phone")))
    (should (equal (countersign-resolution-words `((status . "approved") (device . ,device) (scope . "session")) nil)
                   (format "You approved this %s, remembered" place))))
  (should (equal (countersign-resolution-words '((status . "approved") (scope . "mode")) nil)
                 "Allowed by the mode of this conversation")))

(ert-deftest countersign-protocol-reads-edited-parameters ()
  "[AP-6] Edited parameters are one JSON object, or an error that says so."
  (should (equal (countersign-params-read "{\"a\": []}") '((a . []))))
  (should (equal (countersign-params-read "{}") nil))
  (dolist (bad '("[1]" "7" "\"x\"" "{" "null"))
    (should-error (countersign-params-read bad) :type 'user-error))
  (should (equal (countersign-json-pretty '((path . "a\u202eb\nc") (list . [])))
                 "{\n  \"path\": \"a\\u202eb\\nc\",\n  \"list\": []\n}")))

;;; countersign-protocol-test.el ends here
