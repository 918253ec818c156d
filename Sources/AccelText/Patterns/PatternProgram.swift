/// A pattern as instructions for the matcher.
struct PatternProgram: Sendable {
    enum Operation: UInt8 {
        /// The end of the pattern, or of the pattern of a lookaround or an atomic group.
        case match
        /// One scalar: `a`.
        case scalar
        /// One scalar of set `a`.
        case set
        /// Go on at `a`.
        case jump
        /// Try `a`, then `b`.
        case split
        /// As many scalars of set `a` as possible, at least `b`, at most `c` (-1: no limit). Gives some back if the rest fails.
        case run
        /// The same without giving back.
        case possessiveRun
        /// Look at `a` is found (or not, as `b` bit 0); bit 1 of `b`: `c` scalars before the position. Go on at the next instruction + 1.
        case look
        /// The first match of the pattern at `a`, then go on at `b`.
        case atomic
        /// A boundary of kind `a`.
        case boundary
        /// Go on at the entry of table `a` for the next byte.
        case dispatch
        /// No match.
        case fail
    }

    struct Instruction: Sendable {
        var operation: Operation
        var a: Int32 = 0
        var b: Int32 = 0
        var c: Int32 = 0
        /// For `run`: where the same loop stands as splits.
        var slow: Int32 = 0
    }

    var instructions: [Instruction] = []
    private var sets: [ScalarSet] = []
    /// Views of the sets, which the program keeps.
    private(set) var views: [ScalarSetView] = []
    /// 130 instructions each: for ASCII bytes, for others, and for the end of the text.
    var tables: [Int32] = []
    /// The scalars that a match begins with; nil if a match can begin with any, or be empty.
    var first: ScalarSet?
    /// Loops can turn without text: only the matcher's notes end them.
    var needsNotes = false

    mutating func add(_ set: ScalarSet) {
        sets.append(set)
        views.append(set.view)
    }
}

/// Makes the instructions of a pattern.
struct PatternCompiler {
    private(set) var program = PatternProgram()
    private var setNumbers: [[UInt32]: Int32] = [:]
    private static let mostInstructions = 100_000

    init(_ node: PatternNode) throws(PatternProblem) {
        try add(node)
        try emit(.match)
        program.first = node.first.map(ScalarSet.init)
    }

    @discardableResult
    private mutating func emit(
        _ operation: PatternProgram.Operation, _ a: Int32 = 0, _ b: Int32 = 0, _ c: Int32 = 0
    ) throws(PatternProblem) -> Int {
        guard program.instructions.count < Self.mostInstructions else {
            throw PatternProblem(position: 0, reason: "the pattern has too many repetitions")
        }
        program.instructions.append(.init(operation: operation, a: a, b: b, c: c))
        return program.instructions.count - 1
    }

    private var here: Int32 { Int32(program.instructions.count) }

    private mutating func number(of set: ScalarRanges) -> Int32 {
        if let number = setNumbers[set.bounds] { return number }
        let number = Int32(program.views.count)
        program.add(ScalarSet(set))
        setNumbers[set.bounds] = number
        return number
    }

    private mutating func add(_ node: PatternNode) throws(PatternProblem) {
        switch node {
        case .set(let set):
            if set.bounds.count == 2, set.bounds[0] + 1 == set.bounds[1] {
                try emit(.scalar, Int32(set.bounds[0]))
            } else {
                try emit(.set, number(of: set))
            }
        case .sequence(let parts):
            for part in parts { try add(part) }
        case .alternatives(let parts): try add(alternatives: parts)
        case .repeated(let part, let minimum, let maximum, let eagerness):
            try add(part, minimum, maximum, eagerness)
        case .look(let part, let ahead, let negative):
            if ahead {
                try addLook(part, back: 0, flags: negative ? 1 : 0)
            } else {
                try addLookbehind(part, negative)
            }
        case .atomic(let part):
            let start = try emit(.atomic)
            program.instructions[start].a = here
            try add(part)
            try emit(.match)
            program.instructions[start].b = here
        case .boundary(let boundary): try emit(.boundary, boundary.rawValue)
        }
    }

    private mutating func addLook(_ part: PatternNode, back: Int32, flags: Int32) throws(PatternProblem) {
        let look = try emit(.look, 0, flags, back)
        let jump = try emit(.jump)
        program.instructions[look].a = here
        try add(part)
        try emit(.match)
        program.instructions[jump].a = here
    }

