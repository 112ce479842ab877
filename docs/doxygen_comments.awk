# Turns the plain comments of a public header into those that Doxygen reads; docs/Doxyfile runs it on each header.
#
# - The first comment documents the file, one that begins a line what follows it, one behind a declaration what is
#   before it. Lines "--- section ---" are left out.
# - A comment above several functions documents each of them, up to the next blank line.
# - Lines that are indented within a comment are examples and tables and stay as they are.
#
# A function without a comment, its own or a shared one, is reported to standard error, as Doxygen reports its warnings.
# A ..._default function needs none: it sets the defaults that the comments of the structure's members name.
# Line numbers are preserved, but for a type on a line of its own, which goes to the line of its function.

# Text of a comment as Doxygen needs it: what it would take for a command, a link or HTML is quoted.
function quoted(text) {
  gsub(/\\/, "\\\\", text)
  gsub(/[@<>#]/, "\\\\&", text)
  return text
}

# The text of one comment line, after what begins it and without what ends the comment.
function put_text(start, text, end) {
  example = text ~ /^   +[^ ]/ && start ~ /\*$/ && !behind
  if (example && !verbatim)
    start = start " @verbatim"
  else if (!example && verbatim)
    start = start " @endverbatim"
  verbatim = example
  printf "%s%s", start, example ? text : quoted(text)
  if (end && verbatim)
    printf "@endverbatim "
  if (end)
    verbatim = 0
}

# A line of a comment from `text` on, where `start` was replaced already; leaves what follows the comment in `rest`.
function put_comment(start, text,    end) {
  end = index(text, "*/")
  rest = end ? substr(text, end + 2) : ""
  inside = !end
  put_text(start, end ? substr(text, 1, end - 1) : text, end)
  printf "%s", end ? "*/" : ""
}

function begin_comment(line, at) {
  behind = substr(line, 1, at - 1) ~ /[^ ]/
  start = FNR == 1 ? "/** @file " name : behind ? "/**<" : "/**"
  if (!behind)
    shared = ""
  put_comment(substr(line, 1, at - 1) start, substr(line, at + 2))
}

function put_function(line,    function_name) {
  match(line, /linnet_[a-z0-9_]+\(/)
  function_name = substr(line, RSTART, RLENGTH - 1)
  if (documented)
    shared = function_name
  else if (shared != "")
    line = "/** @copydoc " shared " */ " line
  else if (function_name !~ /_default$/)
    printf "%s:%d: warning: %s has no comment\n", FILENAME, FNR, function_name > "/dev/stderr"
  documented = 0
  print line
}

function put_macro(line) {
  if (documented) {
    shared = $2
    documented = 0
  }
  print line
}

FNR == 1 {
  name = FILENAME
  sub(/.*\//, "", name)
}

inside {
  match($0, $0 ~ /^ *\*\// ? "^ *" : "^ *[*]?")
  put_comment(substr($0, 1, RLENGTH), substr($0, RLENGTH + 1))
  print rest
  next
}

/^\/\* --- / {
  print ""
  next
}

/^ *$/ {
  shared = ""
  documented = 0
  print
  next
}

(at = index($0, "/*")) {
  begin_comment($0, at)
  if (!behind)
    documented = 1
  print rest
  next
}

/^LINNET_API .*linnet_[a-z0-9_]+\(/ {
  put_function($0)
  next
}

# A long type stands on a line of its own.
/^LINNET_API .*\*$/ {
  type = $0
  print ""
  next
}

type != "" {
  put_function(type $0)
  type = ""
  next
}

/^#define / {
  put_macro($0)
  next
}

{
  print
}
