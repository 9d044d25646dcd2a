;;; countersign-markdown.el --- Draw the Markdown of a message  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Countersign authors

;; Author: The Countersign authors
;; URL: https://github.com/countersign/countersign
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Fontifies the Markdown of a message: headings, emphasis, lists, quotes,
;; code in the faces of its language, and tables with aligned columns.  The
;; text stays text: no link can be followed and nothing is loaded.  Only the
;; signs of emphasis around a word are hidden, and copying keeps them.

;;; Code:

(require 'cl-lib)
(require 'countersign-fontify)

(defface countersign-markdown-heading '((t :inherit (bold font-lock-function-name-face)))
  "A heading in a message."
  :group 'countersign-faces)
(defface countersign-markdown-code '((t :inherit font-lock-constant-face))
  "Code inside a line of a message."
  :group 'countersign-faces)
(defface countersign-markdown-markup '((t :inherit shadow))
  "Signs of Markdown that are shown."
  :group 'countersign-faces)

(defun countersign-markdown (text)
  "Return TEXT, Markdown whose hidden characters are visible, with faces."
  (let ((lines (split-string (substring-no-properties text) "\n"))
        (drawn '()))
    (while lines
      (pcase-let ((`(,block . ,rest) (countersign-markdown--block lines)))
        (push block drawn)
        (setq lines rest)))
    (string-join (nreverse drawn) "\n")))

(defun countersign-markdown--block (lines)
  "Draw the first block of LINES; return (TEXT . LINES-AFTER-IT)."
  (let ((line (car lines)))
    (cond
     ((string-match "\\`[ \t]*\\(```+\\|~~~+\\)[ \t]*\\([^ \t`]*\\)[^`]*\\'" line)
      (countersign-markdown--code (match-string 1 line) (match-string 2 line) lines))
     ((and (countersign-markdown--row-p line) (cdr lines) (countersign-markdown--rule-p (cadr lines))
           (= (length (countersign-markdown--cells line)) (length (countersign-markdown--cells (cadr lines)))))
      (countersign-markdown--table lines))
     (t (cons (countersign-markdown--line line) (cdr lines))))))

(defun countersign-markdown--markup (text)
  "Return TEXT in the face of signs that are shown."
  (propertize text 'face 'countersign-markdown-markup))

;;;; Lines

(defun countersign-markdown--line (line)
  "Return LINE, which is not part of code or of a table, with faces."
  (cond
   ((string-match "\\`\\(#\\{1,6\\}[ \t]+\\)\\(.*\\)\\'" line)
    (let ((sign (match-string 1 line))
          (title (countersign-markdown--inline (match-string 2 line))))
      (add-face-text-property 0 (length title) 'countersign-markdown-heading t title)
      (concat (countersign-markdown--markup sign) title)))
   ((string-match "\\`[ \t]*\\(?:\\(?:-[ \t]*\\)\\{3,\\}\\|\\(?:\\*[ \t]*\\)\\{3,\\}\\|\\(?:_[ \t]*\\)\\{3,\\}\\)\\'" line)
    (countersign-markdown--markup line))
   ((string-match "\\`\\([ \t]*\\(?:>[ \t]?\\)+\\)\\(.*\\)\\'" line)
    (let ((sign (match-string 1 line))
          (quoted (countersign-markdown--inline (match-string 2 line))))
      (add-face-text-property 0 (length quoted) 'italic t quoted)
      (concat (countersign-markdown--markup sign) quoted)))
   ((string-match "\\`\\([ \t]*\\(?:[-*+]\\|[0-9]+[.)]\\)[ \t]+\\)\\(.*\\)\\'" line)
    (let ((sign (match-string 1 line)) (rest (match-string 2 line)))
      (concat (countersign-markdown--markup sign) (countersign-markdown--inline rest))))
   (t (countersign-markdown--inline line))))

(defconst countersign-markdown--signs
  (concat "\\(`+\\)\\([^`]\\(?:.*?[^`]\\)?\\)\\(\\1\\)"                  ; 1 2 3: code
          "\\|\\(\\*\\*\\*?\\|__\\)\\([^ \t*_]\\(?:.*?[^ \t]\\)?\\)\\(\\4\\)" ; 4 5 6: bold
          "\\|\\(\\*\\|_\\)\\([^ \t*_]\\(?:.*?[^ \t]\\)?\\)\\(\\7\\)"     ; 7 8 9: italic
          "\\|\\(~~\\)\\([^ \t~]\\(?:.*?[^ \t]\\)?\\)\\(~~\\)"            ; 10 11 12: struck out
          "\\|\\(\\[\\)\\([^]\n]+\\)\\(\\]([^)\n]*)\\)"                   ; 13 14 15: a link
          "\\|\\(\\\\\\)\\([[:punct:]]\\)\\(\\)"                          ; 16 17 18: a sign as text
          "\\|\\(\\(?:https?\\|ftp\\)://[^ \t)]+\\)\\(\\)\\(\\)")         ; 19 20 21: an address
  "Emphasis, code, links and signs in a line, each as sign, content, sign.")

(defconst countersign-markdown--line-max 4000
  "A longer line stays plain: looking for its signs would take too long.")

(defun countersign-markdown--inline (text)
  "Return TEXT with faces for emphasis, code and links."
  (let ((start 0) (pieces '()))
    (while (and (<= (length text) countersign-markdown--line-max)
                (string-match countersign-markdown--signs text start))
      (let* ((from (match-beginning 0)) (to (match-end 0))
             (kind (cl-find-if (lambda (group) (match-beginning group)) '(1 4 7 10 13 16 19)))
             (open (match-string kind text))
             (content (match-string (+ kind 1) text))
             (close (match-string (+ kind 2) text)))
        (push (substring text start from) pieces)
        (if (countersign-markdown--fits-p close text from to)
            (push (countersign-markdown--emphasis kind open content close) pieces)
          ;; Only the sign is text: what follows it may be emphasis.
          (setq to (+ from (length open)))
          (push open pieces))
        (setq start to)))
    (push (substring text start) pieces)
    (string-join (nreverse pieces))))

(defun countersign-markdown--fits-p (close text from to)
  "Return non-nil if the sign CLOSE ends emphasis in TEXT between FROM and TO.
An underscore inside a word, such as in a name, is no emphasis, and code ends
with as many signs as it began with."
  (let ((no-neighbour (pcase (and (not (string-empty-p close)) (aref close 0))
                        (?_ "[[:alnum:]_]")
                        (?` "`"))))
    (not (and no-neighbour
              (or (and (> from 0) (string-match-p no-neighbour (substring text (1- from) from)))
                  (and (< to (length text)) (string-match-p no-neighbour (substring text to (1+ to)))))))))

(defun countersign-markdown--emphasis (kind open content close)
  "Return CONTENT between OPEN and CLOSE in the face for KIND.
KIND is a group of the expression `countersign-markdown--signs'."
  (let ((shown (if (memq kind '(1 13 16)) content (countersign-markdown--inline content))))
    (pcase kind
      (19 open)
      (16 (concat (propertize open 'invisible 'countersign-markup) shown))
      (_ (add-face-text-property 0 (length shown)
                                 (pcase kind
                                   (1 'countersign-markdown-code)
                                   (4 (if (equal open "***") '(bold italic) 'bold))
                                   (7 'italic)
                                   (10 '(:strike-through t))
                                   (_ 'underline))
                                 t shown)
         ;; The address of a link stays in sight.
         (if (= kind 13) (concat (countersign-markdown--markup open) shown (countersign-markdown--markup close))
           (concat (propertize open 'invisible 'countersign-markup) shown
                   (propertize close 'invisible 'countersign-markup)))))))

;;;; Code

(defun countersign-markdown--code (fence language lines)
  "Draw the code of LANGUAGE at the beginning of LINES, up to FENCE.
Return (TEXT . LINES-AFTER-IT).  Code without an end goes up to the last line."
  (let* ((ends (lambda (line) (and (string-prefix-p fence (string-trim line))
                                   (string-match-p "\\`[`~]+\\'" (string-trim line)))))
         (end (cl-position-if ends lines :start 1))
         (code (cl-subseq lines 1 end)))
    (cons (string-join
           (append (list (countersign-markdown--markup (car lines)))
                   (and code (list (countersign-fontify (string-join code "\n") (countersign-fontify-mode language))))
                   (and end (list (countersign-markdown--markup (nth end lines)))))
           "\n")
          (and end (nthcdr (1+ end) lines)))))

;;;; Tables

(defun countersign-markdown--row-p (line)
  "Return non-nil if LINE may be a row of a table; the outer bars may be missing."
  (string-search "|" line))

(defun countersign-markdown--rule-p (line)
  "Return non-nil if LINE is the rule below the head of a table."
  (and (string-search "|" line)
       (string-match-p "\\`[ \t]*|?[ \t]*:?-+:?[ \t]*\\(?:|[ \t]*:?-+:?[ \t]*\\)*|?[ \t]*\\'" line)))

(defun countersign-markdown--cells (line)
  "Return the cells of LINE, a row of a table."
  (let ((inner (string-trim line "[ \t]*|" "|[ \t]*"))
        (start 0) (cells '()) (position 0))
    ;; A vertical bar after a backslash or inside code belongs to its cell.
    (while (string-match "\\\\|\\|`[^`\n]*`\\||" inner position)
      (setq position (match-end 0))
      (when (equal (match-string 0 inner) "|")
        (push (string-trim (substring inner start (match-beginning 0))) cells)
        (setq start position)))
    (nreverse (cons (string-trim (substring inner start)) cells))))

(defun countersign-markdown--width (cell)
  "Return the width of CELL as it is displayed."
  (let ((width 0) (position 0))
    (while (< position (length cell))
      (let ((next (next-single-property-change position 'invisible cell (length cell))))
        (unless (get-text-property position 'invisible cell)
          (cl-incf width (string-width (substring cell position next))))
        (setq position next)))
    width))

(defun countersign-markdown--table (lines)
  "Draw the table at the beginning of LINES; return (TEXT . LINES-AFTER-IT)."
  (let* ((count (or (cl-position-if-not #'countersign-markdown--row-p lines) (length lines)))
         (alignments (mapcar (lambda (cell) (list (string-prefix-p ":" cell) (string-suffix-p ":" cell)))
                             (countersign-markdown--cells (nth 1 lines))))
         (rows (mapcar (lambda (line) (mapcar #'countersign-markdown--inline (countersign-markdown--cells line)))
                       (cons (car lines) (cl-subseq lines 2 count))))
         (widths (cl-loop for column from 0 below (apply #'max (mapcar #'length rows))
                          collect (apply #'max 3 (mapcar (lambda (row) (countersign-markdown--width (or (nth column row) "")))
                                                         rows))))
         (bar (countersign-markdown--markup "│")))
    (dolist (cell (car rows)) (add-face-text-property 0 (length cell) 'bold t cell))
    (cl-flet ((row (cells)
                (concat bar
                        (cl-loop for width in widths
                                 for column from 0
                                 for (left right) = (nth column alignments)
                                 for cell = (or (nth column cells) "")
                                 for space = (- width (countersign-markdown--width cell))
                                 for before = (cond ((and left right) (/ space 2)) (right space) (t 0))
                                 concat (concat " " (make-string before ?\s) cell
                                                (make-string (- space before) ?\s) " " bar)))))
      (cons (string-join
             (append (list (row (car rows))
                           (countersign-markdown--markup
                            (concat "├" (mapconcat (lambda (width) (make-string (+ width 2) ?─)) widths "┼") "┤")))
                     (mapcar #'row (cdr rows)))
             "\n")
            (nthcdr count lines)))))

(provide 'countersign-markdown)

;;; countersign-markdown.el ends here
