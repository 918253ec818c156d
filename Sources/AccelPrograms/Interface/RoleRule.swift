public import AccelTensors

/// The rule for one kind of role: the sides, types and parameters that it may have. A new kind is one line in
/// `RoleRule.all`.
public struct RoleRule: Sendable {
    /// The side of a function that a port is on.
    public enum Side: String, Sendable {
        /// A tensor that callers pass.
        case input
        /// A tensor that callers get.
        case output
        /// A tensor that is kept between runs.
        case state
    }
    /// The type of a parameter.
    public enum ParameterKind: Sendable {
        /// A whole number that is not negative.
        case integer
        /// A list of floating-point numbers.
        case numbers
        /// One of these strings; any string if the list is empty.
        case word([String])
    }

    /// The kind that the rule is for.
    public let kind: RoleKind
    /// The sides on which the role may be used.
    public let sides: Set<Side>
    /// The element type of the port; states of keys and values may be F16 or I8 instead.
    public let elementType: ElementType
    /// The ranks that the tensor may have.
    public let ranks: ClosedRange<Int>
    /// The parameters, sorted by name.
    public let parameters: [(name: String, kind: ParameterKind, isRequired: Bool)]
    /// The axis with one element per position of a sequence, unless a role's parameters say otherwise
    /// (`Role.positionAxis`); nil if there is none.
    public let positionAxis: Int?

    private init(
        _ kind: RoleKind, _ sides: Set<Side>, _ type: ElementType, _ ranks: ClosedRange<Int>, positions: Int? = nil,
        _ parameters: [String: ParameterKind] = [:], optional: [String: ParameterKind] = [:]
    ) {
        self.kind = kind
        self.sides = sides
        elementType = type
        self.ranks = ranks
        positionAxis = positions
        self.parameters =
            (parameters.map { ($0.key, $0.value, true) } + optional.map { ($0.key, $0.value, false) })
            .sorted { $0.0 < $1.0 }
    }

    /// The rules of every kind but `opaque`, which fits any port.
    public static let all: [RoleRule] = [
        RoleRule(.tokens, [.input], .int64, 2...3, positions: 1, ["vocabulary": .integer]),
        RoleRule(.position, [.input], .int64, 1...1),
        RoleRule(
            .attentionMask, [.input], .int64, 2...3, positions: 1,
            ["convention": .word([Role.MaskConvention.onesCount.rawValue])]),
        RoleRule(.tokenTypes, [.input], .int64, 2...3, positions: 1, ["count": .integer]),
        RoleRule(.pixels, [.input], .float32, 4...4, optional: ["mean": .numbers, "deviation": .numbers]),
        RoleRule(.audio, [.input, .output], .float32, 2...3, ["rate": .integer]),
        RoleRule(
            .melFeatures, [.input], .float32, 3...3,
            ["bands": .integer, "rate": .integer, "window": .integer, "hop": .integer], optional: ["axis": .integer]),
        RoleRule(.noise, [.input], .float32, 1...8, ["distribution": .word(["normal", "uniform"])]),
        RoleRule(.codes, [.input], .int64, 2...2, ["count": .integer]),
        RoleRule(.validLength, [.input], .int64, 1...1, ["input": .word([]), "axis": .integer]),
        RoleRule(.style, [.input], .float32, 2...2),
        RoleRule(.pitch, [.input, .output], .float32, 2...2),
        RoleRule(.energy, [.input, .output], .float32, 2...2),
        RoleRule(
            .logits, [.output], .float32, 2...3, positions: 1,
            ["over": .word(["vocabulary", "labels", "texts", "positions", "choices", "durations"])],
            optional: ["positions": .word(["last"])]),
        RoleRule(.hiddenStates, [.input, .output], .float32, 3...3, positions: 1),
        RoleRule(.pooled, [.output], .float32, 2...2),
        RoleRule(.embedding, [.output], .float32, 2...2),
        RoleRule(.probabilities, [.output], .float32, 1...8),
        RoleRule(.alignment, [.output], .float32, 4...4, positions: 2),
        RoleRule(.spectrum, [.input, .output], .float32, 3...3),
        RoleRule(.features, [.input, .output], .float32, 3...3),
        RoleRule(
            .keyValueCache, [.state], .float32, 4...4,
            ["half": .word(["keys", "values"]), "layer": .integer, "axis": .integer]),
        RoleRule(
            .crossAttention, [.state, .output], .float32, 4...4,
            ["half": .word(["keys", "values"]), "layer": .integer, "axis": .integer]),
        RoleRule(.recurrent, [.state], .float32, 1...8),
    ]
    private static let byKind = Dictionary(uniqueKeysWithValues: all.map { ($0.kind, $0) })

    /// Returns the rule of a kind; nil for `opaque` and for kinds that this version does not know.
    public static func rule(for kind: RoleKind) -> RoleRule? { byKind[kind] }

    /// Returns why a role does not fit a port; nil if it fits.
    /// - Parameter type: the port's type; its dimensions may be free.
    func unsupportedReason(_ role: Role, _ side: Side, _ type: TensorType) -> String? {
        guard sides.contains(side) else {
            let words = sides.map { "\($0.rawValue)s" }.sorted().joined(separator: " and ")
            return "the role \(kind.rawValue) is for \(words)"
        }
        let isNarrowCache = side == .state && type.elementType.isNarrowStateType && kind.isOfKeysAndValues
        guard type.elementType == elementType || isNarrowCache, ranks.contains(type.rank) else {
            let axes = ranks.count == 1 ? "\(ranks.lowerBound)" : "\(ranks.lowerBound) to \(ranks.upperBound)"
            return "the role \(kind.rawValue) takes \(elementType.rawValue) of \(axes) axes, but the port is \(type)"
        }
        for (name, kind, isRequired) in parameters {
            guard let parameter = role.parameters[name] else {
                if isRequired { return "the role \(self.kind.rawValue) has no \(name)" }
                continue
            }
            let fits =
                switch (parameter, kind) {
                case (.integer(let integer), .integer): integer >= 0
                case (.numbers, .numbers): true
                case (.word(let word), .word(let words)): words.isEmpty || words.contains(word)
                default: false
                }
            guard fits else { return "the role \(self.kind.rawValue) has an invalid \(name): \(parameter)" }
        }
        if let axis = role.integer("axis"), side == .state, axis >= type.rank {
            return "the role \(kind.rawValue) counts positions on axis \(axis), but the port is \(type)"
        }
        if role.positions == .last, type.rank != 3 || type.dimensions[1] != 1 {
            return "the role \(kind.rawValue) has one row, for the last position, but the port is \(type)"
        }
        let names = Set(parameters.map(\.name))
        return role.parameters.keys.sorted().first { !names.contains($0) }.map {
            "the role \(kind.rawValue) has no parameter \($0)"
        }
    }
}
