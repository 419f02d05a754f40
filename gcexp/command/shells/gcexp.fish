# gcexp completion fish > ~/.config/fish/completions/gcexp.fish
function __gcexp_found
    set -l words (commandline -opc)
    set -g __gcexp_words ($words[1] completion words -- $words[2..-1] (commandline -ct) 2> /dev/null)
    test -n "$__gcexp_words[1]"
end
complete -c gcexp -f -n __gcexp_found -a '$__gcexp_words'
