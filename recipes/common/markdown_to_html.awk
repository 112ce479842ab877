# Turns a report in Markdown into one HTML page: headings, lists, tables, code, and pictures (.svg), which the page includes.
#
#   awk -v folder=DIR -f markdown_to_html.awk REPORT.md        DIR is the folder of the pictures

function escape(text) {
	gsub(/&/, "\\&amp;", text)
	gsub(/</, "\\&lt;", text)
	gsub(/>/, "\\&gt;", text)
	return text
}

# `code` and [text](address)
function inline(text,   out, part) {
	text = escape(text)
	while (match(text, /`[^`]*`/)) {
		part = "<code>" substr(text, RSTART + 1, RLENGTH - 2) "</code>"
		text = substr(text, 1, RSTART - 1) part substr(text, RSTART + RLENGTH)
	}
	while (match(text, /\[[^]]*\]\([^)]*\)/)) {
		part = substr(text, RSTART + 1, RLENGTH - 2)
		out = part
		sub(/\]\(.*/, "", part)
		sub(/.*\]\(/, "", out)
		text = substr(text, 1, RSTART - 1) "<a href=\"" out "\">" part "</a>" substr(text, RSTART + RLENGTH)
	}
	return text
}

function go_to(state) {
	if (state == now)
		return
	if (now != "")
		print "</" now ">"
	if (state != "")
		print "<" state ">"
	now = state
}

function picture(name,   line, inside) {
	while ((getline line <(folder "/" name)) > 0) {
		if (line ~ /<svg/)
			inside = 1
		if (inside)
			print line
	}
	close(folder "/" name)
}

function row(tag,   n, cell, i, line) {
	sub(/^\| */, "")
	sub(/ *\|$/, "")
	n = split($0, cell, / *\| */)
	for (i = 1; i <= n; i++)
		line = line "<" tag ">" inline(cell[i]) "</" tag ">"
	print "<tr>" line "</tr>"
}

BEGIN {
	print "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"
	print "<style>body {font-family: sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em}"
	print "table {border-collapse: collapse} td, th {border: 1px solid #999; padding: 0.2em 0.6em; text-align: right}"
	print "td:first-child, th:first-child {text-align: left} pre {background: #eee; padding: 0.6em; overflow-x: auto}"
	print "svg {max-width: 100%; height: auto}</style>"
}

/^```/ {
	go_to(now == "pre" ? "" : "pre")
	next
}

now == "pre" {
	print escape($0)
	next
}

/^# / {
	print "<title>" escape(substr($0, 3)) "</title>\n</head>\n<body>\n<h1>" inline(substr($0, 3)) "</h1>"
	next
}

/^##+ / {
	go_to("")
	level = index($0, " ") - 1
	print "<h" level ">" inline(substr($0, level + 2)) "</h" level ">"
	next
}

/^\|[-|: ]+\|$/ { next }

/^\|/ {
	first = now != "table"
	go_to("table")
	row(first ? "th" : "td")
	next
}

/^- / {
	go_to("ul")
	print "<li>" inline(substr($0, 3)) "</li>"
	next
}

/^!\[[^]]*\]\(.*\.svg\)$/ {
	go_to("")
	sub(/.*\(/, "")
	sub(/\)$/, "")
	picture($0)
	next
}

/^$/ {
	go_to("")
	next
}

{
	go_to("p")
	print inline($0)
}

END {
	go_to("")
	print "</body>\n</html>"
}
