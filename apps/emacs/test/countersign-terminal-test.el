;;; countersign-terminal-test.el --- A real Emacs in a real terminal, with real keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Emacs runs in tmux, keys are sent to it and its screen is read.  Nothing
;; waits for a time that may be too short: every step waits for what the
;; screen shows.  With COUNTERSIGN_SCREENS, screens are kept there, for the
;; pictures of the README (`npm run pictures -- emacs').

;;; Code:

(require 'countersign-live)

(defvar countersign-terminal--socket nil "The name of the socket of tmux.")

(defun countersign-terminal--tmux (&rest arguments)
  "Run tmux with ARGUMENTS and answer what it prints."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8) (coding-system-for-write 'utf-8))
      (apply #'call-process "tmux" nil t nil "-L" countersign-terminal--socket "-f" "/dev/null" arguments))
    (buffer-string)))

(defun countersign-terminal-screen ()
  "Return what is on the screen."
  (countersign-terminal--tmux "capture-pane" "-p" "-t" "0"))

(defun countersign-terminal-keys (&rest keys)
  "Press KEYS, as tmux names them, all at once."
  (apply #'countersign-terminal--tmux "send-keys" "-t" "0" keys))

(defun countersign-terminal-type (text)
  "Type TEXT, letter for letter."
  (countersign-terminal--tmux "send-keys" "-t" "0" "-l" text))

(defun countersign-terminal-shows (wanted)
  "Wait until the screen shows WANTED, a regexp."
  (countersign-test-until (lambda () (format "%S on the screen:\n%s" wanted (countersign-terminal-screen)))
                          (lambda () (string-match-p wanted (countersign-terminal-screen)))))

(defun countersign-terminal-keep (name)
  "Keep the screen under NAME, with its colours, where that is asked for."
  (when-let ((folder (getenv "COUNTERSIGN_SCREENS")))
    (make-directory folder t)
    (let ((coding-system-for-write 'utf-8))
      (write-region (countersign-terminal--tmux "capture-pane" "-e" "-p" "-t" "0") nil
                    (expand-file-name (concat name ".ansi") folder) nil 'quiet))))

(defmacro countersign-terminal-with-emacs (root name &rest body)
  "Run BODY with an Emacs in a terminal that visits a file in ROOT, called NAME."
  (declare (indent 2) (debug t))
  `(progn
     (countersign-live-start)
     (let* ((countersign-terminal--socket (format "countersign-%d" (emacs-pid)))
            (,root (countersign-live-workspace ,name))
            (init (expand-file-name "init.el" countersign-live--folder)))
       (write-region "Notes of mine\n" nil (expand-file-name "notes.txt" ,root) nil 'quiet)
       (with-temp-file init
         (dolist (form `((setq inhibit-startup-screen t auth-sources ',auth-sources
                               countersign-server ,(countersign-live-address)
                               countersign-program ',(countersign-live-program)
                               countersign-model "manual" make-backup-files nil)
                         (menu-bar-mode -1)
                         (add-to-list 'load-path ,(expand-file-name "apps/emacs" countersign-test-root))
                         (require 'countersign)
                         (find-file ,(expand-file-name "notes.txt" ,root))))
           (prin1 form (current-buffer))))
       (unwind-protect
           (progn
             (countersign-terminal--tmux "new-session" "-d" "-x" "100" "-y" "40"
                                         (format "TERM=screen-256color LANG=C.UTF-8 exec %s -nw -Q -l %s"
                                                 (shell-quote-argument
                                                  (expand-file-name invocation-name invocation-directory))
                                                 (shell-quote-argument init)))
             (countersign-terminal--tmux "set-option" "-g" "escape-time" "0")
             (countersign-terminal-shows "Notes of mine")
             ,@body)
         (countersign-terminal-keys "C-g")
         (countersign-test-pass 0.3)     ; C-g takes with it what was typed behind it
         (countersign-terminal-keys "C-x" "C-c")
         (ignore-errors (countersign-test-until "Emacs has ended"
                                                (lambda () (string-match-p "no server\\|error connecting"
                                                                           (countersign-terminal--tmux "ls")))))
         (countersign-terminal--tmux "kill-server")))))

(ert-deftest countersign-terminal-a-person-decides-with-keys ()
  "[UI-3] [UI-6] A whole story in a terminal, with the keys that a person presses."
  (countersign-terminal-with-emacs root "shop"
    (let ((config (lambda () (countersign-live-read root "config.json"))))
      (countersign-terminal-keys "M-x")
      (countersign-terminal-type "countersign")
      (countersign-terminal-keys "Enter")
      (countersign-terminal-shows "shop .* connected *$")

      ;; A card comes while the person is typing: the keys go on into what is typed.
      (countersign-terminal-type "/edit_file path=config.json old=3000 new=8080")
      (countersign-terminal-keys "Enter")
      (countersign-terminal-type "yyy and so on")
      (countersign-terminal-shows "> yyy and so on")
      (countersign-terminal-shows "\\+{\"port\": 8080}")
      (countersign-terminal-shows "CS: 1 to decide")
      (countersign-terminal-shows "C-c C-a: y n a e \\?")
      (should (equal (funcall config) "{\"port\": 3000}\n"))
      (countersign-terminal-keep "chat-with-card")

      ;; It was in sight for long enough: y counts at once.
      (countersign-terminal-keys "C-c" "C-a")
      (countersign-terminal-shows "·  y n a e \\?")
      (countersign-terminal-keep "card")
      (countersign-terminal-keys "y")
      (countersign-terminal-shows "Edited config.json")
      (countersign-test-wait (equal (funcall config) "{\"port\": 8080}\n"))
      (countersign-terminal-shows "> yyy and so on")

      ;; HIGH: the preview, then a typed yes; a mere y is not enough.
      (countersign-terminal-keys "C-c" "C-a")
      (countersign-terminal-shows "Nothing waits for you")
      (countersign-terminal-keys "M->" "C-a" "C-k")
      (countersign-terminal-type "/delete_file path=config.json")
      (countersign-terminal-keys "Enter")
      (countersign-terminal-shows "Deletes config.json")
      (countersign-terminal-keys "C-c" "C-a")
      (countersign-terminal-shows "y n a e \\?")
      (countersign-terminal-keys "y")
      (countersign-terminal-shows "HIGH risk: .*Type yes:")
      (countersign-terminal-keep "high")
      (countersign-terminal-keys "y" "Enter")
      (countersign-terminal-shows "Nothing was sent")
      (should (file-exists-p (expand-file-name "config.json" root)))
      (countersign-terminal-shows "y n a e \\?")
      (countersign-terminal-keys "y")
      (countersign-terminal-shows "Type yes: *$")
      (countersign-terminal-type "yes")
      (countersign-terminal-keys "Enter")
      (countersign-terminal-shows "Deleted config.json")
      (should-not (file-exists-p (expand-file-name "config.json" root)))

      ;; Reject with a message.
      (countersign-terminal-type "/write_file path=a.md content=hello")
      (countersign-terminal-keys "Enter")
      (countersign-terminal-shows "Write a.md  waits for you")
      (countersign-terminal-shows "\\+hello")
      (countersign-terminal-keys "C-c" "C-a")
      (countersign-terminal-shows "y n a e \\?")
      (countersign-terminal-keys "n")
      (countersign-terminal-shows "Tell the agent why")
      (countersign-terminal-type "Use b.md")
      (countersign-terminal-keys "Enter")
      (countersign-terminal-shows "Write a.md  rejected  You rejected this here: Use b.md")
      (should-not (file-exists-p (expand-file-name "a.md" root)))

      ;; Several wait: a list.
      (countersign-terminal-type "/write_file path=c.md content=1")
      (countersign-terminal-keys "C-j")
      (countersign-terminal-type "/write_file path=d.sh content=2")
      (countersign-terminal-keys "Enter")
      (countersign-terminal-shows "CS: 2 to decide")
      (countersign-terminal-keys "C-c" "C-l")
      (countersign-terminal-shows "HIGH +[0-9]+:[0-9]+ left +shop +Agent wants to create d.sh")
      (countersign-terminal-keep "list")

      ;; Type-ahead is discarded: only the card that was in sight is decided.
      (countersign-terminal-keys "C-x" "o" "C-c" "C-a")
      (countersign-terminal-shows "wants to create c.md")
      (countersign-terminal-shows "·  y n a e \\?")
      (countersign-terminal-keys "y" "y" "y")
      (countersign-test-wait (file-exists-p (expand-file-name "c.md" root)))
      ;; The next one is current, and waits.
      (countersign-terminal-shows "wants to create d.sh")
      (countersign-terminal-shows "·  y n a e \\?")
      (should-not (string-search "Type yes" (countersign-terminal-screen)))
      (should-not (file-exists-p (expand-file-name "d.sh" root)))
      (countersign-terminal-keys "n")
      (countersign-terminal-shows "Tell the agent why")
      (countersign-terminal-keys "Enter")
      (countersign-terminal-shows "Write d.sh  rejected")

      ;; The window of the cards is gone, and the menu opens and closes.
      (countersign-terminal-keys "C-c" "C-m")
      (countersign-terminal-shows "open, reconnect")
      (countersign-terminal-keep "menu")
      (countersign-terminal-keys "C-g"))))

(ert-deftest countersign-terminal-a-person-approves-one-hunk ()
  "[AP-6] d, n, y and C-c C-c in a terminal: only that hunk reaches the file."
  (countersign-terminal-with-emacs root "hunks"
    (write-region (mapconcat (lambda (n) (format "line %d\n" n)) (number-sequence 1 40) "") nil
                  (expand-file-name "a.txt" root) nil 'quiet)
    (countersign-terminal-keys "M-x")
    (countersign-terminal-type "countersign")
    (countersign-terminal-keys "Enter")
    (countersign-terminal-shows "hunks .* connected *$")
    (countersign-terminal-type "/edit_file {\"path\": \"a.txt\", \"old\": \"0\\n\", \"new\": \"0!\\n\", \"replace_all\": true}")
    (countersign-terminal-keys "Enter")
    (countersign-terminal-shows "C-c C-a: y n a e \\?")
    (countersign-terminal-keys "C-c" "C-a" "d")
    (countersign-terminal-shows "0 of [0-9]+ hunks chosen")
    (countersign-terminal-keys "n" "y")
    (countersign-terminal-shows "1 of [0-9]+ hunks chosen")
    (countersign-terminal-keep "hunks")
    (countersign-terminal-keys "C-c" "C-c")
    (countersign-terminal-shows "Edited a.txt  \\+1 −1 .*You approved this here")
    (should (string-search "line 20!\n" (countersign-live-read root "a.txt")))
    (should-not (string-search "line 10!\n" (countersign-live-read root "a.txt")))))

(ert-deftest countersign-terminal-text-of-others-is-text ()
  "[UI-6] Escape sequences and bidirectional marks of a tool do nothing to the terminal."
  (countersign-terminal-with-emacs root "hostile"
    (countersign-terminal-keys "M-x")
    (countersign-terminal-type "countersign")
    (countersign-terminal-keys "Enter")
    (countersign-terminal-shows "hostile .* connected *$")
    (countersign-terminal-type "/write_file {\"path\": \"x.md\", \"content\": \"a\\u001b[2J\\u001b]0;owned\\u0007\\u202eb\"}")
    (countersign-terminal-keys "Enter")
    (countersign-terminal-shows "^\\+a⟨U\\+001B⟩\\[2J⟨U\\+001B⟩\\]0;owned⟨U\\+0007⟩⟨U\\+202E⟩b")
    ;; The parameters are below what fits into the window; it says so, and SPC shows them.
    (countersign-terminal-shows "y n a e \\? +· +↓ more below (SPC)")
    (countersign-terminal-keys "C-c" "C-a" "Space")
    (countersign-terminal-shows "content = a⟨U\\+001B⟩\\[2J⟨U\\+001B⟩\\]0;owned⟨U\\+0007⟩⟨U\\+202E⟩b")
    (should-not (string-search "owned" (countersign-terminal--tmux "display-message" "-p" "#{pane_title}")))))

(defun countersign-terminal--runners (root)
  "Return the ids of processes that run for ROOT."
  (cl-remove-if-not
   (lambda (id)
     (let ((line (or (cdr (assq 'args (process-attributes id))) "")))
       (and (string-search "--end-with-input" line) (string-search root line))))
   (list-system-processes)))

(ert-deftest countersign-terminal-a-runner-does-not-outlive-an-emacs-that-was-killed ()
  "[UI-3] kill -9 of Emacs: its runner ends by itself."
  (countersign-terminal-with-emacs root "killed"
    (countersign-terminal-keys "M-x")
    (countersign-terminal-type "countersign")
    (countersign-terminal-keys "Enter")
    (countersign-terminal-shows "killed .* connected *$")
    (should (countersign-terminal--runners root))
    (signal-process (string-to-number (countersign-terminal--tmux "display-message" "-p" "#{pane_pid}"))
                    'SIGKILL)
    (countersign-test-wait (null (countersign-terminal--runners root)))))

(provide 'countersign-terminal-test)

;;; countersign-terminal-test.el ends here