    /// Alternatives of a lookbehind may have different lengths.
    private mutating func addLookbehind(_ part: PatternNode, _ negative: Bool) throws(PatternProblem) {
        var branches = [part]
        if case .alternatives(let parts) = part { branches = parts }
        let lengths = branches.compactMap(\.fixedLength)
        guard lengths.count == branches.count else {
            throw PatternProblem(position: 0, reason: "a lookbehind of varying length is not supported")
        }
        if negative || branches.count == 1 {
            for (branch, length) in zip(branches, lengths) {
                try addLook(branch, back: Int32(clamping: length), flags: negative ? 3 : 2)
            }
        } else {
            try add(alternatives: branches.map { .look($0, ahead: false, negative: false) })
        }
    }

    private mutating func add(
        _ part: PatternNode, _ minimum: Int, _ maximum: Int?, _ eagerness: PatternNode.Eagerness
    ) throws(PatternProblem) {
        if case .set(let set) = part, eagerness != .lazy, maximum != 1 || eagerness == .possessive {
            let operation: PatternProgram.Operation = eagerness == .greedy ? .run : .possessiveRun
            let index = try emit(operation, number(of: set), Int32(minimum), maximum.map { Int32($0) } ?? -1)
            guard eagerness == .greedy else { return }
            let jump = try emit(.jump)
            program.instructions[index].slow = here
            try addLoop(part, minimum, maximum, lazy: false)
            program.instructions[jump].a = here
            return
        }
        if eagerness == .possessive {
            try add(.atomic(.repeated(part, minimum: minimum, maximum: maximum, .greedy)))
        } else {
            try addLoop(part, minimum, maximum, lazy: eagerness == .lazy)
        }
    }

    private mutating func addLoop(
        _ part: PatternNode, _ minimum: Int, _ maximum: Int?, lazy: Bool
    ) throws(PatternProblem) {
        for _ in 0..<minimum { try add(part) }
        func aim(_ split: Int, _ body: Int32, _ end: Int32) {
            program.instructions[split].a = lazy ? end : body
            program.instructions[split].b = lazy ? body : end
        }
        guard let maximum else {
            if part.canBeEmpty { program.needsNotes = true }
            let split = try emit(.split)
            let body = here
            try add(part)
            try emit(.jump, Int32(split))
            aim(split, body, here)
            return
        }
        var splits: [(Int, Int32)] = []
        for _ in minimum..<max(maximum, minimum) {
            let split = try emit(.split)
            splits.append((split, here))
            try add(part)
        }
        for (split, body) in splits { aim(split, body, here) }
    }

    /// Alternatives are chosen by the next byte, so that most are not tried.
    private mutating func add(alternatives parts: [PatternNode]) throws(PatternProblem) {
        let dispatch = parts.count <= 64 ? try emit(.dispatch, Int32(program.tables.count / 130)) : nil
        if dispatch != nil { program.tables += [Int32](repeating: 0, count: 130) }
        let table = program.tables.count - 130
        var bodies: [Int32] = []
        var jumps: [Int] = []
        let start = dispatch == nil ? try emit(.jump) : nil
        for part in parts {
            bodies.append(here)
            try add(part)
            jumps.append(try emit(.jump))
        }
        func chain(_ chosen: [Int32]) throws(PatternProblem) -> Int32 {
            if chosen.count == 1 { return chosen[0] }
            let first = here
            if chosen.isEmpty { try emit(.fail) }
            for (index, body) in chosen.enumerated() {
                if index + 1 < chosen.count {
                    try emit(.split, body, here + 1)
                } else {
                    try emit(.jump, body)
                }
            }
            return first
        }
        if let start { program.instructions[start].a = try chain(bodies) }
        if dispatch != nil {
            let firsts = parts.map(\.first)
            var chains: [UInt64: Int32] = [:]
            for entry in 0..<130 {
                var mask: UInt64 = 0
                for index in parts.indices {
                    let isPossible: Bool
                    switch entry {
                    case 129: isPossible = parts[index].canBeEmpty || firsts[index] == nil
                    case 128: isPossible = firsts[index].map { ($0.bounds.last ?? 0) > 0x80 } ?? true
                    default: isPossible = firsts[index]?.contains(UInt32(entry)) ?? true
                    }
                    if isPossible { mask |= 1 << UInt64(index) }
                }
                let first: Int32
                if let known = chains[mask] {
                    first = known
                } else {
                    first = try chain(bodies.indices.filter { mask >> UInt64($0) & 1 == 1 }.map { bodies[$0] })
                    chains[mask] = first
                }
                program.tables[table + entry] = first
            }
        }
        for jump in jumps { program.instructions[jump].a = here }
    }
}
