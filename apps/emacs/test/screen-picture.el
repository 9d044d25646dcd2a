;;; screen-picture.el --- Draws a captured screen of a terminal as an SVG  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Makes the pictures of the README from the screens that the terminal tests
;; keep (COUNTERSIGN_SCREENS):
;;
;;   emacs -Q --batch -l screen-picture.el -f screen-picture-batch IN.ansi OUT.svg
;;
;; tooling/terminal-picture.ts draws what a command prints; a screen of Emacs
;; has backgrounds and inverse video too.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defconst screen-picture--colors
  ["#1b1f2a" "#f07178" "#a6d189" "#e5c07b" "#82aaff" "#c792ea" "#7fd1d8" "#d5d9e2"
   "#5c6370" "#ff8b92" "#c3e88d" "#ffd580" "#9cc4ff" "#ddb6f2" "#a3e4e9" "#ffffff"]
  "The sixteen colours of a terminal.")

(defun screen-picture--color (number)
  "Answer colour NUMBER of 256."
  (cond
   ((< number 16) (aref screen-picture--colors number))
   ((< number 232)
    (let* ((n (- number 16)) (level (lambda (x) (if (= x 0) 0 (+ 55 (* 40 x))))))
      (format "#%02x%02x%02x" (funcall level (/ n 36)) (funcall level (mod (/ n 6) 6))
              (funcall level (mod n 6)))))
   (t (let ((grey (+ 8 (* 10 (- number 232))))) (format "#%02x%02x%02x" grey grey grey)))))

(defun screen-picture--apply (style codes)
  "Answer STYLE, a plist, after CODES, a list of numbers."
  (setq style (copy-sequence style))    ; runs before this one keep theirs
  (while codes
    (let ((code (pop codes)))
      (cond
       ((= code 0) (setq style nil))
       ((= code 1) (setq style (plist-put style :bold t)))
       ((= code 2) (setq style (plist-put style :dim t)))
       ((= code 4) (setq style (plist-put style :underline t)))
       ((= code 7) (setq style (plist-put style :inverse t)))
       ((= code 22) (setq style (plist-put (plist-put style :bold nil) :dim nil)))
       ((= code 24) (setq style (plist-put style :underline nil)))
       ((= code 27) (setq style (plist-put style :inverse nil)))
       ((<= 30 code 37) (setq style (plist-put style :fg (- code 30))))
       ((<= 90 code 97) (setq style (plist-put style :fg (- code 82))))
       ((= code 39) (setq style (plist-put style :fg nil)))
       ((<= 40 code 47) (setq style (plist-put style :bg (- code 40))))
       ((<= 100 code 107) (setq style (plist-put style :bg (- code 92))))
       ((= code 49) (setq style (plist-put style :bg nil)))
       ((and (memq code '(38 48)) (equal (car codes) 5))
        (setq style (plist-put style (if (= code 38) :fg :bg) (cadr codes))
              codes (cddr codes))))))
  style)

(defun screen-picture--runs (line style)
  "Answer (RUNS . STYLE): the (TEXT COLUMN STYLE) of LINE, which begins with STYLE."
  (let ((runs '()) (column 0) (start 0))
    (cl-flet ((add (text)
                (unless (string-empty-p text)
                  (push (list text column style) runs)
                  (cl-incf column (string-width text)))))
      (while (string-match "\e\\(?:\\[\\([0-9;]*\\)m\\|[(][B0]\\)" line start)
        (let ((end (match-end 0)) (begin (match-beginning 0)) (codes (match-string 1 line)))
          (add (substring line start begin))
          (when codes
            (setq style (screen-picture--apply
                         style (mapcar #'string-to-number (split-string (if (string-empty-p codes) "0" codes) ";")))))
          (setq start end)))
      (add (substring line start)))
    (cons (nreverse runs) style)))

(defun screen-picture--escape (text)
  "Answer TEXT for markup."
  (replace-regexp-in-string
   "[&<>]" (lambda (found) (pcase found ("&" "&amp;") ("<" "&lt;") (_ "&gt;"))) text t t))

(defun screen-picture-draw (screen title)
  "Answer the SVG of SCREEN, text with escape sequences, called TITLE."
  (let* ((lines (split-string (string-trim-right screen "\n+") "\n"))
         (columns 100) (cell 8.43) (height 19) (style nil) (row 0)
         (width (ceiling (+ 32 (* columns cell))))
         (boxes '()) (texts '()))
    (dolist (line lines)
      (pcase-let ((`(,runs . ,after) (screen-picture--runs line style))
                  (y (+ 16 (* row height))))
        (setq style after)
        (pcase-dolist (`(,text ,column ,look) runs)
          (let* ((inverse (plist-get look :inverse))
                 (fg (if (plist-get look :fg) (screen-picture--color (plist-get look :fg)) "#d5d9e2"))
                 (bg (and (plist-get look :bg) (screen-picture--color (plist-get look :bg))))
                 (x (+ 16 (* column cell))))
            (when inverse (cl-rotatef fg bg) (setq fg (or fg "#1b1f2a")))
            (when bg
              (push (format "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>"
                            x y (* cell (string-width text)) height bg)
                    boxes))
            (unless (string-blank-p text)
              (push (format "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\" fill=\"%s\"%s%s>%s</text>"
                            x (+ y 14) (* cell (string-width text)) fg
                            (if (plist-get look :bold) " font-weight=\"bold\"" "")
                            (if (plist-get look :dim) " opacity=\"0.6\"" "")
                            (screen-picture--escape text))
                    texts)))))
      (cl-incf row))
    (concat
     (format "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\" xml:space=\"preserve\">\n<style>text { white-space: pre }</style>\n<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" rx=\"10\" fill=\"#1b1f2a\"/>\n"
             width (+ 32 (* height (length lines))) (screen-picture--escape title))
     (string-join (nreverse boxes) "\n") "\n"
     (string-join (nreverse texts) "\n") "\n</svg>\n")))

(defun screen-picture-batch ()
  "Draw the file that is named first into the one that is named second."
  (pcase-let ((`(,in ,out) command-line-args-left)
              (coding-system-for-read 'utf-8) (coding-system-for-write 'utf-8))
    (setq command-line-args-left nil)
    (let ((screen (with-temp-buffer (insert-file-contents in) (buffer-string))))
      (write-region (screen-picture-draw screen (concat "Emacs: " (file-name-base out))) nil out nil 'quiet))))

(provide 'screen-picture)

;;; screen-picture.el ends here
