#!/bin/bash
# Completion of commands and options of linnet in bash, installed as share/bash-completion/completions/linnet. The words
# come from --help, so they are those of the program that is completed. Everything else completes as files.

# The program with its path, the word to complete.
_linnet() {
  local words
  if ((COMP_CWORD == 1)); then
    words=$("$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z0-9-]*\)  *.*/\1/p')' --help --version'
  elif [[ $2 == -* ]]; then
    words=$("$1" "${COMP_WORDS[1]}" --help 2>/dev/null | sed -n 's/^  .\{0,5\}\(--[a-z0-9-]*=\{0,1\}\).*/\1/p')
  fi
  mapfile -t COMPREPLY < <(compgen -W "${words-}" -- "$2")
  [[ ${COMPREPLY[*]-} != *= ]] || compopt -o nospace 2>/dev/null || :
}
complete -o default -F _linnet linnet
