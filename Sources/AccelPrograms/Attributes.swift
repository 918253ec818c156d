/// The value of one operator attribute.
public enum AttributeValue: Hashable, Sendable {
    /// A whole number, such as an axis.
    case integer(Int)
    /// A floating-point number, such as an epsilon.
    case number(Double)
    /// The name of a choice, such as a mode.
    case word(String)
    /// A boolean.
    case flag(Bool)
    /// A list of whole numbers, such as axes.
    case integers([Int])
    /// Sizes that may be symbolic; freezing replaces them with numbers.
    case dimensions([Dimension])
}

/// The attributes of an operator, by name, such as `["epsilon": .number(1e-5)]`.
public struct Attributes: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// The values by attribute name.
    public var values: [String: AttributeValue]

    /// Creates attributes from a dictionary.
    public init(_ values: [String: AttributeValue] = [:]) { self.values = values }
    /// Creates attributes from a literal; the last of two equal names wins.
    public init(dictionaryLiteral elements: (String, AttributeValue)...) {
        self.init(Dictionary(elements) { _, last in last })
    }

    /// The value of an attribute; nil if the operator does not have it.
    public subscript(name: String) -> AttributeValue? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// Returns the attributes with free dimensions replaced by numbers; names without a number stay free.
    public func binding(_ numbers: [String: Int]) -> Attributes {
        Attributes(
            values.mapValues { value in
                guard case .dimensions(let dimensions) = value else { return value }
                return .dimensions(dimensions.map { $0.binding(numbers) })
            })
    }

    /// The names of the free dimensions in all attributes.
    public var names: Set<String> {
        values.values.reduce(into: []) { names, value in
            if case .dimensions(let dimensions) = value { dimensions.forEach { names.formUnion($0.names) } }
        }
    }
}

/// Typed access for `Operator.init(attributes:)`. A package is untrusted input: every method throws `OperatorError` if
/// the attribute is missing or has another type.
extension Attributes {
    /// Reads an integer.
    /// - Throws: `OperatorError` if it is missing, has another type, or is outside of `range`.
    public func integer(_ name: String, in range: ClosedRange<Int> = Int.min...Int.max) throws -> Int {
        guard case .integer(let integer)? = values[name], range.contains(integer) else {
            throw mismatch(name, "an integer in \(range)")
        }
        return integer
    }
    /// Reads a floating-point number.
    public func number(_ name: String) throws -> Double {
        guard case .number(let number)? = values[name] else { throw mismatch(name, "a number") }
        return number
    }
    /// Reads a string.
    public func word(_ name: String) throws -> String {
        guard case .word(let word)? = values[name] else { throw mismatch(name, "a word") }
        return word
    }
    /// Reads a boolean.
    public func flag(_ name: String) throws -> Bool {
        guard case .flag(let flag)? = values[name] else { throw mismatch(name, "a flag") }
        return flag
    }
    /// Reads a list of integers.
    public func integers(_ name: String) throws -> [Int] {
        guard case .integers(let integers)? = values[name] else { throw mismatch(name, "integers") }
        return integers
    }
    /// Reads a list of sizes, which may be symbolic.
    public func dimensions(_ name: String) throws -> [Dimension] {
        guard case .dimensions(let dimensions)? = values[name] else { throw mismatch(name, "dimensions") }
        return dimensions
    }
    /// Reads a string that is the raw value of an enumeration case.
    /// - Throws: `OperatorError` that lists the cases if it is none of them.
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
