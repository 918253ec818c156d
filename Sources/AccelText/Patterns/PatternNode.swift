/// The parts of a pattern.
indirect enum PatternNode {
    /// One scalar of a set.
    case set(ScalarRanges)
    case sequence([PatternNode])
    /// The first of the alternatives that leads to a match.
    case alternatives([PatternNode])
    case repeated(PatternNode, minimum: Int, maximum: Int?, Eagerness)
    /// Text before or after the position, which the match does not contain.
    case look(PatternNode, ahead: Bool, negative: Bool)
    /// The first match of the part, without others.
    case atomic(PatternNode)
    case boundary(Boundary)

    enum Eagerness { case greedy, lazy, possessive }

    enum Boundary: Int32 {
        case textStart, textEnd, lastLineEnd, lineStart, lineEnd, word, noWord
    }

    /// The part can match without text.
    var canBeEmpty: Bool {
        switch self {
        case .set: false
        case .sequence(let parts): parts.allSatisfy(\.canBeEmpty)
        case .alternatives(let parts): parts.contains(where: \.canBeEmpty)
        case .repeated(let part, let minimum, _, _): minimum == 0 || part.canBeEmpty
        case .atomic(let part): part.canBeEmpty
        case .look, .boundary: true
        }
    }

    /// The number of scalars of each match; nil if it varies.
    var fixedLength: Int? {
        switch self {
        case .set: return 1
        case .sequence(let parts):
            return parts.reduce(0) { sum, part in
                guard let sum, let length = part.fixedLength else { return nil }
                return sum + length
            }
        case .alternatives(let parts):
            let lengths = parts.map(\.fixedLength)
            return Set(lengths).count == 1 ? lengths[0] : nil
        case .repeated(let part, let minimum, let maximum, _):
            guard minimum == maximum, let length = part.fixedLength else { return nil }
            let (product, overflow) = length.multipliedReportingOverflow(by: minimum)
            return overflow ? nil : product
        case .atomic(let part): return part.fixedLength
        case .look, .boundary: return 0
        }
    }

    /// The scalars that a match can begin with; nil if they are not known, such as for an empty match.
    var first: ScalarRanges? {
        switch self {
        case .set(let set): return set
        case .sequence(let parts):
            var union = ScalarRanges()
            for part in parts {
                if case .look = part { continue }
                if case .boundary = part { continue }
                if part.canBeEmpty {
                    guard case .repeated(let inner, _, _, _) = part, let first = inner.first else { return nil }
                    union = union.union(first)
                } else {
                    guard let first = part.first else { return nil }
                    return union.union(first)
                }
            }
            return nil
        case .alternatives(let parts):
            return parts.reduce(ScalarRanges()) { union, part in
                guard let union, let first = part.first else { return nil }
                return union.union(first)
            }
        case .repeated(let part, let minimum, _, _): return minimum > 0 && !part.canBeEmpty ? part.first : nil
        case .atomic(let part): return part.first
        case .look, .boundary: return nil
        }
    }
}
