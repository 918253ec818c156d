/// What an operator is told besides its inputs.
public enum AttributeValue: Hashable, Sendable {
    case integer(Int)
    case number(Double)
    case word(String)
    case flag(Bool)
    case integers([Int])
    /// Extents that freezing turns into numbers.
    case dimensions([Dimension])
}

/// The attributes of an operator, by name.
public struct Attributes: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    public var values: [String: AttributeValue]

    public init(_ values: [String: AttributeValue] = [:]) { self.values = values }
    public init(dictionaryLiteral elements: (String, AttributeValue)...) {
        self.init(Dictionary(elements) { _, last in last })
    }

    public subscript(name: String) -> AttributeValue? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// Replaces free dimensions by numbers.
    public func binding(_ numbers: [String: Int]) -> Attributes {
        Attributes(
            values.mapValues { value in
                guard case .dimensions(let dimensions) = value else { return value }
                return .dimensions(dimensions.map { $0.binding(numbers) })
            })
    }

    /// The free dimensions in it.
    public var names: Set<String> {
        values.values.reduce(into: []) { names, value in
            if case .dimensions(let dimensions) = value { dimensions.forEach { names.formUnion($0.names) } }
        }
    }
}

/// Typed reading, for `Operator.init(attributes:)`. A package is hostile input: what is missing or of another kind throws.
extension Attributes {
    public func integer(_ name: String, in range: ClosedRange<Int> = Int.min...Int.max) throws -> Int {
        guard case .integer(let integer)? = values[name], range.contains(integer) else {
            throw mismatch(name, "an integer in \(range)")
        }
        return integer
    }
    public func number(_ name: String) throws -> Double {
        guard case .number(let number)? = values[name] else { throw mismatch(name, "a number") }
        return number
    }
    public func word(_ name: String) throws -> String {
        guard case .word(let word)? = values[name] else { throw mismatch(name, "a word") }
        return word
    }
    public func flag(_ name: String) throws -> Bool {
        guard case .flag(let flag)? = values[name] else { throw mismatch(name, "a flag") }
        return flag
    }
    public func integers(_ name: String) throws -> [Int] {
        guard case .integers(let integers)? = values[name] else { throw mismatch(name, "integers") }
        return integers
    }
    public func dimensions(_ name: String) throws -> [Dimension] {
        guard case .dimensions(let dimensions)? = values[name] else { throw mismatch(name, "dimensions") }
        return dimensions
    }
    /// A word that stands for a case of an enumeration.
    public func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String, as type: Choice.Type) throws
        -> Choice
    {
        guard let choice = Choice(rawValue: try word(name)) else {
            throw mismatch(name, "one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    private func mismatch(_ name: String, _ wanted: String) -> OperatorError {
        OperatorError("attribute \(name): expected \(wanted), found \(values[name].map { "\($0)" } ?? "nothing")")
    }
}
