# eval "$(gcexp completion bash)" in ~/.bashrc
_gcexp() {
    local typed="${COMP_LINE:0:COMP_POINT}" found word
    local -a words
    read -ra words <<< "$typed"
    [[ $typed == *[[:space:]] ]] && words+=("")
    word="${words[${#words[@]} - 1]}"
    COMPREPLY=()
    while IFS= read -r found; do
        # bash begins a new word behind '=': what stands before it is there already
        [[ $COMP_WORDBREAKS == *=* ]] && found="${found#"${word%"${word##*=}"}"}"
        COMPREPLY+=("$found")
    done < <("${words[0]}" completion words -- "${words[@]:1}" 2> /dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2> /dev/null
    return 0
}
complete -o default -F _gcexp gcexp
