# eval "$(gcexp completion zsh)" in ~/.zshrc, behind compinit
_gcexp() {
    local -a found
    found=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2> /dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        compadd -S '' -- ${(M)found:#*=}
        compadd -- ${found:#*=}
    else
        compset -P '*='  # what stands behind a key may be a file
        _files
    fi
}
compdef _gcexp gcexp
