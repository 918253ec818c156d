/// Returns a word as a shell takes it: in quotes if it has other characters than those of plain names.
package func shellWord(_ word: String) -> String {
    let isPlain = word.unicodeScalars.allSatisfy { scalar in
        scalar.properties.isAlphabetic || ("0"..."9").contains(Character(scalar))
            || "/._-+=:,@%".unicodeScalars.contains(scalar)
    }
    guard !isPlain || word.isEmpty else { return word }
    let parts = word.split(separator: "'", omittingEmptySubsequences: false)
    return "'" + parts.joined(separator: "'\\''") + "'"
}
