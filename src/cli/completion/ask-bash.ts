/** The part of the bash script that requests values from the program and offers them with correct quoting. */
export const askInBash = `# Sets plain to what the shell makes of $1, and quote to the quotation mark that is open at its end.
_cloud_unquote() {
  local at letter
  plain='' quote=''
  for ((at = 0; at < \${#1}; at++)); do
    letter=\${1:at:1}
    if [[ -n $quote && $letter == "$quote" ]]; then
      quote=''
    elif [[ -z $quote && $letter == [\\'\\"] ]]; then
      quote=$letter
    elif [[ $quote != \\' && $letter == \\\\ ]]; then
      ((at += 1))
      [[ $quote != \\" || \${1:at:1} == [\\\\\\$\\\`\\"] ]] || plain+=\\\\
      plain+=\${1:at:1}
    else
      plain+=$letter
    fi
  done
}

# Sets quoted to text $1 as it must stand where quotation mark $quote is open, or none is.
_cloud_quote() {
  local at letter
  quoted=''
  for ((at = 0; at < \${#1}; at++)); do
    letter=\${1:at:1}
    case $quote$letter in
      \\'\\') quoted+="'\\\\''" ;;
      # At the end of a quotation it is no expansion of the history.
      \\"!) if ((at + 1 < \${#1})); then quoted+='"\\!"'; else quoted+=!; fi ;;
      \\"[\\\\\\$\\\`\\"]) quoted+=\\\\$letter ;;
      [\\'\\"]?) quoted+=$letter ;;
      [[:alnum:]_./:=@%+,-]) quoted+=$letter ;;
      # Only the tilde of ~~/ stays: any other at the beginning would be a home folder.
      \\~) ((at == 0)) && [[ -z $head && $1 != \\~\\~* ]] && quoted+=\\\\
        quoted+=$letter ;;
      *) quoted+=\\\\$letter ;;
    esac
  done
}

# Offers what the program knows of source $1: it is asked for what begins as typed.
_cloud_ask() {
  local i value plain quote quoted head='' missing=\${prefix#"$kept"} before=()
  for ((i = 1; i < last; i++)); do
    _cloud_unquote "\${words[i]}"
    before+=("$plain")
  done
  _cloud_unquote "\${typed#"$prefix"}"
  local wanted=$plain
  # What readline keeps of the word is not offered again.
  ((\${#kept} < \${#prefix})) || missing='' head=\${kept#"$prefix"}
  _cloud_unquote "$head"
  head=$plain
  while IFS= read -r value; do
    value=\${value%%$'\\t'*}
    _cloud_quote "\${value#"$head"}"
    COMPREPLY+=("$missing$quoted")
  done < <(command cloud __complete "$1" "$wanted" \${before[@]+"\${before[@]}"} 2>/dev/null </dev/null)
  if ((\${#COMPREPLY[@]} != 1)); then
    # Of paths only the last part is listed.
    [[ $1 != path ]] || compopt -o filenames -o noquote 2>/dev/null
  elif [[ \${COMPREPLY[0]} == */ ]]; then
    compopt -o nospace 2>/dev/null
  elif [[ -n $quote && \${COMPREPLY[0]} == *"$quote" ]]; then
    # readline would take the mark that ends the name for the one that closes the quotation.
    COMPREPLY[0]+=$quote
  fi
}

# Files, and paths of the object storage where they are meant or no file begins as typed.
_cloud_ask_beside_files() {
  local plain quote
  _cloud_unquote "$typed"
  if [[ $plain == stor:* || $plain == [!/]*/stor:* || $plain == \\~\\~* ]]; then
    _cloud_ask path
  elif ((count > 0)) && [[ -n $plain && -z $(compgen -f -- "$plain") ]]; then
    _cloud_ask path
  else
    compopt -o default 2>/dev/null
  fi
}
`;
