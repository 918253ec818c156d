public import AccelTensors

/// An input that an operator declares: its name, its element types, and whether it may be left out.
///
/// Nodes hold their inputs in the declared order, without those that are left out. Which ones are there follows from the
/// number and the element types of those that are.
public struct OperatorInput: Hashable, Sendable {
    /// The element types that an input takes.
    public enum Elements: Hashable, Sendable {
        /// This element type only.
        case only(ElementType)
        /// Any of these element types.
        case oneOf([ElementType])
        /// Every element type.
        case any
        /// The element type of the first input.
        case sameAsFirst

        func accepts(_ type: ElementType, first: ElementType) -> Bool {
            switch self {
            case .only(let own): type == own
            case .oneOf(let all): all.contains(type)
            case .any: true
            case .sameAsFirst: type == first
            }
        }
    }

    /// The number of times that a node has an input.
    public enum Presence: Hashable, Sendable {
        /// Exactly once.
        case required
        /// Once or not at all.
        case optional
        /// Exactly when the input of this name is.
        case with(String)
        /// Once or more. Only the last input of an operator repeats.
        case repeated
    }

    /// The word that errors and documents use, such as `weight`.
    public let name: String
    /// The element types that the input takes.
    public let elements: Elements
    /// The number of times that a node has the input.
    public let presence: Presence

    /// Creates an input; by default a required one of float32.
    public init(_ name: String, _ elements: Elements = .only(.float32), presence: Presence = .required) {
        (self.name, self.elements, self.presence) = (name, elements, presence)
    }
}

/// Inputs that several operators declare.
extension OperatorInput {
    /// The required float32 input `x`.
    public static let x = OperatorInput("x")
    /// The required float32 input `y`.
    public static let y = OperatorInput("y")
    /// The required float32 input `weight`.
    public static let weight = OperatorInput("weight")
    /// A vector that may be left out.
    public static let optionalBias = OperatorInput("bias", presence: .optional)
}

extension Operator {
    /// Finds each declared input among the given ones.
    /// - Parameter given: the element types of a node's inputs, in order.
    /// - Returns: the position of each declared input, in the order of the declaration; nil for one that is left out.
    /// - Throws: `OperatorError` naming the number of inputs or the input that does not fit.
    package static func positions(_ given: [ElementType]) throws -> [Int?] { try inputs.positions(given) }

    /// Rejects inputs of another number or other element types than those declared.
    /// - Throws: `OperatorError` naming the number of inputs or the input that does not fit.
    package static func check(_ given: [TensorType]) throws { _ = try positions(given.map(\.elementType)) }

    /// Finds an input by its name.
    /// - Parameter given: the element types of a node's inputs, which have passed the shape rule.
    /// - Returns: its position among them; nil where it is left out.
    package static func position(of name: String, among given: [ElementType]) -> Int? {
        guard let index = inputs.firstIndex(where: { $0.name == name }), let positions = try? positions(given) else {
            return nil
        }
        return positions[index]
    }
}

extension [OperatorInput] {
    /// Finds each of these inputs among the given ones. It is not generic over the operator: the compiler would make a copy for
    /// each operator.
    fileprivate func positions(_ given: [ElementType]) throws -> [Int?] {
        let required = count { $0.presence == .required || $0.presence == .repeated }
        let limit = last?.presence == .repeated ? Int.max : count
        guard given.count >= required, given.count <= limit, let first = given.first else {
            throw OperatorError("expected \(countText(required, limit)) inputs, found \(given.count)")
        }
        var (positions, next): ([Int?], Int) = ([], 0)
        var misfit: OperatorError?
        for (index, input) in enumerated() {
            let isWanted =
                switch input.presence {
                case .required, .repeated, .optional: true
                case .with(let other): positions[firstIndex { $0.name == other } ?? index] != nil
                }
            guard isWanted, next < given.count else {
                positions.append(nil)
                continue
            }
            if input.elements.accepts(given[next], first: first) {
                positions.append(next)
                next += 1
                continue
            }
            let error = OperatorError("\(input.name): expected \(input.elements), found \(given[next].rawValue)")
            guard input.presence == .optional else { throw misfit ?? error }
            misfit = misfit ?? error
            positions.append(nil)
        }
        for (input, position) in zip(self, positions) {
            guard case .with(let other) = input.presence else { continue }
            let isThere = positions[firstIndex { $0.name == other } ?? 0] != nil
            guard isThere == (position != nil) else {
                throw OperatorError("expected both of \(other) and \(input.name), or neither")
            }
        }
        if let repeated = last, repeated.presence == .repeated {
            for (index, type) in given.enumerated().dropFirst(next) {
                guard repeated.elements.accepts(type, first: first) else {
                    throw OperatorError("input \(index): expected \(first.rawValue), found \(type.rawValue)")
                }
            }
        } else if next < given.count {
            throw misfit ?? OperatorError("expected \(countText(required, limit)) inputs, found \(given.count)")
        }
        return positions
    }

    private func countText(_ required: Int, _ limit: Int) -> String {
        if limit == .max { return "\(required) or more" }
        return required == limit ? "\(required)" : "\(required) to \(limit)"
    }
}

extension OperatorInput.Elements: CustomStringConvertible {
    /// For errors and documents, such as `F32`.
    public var description: String {
        switch self {
        case .only(let type): type.rawValue
        case .oneOf(let types): types.map(\.rawValue).joined(separator: " or ")
        case .any: "any element type"
        case .sameAsFirst: "the element type of the first input"
        }
    }
}

/// Reading inputs by name, in shape rules and reference implementations.
extension Array where Element == TensorType {
    /// The input of this name; nil where it is left out.
    func named(_ name: String, of operation: any Operator) -> TensorType? {
        type(of: operation).position(of: name, among: map(\.elementType)).map { self[$0] }
    }
}

extension Array where Element == HostTensor {
    /// The input of this name; nil where it is left out.
    func named(_ name: String, of operation: any Operator) -> HostTensor? {
        type(of: operation).position(of: name, among: map(\.type.elementType)).map { self[$0] }
    }
}

extension Array where Element == Value {
    /// The input of this name; nil where it is left out.
    func named(_ name: String, of operation: any Operator, in builder: ProgramBuilder) -> Value? {
        type(of: operation).position(of: name, among: map { builder.type(of: $0).elementType }).map { self[$0] }
    }
}
