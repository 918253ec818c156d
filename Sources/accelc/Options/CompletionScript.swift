/// Completion scripts for shells, made from the option tables.
enum CompletionScript {
    enum Shell: String, CaseIterable {
        case bash, zsh, fish
    }

    static func script(for shell: Shell, commands: [any Command.Type] = Commands.all) -> String {
        switch shell {
        case .bash: bash(commands)
        case .zsh: zsh(commands)
        case .fish: fish(commands)
        }
    }

    private static func spellings(_ option: Option) -> [String] {
        (option.short.map { ["-\($0)"] } ?? []) + ["--\(option.name)"]
    }

    /// Returns the words that the positionals of the command accept.
    private static func positionalWords(_ command: any Command.Type) -> [String] {
        command.positionals.flatMap { positional in
            if case .words(let words) = positional.kind { words } else { [String]() }
        }
    }

    private static func bash(_ all: [any Command.Type]) -> String {
        var commands: [String] = []
        for command in all {
            let words = command.allOptions.flatMap(spellings) + ["--help", "--help-all"] + positionalWords(command)
            var lines = ["        \(command.name))"]
            lines.append("            words=\"\(words.joined(separator: " "))\"")
            lines.append("            case \"$previous\" in")
            for option in command.allOptions {
                let pattern = spellings(option).joined(separator: "|")
                switch option.kind {
                case .flag: continue
                case .words(let values):
                    lines.append("                \(pattern)) words=\"\(values.joined(separator: " "))\" ;;")
                case .location: lines.append("                \(pattern)) words= kind=-d ;;")
                case .input, .output, .text, .integer, .seconds, .decimal:
                    lines.append("                \(pattern)) words= ;;")
                }
            }
            lines.append("            esac ;;")
            commands.append(lines.joined(separator: "\n"))
        }
        return """
            # bash completion for accelc: source <(accelc completions bash)
            _accelc() {
                local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words= kind=-f
                if [ "$COMP_CWORD" -eq 1 ]; then
                    COMPREPLY=($(compgen -W "\(all.map { $0.name }.joined(separator: " ")) --help --version" -- "$current"))
                    return
                fi
                case "${COMP_WORDS[1]}" in
            \(commands.joined(separator: "\n"))
                esac
                COMPREPLY=($(compgen -W "$words" -- "$current"))
                case "$current" in
                    -*) ;;
                    *) COMPREPLY+=($(compgen $kind -- "$current")) ;;
                esac
            }
            complete -o filenames -F _accelc accelc
            """
    }

    private static func zsh(_ all: [any Command.Type]) -> String {
        let names = all.map { "        '\($0.name):\(zshText($0.summary))'" }
        let cases = all.map { command in
            let options = command.allOptions.flatMap { option in
                spellings(option).map { spelling in
                    let star = option.isRepeatable ? "*" : ""
                    let text = "\(star)\(spelling)[\(zshText(option.summary))]"
                    switch option.kind {
                    case .flag: return text
                    case .words(let words): return "\(text):value:(\(words.joined(separator: " ")))"
                    case .location: return "\(text):folder:_files -/"
                    case .input, .output: return "\(text):file:_files"
                    case .text, .integer, .seconds, .decimal: return "\(text):value:"
                    }
                }
            }
            let positionals = positionalWords(command)
            let rest = positionals.isEmpty ? "*:file:_files" : "*:word:(\(positionals.joined(separator: " ")))"
            let arguments = (options + ["--help[explain the command]", "--help-all[list all options]", rest]).map {
                "'\($0)'"
            }
            return "        \(command.name)) _arguments \(arguments.joined(separator: " ")) ;;"
        }
        return """
            #compdef accelc
            # zsh completion for accelc: accelc completions zsh > "${fpath[1]}/_accelc"
            _accelc() {
                local -a commands=(
            \(names.joined(separator: "\n"))
                )
                if (( CURRENT == 2 )); then
                    _describe 'command' commands
                    return
                fi
                local command=$words[2]
                shift words
                (( CURRENT-- ))
                case $command in
            \(cases.joined(separator: "\n"))
                esac
            }
            # Loaded from a folder of functions, this file is the first call.
            if [[ $funcstack[1] == _accelc ]]; then _accelc "$@"; else compdef _accelc accelc; fi
            """
    }

    private static func zshText(_ text: String) -> String {
        text.replacing("'", with: "").replacing("[", with: "(").replacing("]", with: ")").replacing(":", with: " -")
    }

    private static func fish(_ all: [any Command.Type]) -> String {
        var lines = [
            "# fish completion for accelc: accelc completions fish > ~/.config/fish/completions/accelc.fish",
            "complete -c accelc -n __fish_use_subcommand -l version -d 'print the version'",
        ]
        for command in all {
            lines.append(
                "complete -c accelc -n __fish_use_subcommand -f -a \(command.name) -d '\(fishText(command.summary))'")
            let condition = "-n '__fish_seen_subcommand_from \(command.name)'"
            let positionals = positionalWords(command)
            if !positionals.isEmpty {
                lines.append("complete -c accelc \(condition) -f -a '\(positionals.joined(separator: " "))'")
            }
            for option in command.allOptions {
                var line = "complete -c accelc \(condition) -l \(option.name)"
                if let short = option.short { line += " -s \(short)" }
                switch option.kind {
                case .flag: break
                case .words(let words): line += " -x -a '\(words.joined(separator: " "))'"
                case .location: line += " -x -a '(__fish_complete_directories)'"
                case .input, .output: line += " -r -F"
                case .text, .integer, .seconds, .decimal: line += " -x"
                }
                lines.append("\(line) -d '\(fishText(option.summary))'")
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func fishText(_ text: String) -> String { text.replacing("'", with: "") }
}
