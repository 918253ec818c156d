package import AccelByteIO

/// A shell pattern over tensor names: `*` matches any run of characters, `?` one, `[abc]` and `[a-z]` one of these,
/// `[!abc]` one other.
package struct Glob: Sendable {
    private enum Part: Sendable {
        case one(Character)
        case any
        case run
        case set([ClosedRange<Character>], negated: Bool)
    }
    private var parts: [Part] = []

    /// Returns a pattern that matches `text` only.
    static func literal(_ text: String) -> String {
        text.map { "*?[".contains($0) ? "[\($0)]" : "\($0)" }.joined()
    }

    /// Returns nil if a bracket is not closed or a range is reversed.
    package init?(_ pattern: String) {
        var rest = pattern[...]
        while let character = rest.popFirst() {
            switch character {
            case "*": parts.append(.run)
            case "?": parts.append(.any)
            case "[":
                guard let set = Self.set(&rest) else { return nil }
                parts.append(set)
            default: parts.append(.one(character))
            }
        }
    }

    private static func set(_ rest: inout Substring) -> Part? {
        let negated = rest.first == "!"
        if negated { rest.removeFirst() }
        var ranges: [ClosedRange<Character>] = []
        while let first = rest.popFirst() {
            if first == "]", !ranges.isEmpty { return .set(ranges, negated: negated) }
            var last = first
            if rest.first == "-", rest.dropFirst().first.map({ $0 != "]" }) ?? false {
                rest.removeFirst()
                last = rest.removeFirst()
            }
            guard first <= last else { return nil }
            ranges.append(first...last)
        }
        return nil
    }

    /// Returns whether a name matches. Takes time proportional to pattern times name at most: only the last `*` is
    /// retried.
    package func matches(_ name: String) -> Bool {
        let characters = Array(name)
        var (part, index) = (0, 0)
        var retry: (part: Int, index: Int)?
        while index < characters.count {
            if part < parts.count, case .run = parts[part] {
                retry = (part + 1, index)
                part += 1
            } else if part < parts.count, matches(parts[part], characters[index]) {
                part += 1
                index += 1
            } else if let last = retry {
                retry = (last.part, last.index + 1)
                (part, index) = (last.part, last.index + 1)
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { if case .run = $0 { true } else { false } }
    }

    private func matches(_ part: Part, _ character: Character) -> Bool {
        switch part {
        case .one(let wanted): wanted == character
        case .any, .run: true
        case .set(let ranges, let negated): ranges.contains { $0.contains(character) } != negated
        }
    }
}

extension Diagnostic.Code {
    /// A pattern of a request matches none of the names that it may match. The subject is the pattern, the candidate the nearest name.
    package static let unusedPattern: Self = "unused-pattern"
}

// Unused patterns
extension Glob {
    /// Returns the patterns that match none of the names.
    package static func unused(_ patterns: [String], among names: [String]) -> [String] {
        patterns.filter { pattern in
            let glob = Glob(pattern)
            return !names.contains { glob?.matches($0) ?? false }
        }
    }

    /// Returns the diagnostic of a pattern that matches none of the names.
    /// - Parameter things: what the names are of, in the singular, such as `converted weight`.
    package static func unused(_ pattern: String, among names: [String] = [], of things: String) -> Diagnostic {
        let nearest = Glob(pattern)?.nearest(among: names)
        return Diagnostic(
            "\(quoted(pattern)) matches no \(things)\(suggestion(nearest))", code: .unusedPattern, subject: pattern,
            candidates: [nearest].compactMap(\.self))
    }

    /// Returns the name that matches after the fewest edits of the pattern; nil if this takes edits of more than a
    /// third of its characters, or if pattern or name exceed 256 characters.
    package func nearest(among names: some Sequence<String>) -> String? {
        let letters = parts.count { if case .run = $0 { false } else { true } }
        guard letters > 0, parts.count <= Self.longest else { return nil }
        let near = names.compactMap { name in
            name.utf8.count <= Self.longest ? (distance: distance(from: name), name: name) : nil
        }
        return near.filter { $0.distance <= max(1, letters / 3) }.min {
            ($0.distance, $0.name) < ($1.distance, $1.name)
        }?
        .name
    }

    private static let longest = 256

    /// Returns the Levenshtein distance in characters, where a `*` matches any run at no cost.
    private func distance(from name: String) -> Int {
        let name = Array(name)
        var row = Array(0...name.count)
        for part in parts {
            if case .run = part {
                for index in name.indices { row[index + 1] = min(row[index + 1], row[index]) }
                continue
            }
            var diagonal = row[0]
            row[0] += 1
            for index in name.indices {
                let substituted = diagonal + (matches(part, name[index]) ? 0 : 1)
                diagonal = row[index + 1]
                row[index + 1] = min(substituted, row[index] + 1, diagonal + 1)
            }
        }
        return row[name.count]
    }
}
