/// Returns a word as a shell takes it: in quotes if it has other characters than those of plain names.
package func shellWord(_ word: String) -> String {
    let isPlain = word.unicodeScalars.allSatisfy { scalar in
        scalar.properties.isAlphabetic || ("0"..."9").contains(Character(scalar))
            || "/._-+=:,@%".unicodeScalars.contains(scalar)
    }
    return isPlain && !word.isEmpty ? word : "'\(word.replacing("'", with: "'\\''"))'"
}
