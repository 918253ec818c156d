/// Names in Core ML's packages, as exports have them and the backend over an export asks for them.
package enum CoreMLNames {
    /// Returns a valid name: other characters than letters and digits become underscores, and one is put before a leading digit.
    package static func identifier(_ text: String) -> String {
        let name = String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        return name.first.map { $0.isNumber } ?? true ? "_\(name)" : name
    }

    /// Returns valid names of functions, in their order: one that an earlier function has gets its index.
    package static func functions(_ names: [String]) -> [String] {
        let plain = names.map { name in identifier(String(name.filter { $0 != "]" })) }
        return plain.enumerated().map { index, name in plain[..<index].contains(name) ? "\(name)_\(index)" : name }
    }
}
