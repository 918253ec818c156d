/// Returns the end of an error about an unknown name: `; did you mean "NAME"?` with the most similar candidate, or an
/// empty text if none is similar.
public func suggestion(for name: String, among candidates: some Sequence<String>) -> String {
    suggestion(nearestName(to: name, among: candidates))
}

/// Returns `; did you mean "NAME"?`, or an empty text for nil.
public func suggestion(_ nearest: String?) -> String { nearest.map { "; did you mean \"\($0)\"?" } ?? "" }

/// Returns the candidate that is most similar to a misspelled name, within edits of a third of the name's length, whatever the case of
/// letters; nil if none is.
/// A candidate with other numbers than the name has means something else, however similar it is: `int5` is no `int4`.
public func nearestName(to name: String, among candidates: some Sequence<String>) -> String? {
    guard name.utf8.count <= longestMisspelling else { return nil }
    func numbers(_ name: String) -> [Substring] { name.split { !$0.isNumber } }
    let (limit, wanted) = (max(1, name.count / 3), numbers(name))
    let near = candidates.filter { wanted.isEmpty || numbers($0) == wanted }.map {
        (editDistance(name.lowercased(), $0.lowercased()), $0)
    }
    return near.filter { $0.0 <= limit }.min { $0 < $1 }?.1
}

/// Returns ` (known: A, B, ...)`, the names that are most similar to `name` first; empty if there are none. Names that
/// begin with `$` are left out, as they are for other tools.
func knownNames(nearest name: String, _ known: Set<String>, most: Int = 16) -> String {
    let names = known.filter { !$0.hasPrefix("$") }
    guard !names.isEmpty, name.utf8.count <= longestMisspelling else { return "" }
    let sorted = names.map { (editDistance(name, $0), $0) }.sorted { $0 < $1 }.map(\.1)
    return " (known: \(Wording.listed(sorted, most: most)))"
}

/// Longer names, which may come from a file, are not compared, because that would take long.
private let longestMisspelling = 256

/// Returns how many characters are added, left out, replaced, or exchanged with the next one.
func editDistance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left), Array(right))
    var (beforeLast, last) = ([Int](), Array(0...right.count))
    for i in left.indices {
        var row = [i + 1]
        for j in right.indices {
            var distance = min(last[j] + (left[i] == right[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
            if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                distance = min(distance, beforeLast[j - 1] + 1)
            }
            row.append(distance)
        }
        (beforeLast, last) = (last, row)
    }
    return last[right.count]
}
