/// A step that adds the special tokens around texts, and trims offsets.
indirect enum PostProcessor: Sendable {
    case template(Template)
    case bert(separator: TokenID, classifier: TokenID)
    case roberta(separator: TokenID, classifier: TokenID, trim: OffsetTrim?)
    case byteLevel(OffsetTrim?)
    case sequence([PostProcessor])

    /// Offsets leave out white space at the ends of tokens.
    struct OffsetTrim: Sendable {
        /// A single space before the first token was added, so that it has no offset.
        var addsPrefixSpace: Bool
    }

    var trimsOffsets: Bool {
        switch self {
        case .template, .bert: false
        case .roberta(_, _, let trim), .byteLevel(let trim): trim != nil
        case .sequence(let steps): steps.contains(where: \.trimsOffsets)
        }
    }

    func apply(to segments: [Segment], addsSpecialTokens: Bool) -> [Segment] {
        switch self {
        case .template(let template): return template.apply(to: segments, addsSpecialTokens: addsSpecialTokens)
        case .bert(let separator, let classifier):
            guard addsSpecialTokens else { return segments }
            return segments.enumerated().map { index, segment in
                let (before, after) = (index == 0 ? [classifier] : [], [separator])
                return Self.surround(segment, before, after, type: index == 0 ? 0 : 1)
            }
        case .roberta(let separator, let classifier, let trim):
            return segments.enumerated().map { index, segment in
                var segment = segment
                if let trim { Self.trim(&segment, trim) }
                segment.encoding.typeIDs = segment.encoding.typeIDs.map { _ in 0 }
                guard addsSpecialTokens else { return segment }
                return Self.surround(segment, [index == 0 ? classifier : separator], [separator], type: 0)
            }
        case .byteLevel(let trim):
            guard let trim else { return segments }
            return segments.map { segment in
                var segment = segment
                Self.trim(&segment, trim)
                return segment
            }
        case .sequence(let steps):
            return steps.reduce(segments) { $1.apply(to: $0, addsSpecialTokens: addsSpecialTokens) }
        }
    }

    private static func surround(
        _ segment: Segment, _ before: [TokenID], _ after: [TokenID], type: Int32
    ) -> Segment {
        var result = Segment(encoding: Template.added(before, type: type, like: segment), text: segment.text)
        result.encoding.append(segment.encoding)
        result.encoding.append(Template.added(after, type: type, like: segment))
        let none = (leading: 0, trailing: 0)
        if !segment.spaces.isEmpty {
            result.spaces = before.map { _ in none } + segment.spaces + after.map { _ in none }
        }
        return result
    }

    private static func trim(_ segment: inout Segment, _ trim: OffsetTrim) {
        let text = segment.text
        for index in segment.encoding.offsets.indices where index < segment.spaces.count {
            var (start, end) = (segment.encoding.offsets[index].lowerBound, segment.encoding.offsets[index].upperBound)
            var (leading, trailing) = segment.spaces[index]
            if trim.addsPrefixSpace, leading == 1, index == 0 || start == 0 { leading = 0 }
            while leading > 0, start < end {
                start += UTF8Text.length(text[start])
                leading -= 1
            }
            start = min(start, end)
            var last = end
            while trailing > 0, last > 0 {
                last -= 1
                while last > 0, UTF8Text.continues(text[last]) { last -= 1 }
                trailing -= 1
            }
            // A text that is shorter than the white space keeps its end.
            if trailing == 0 { end = max(last, start) }
            segment.encoding.offsets[index] = start..<end
        }
    }
}

/// The special tokens around one text, and around two.
struct Template: Sendable {
    enum Part: Sendable {
        /// The first or the second text.
        case text(Int, type: Int32)
        case tokens([TokenID], type: Int32)
    }

    var single: [Part]
    var pair: [Part]

    func apply(to segments: [Segment], addsSpecialTokens: Bool) -> [Segment] {
        let parts = segments.count == 1 ? single : pair
        return parts.compactMap { part in
            switch part {
            case .text(let index, let type):
                guard index < segments.count else { return nil }
                var segment = segments[index]
                segment.encoding.typeIDs = segment.encoding.typeIDs.map { _ in type }
                return segment
            case .tokens(let ids, let type):
                guard addsSpecialTokens else { return nil }
                return Segment(encoding: Self.added(ids, type: type, like: segments[0]))
            }
        }
    }

    static func added(_ ids: [TokenID], type: Int32, like segment: Segment) -> Encoding {
        var encoding = Encoding()
        encoding.ids = ids
        encoding.typeIDs = ids.map { _ in type }
        if !segment.encoding.offsets.isEmpty || segment.encoding.ids.isEmpty {
            encoding.offsets = ids.map { _ in 0..<0 }
        }
        return encoding
    }
}
