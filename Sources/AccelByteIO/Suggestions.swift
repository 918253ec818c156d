/// Returns the end of an error about an unknown name: `; did you mean "NAME"?` with the most similar candidate, or an
/// empty text if none is similar.
public func suggestion(for name: String, among candidates: some Sequence<String>) -> String {
    suggestion(nearestName(to: name, among: candidates))
}

/// Returns `; did you mean "NAME"?`, or an empty text for nil.
public func suggestion(_ nearest: String?) -> String { nearest.map { "; did you mean \"\($0)\"?" } ?? "" }

/// Returns a suggestion for a misspelled name: the most similar candidate, within edits of a third of the name's
/// length.
public func nearestName(to name: String, among candidates: some Sequence<String>) -> String? {
    guard name.utf8.count <= longestMisspelling else { return nil }
    let limit = max(1, name.count / 3)
    return candidates.map { (editDistance(name, $0), $0) }.filter { $0.0 <= limit }.min { $0 < $1 }?.1
}

/// Returns candidates similar to a name, the most similar first: within edits of a third of its length, or with the
/// same first word of at least three letters.
public func nearestNames(to name: String, among candidates: some Sequence<String>) -> [String] {
    guard name.utf8.count <= longestMisspelling else { return [] }
    func word(_ name: String) -> Substring { name.prefix { $0.isLetter } }
    let limit = max(1, name.count / 3)
    return candidates.map { (distance: editDistance(name, $0), name: $0) }
        .filter { $0.distance <= limit || word(name).count >= 3 && word(name) == word($0.name) }
        .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }.map(\.name)
}

/// Longer names, which may come from a file, are not compared, because that would take long.
private let longestMisspelling = 256

/// Returns the Levenshtein distance in characters.
func editDistance(_ left: String, _ right: String) -> Int {
    let right = Array(right)
    var row = Array(0...right.count)
    for (i, character) in left.enumerated() {
        var diagonal = row[0]
        row[0] = i + 1
        for j in right.indices {
            let substituted = diagonal + (character == right[j] ? 0 : 1)
            diagonal = row[j + 1]
            row[j + 1] = min(substituted, row[j] + 1, diagonal + 1)
        }
    }
    return row[right.count]
}
