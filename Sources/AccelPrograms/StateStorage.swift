package import AccelByteIO
public import AccelTensors

/// The element type in which functions keep their key/value caches between runs.
public enum StateStorage: String, CaseIterable, Sendable {
    /// The element type that the model has, which is F32 for every family.
    case float32
    /// F16. Keys and values are rounded when they are written to a cache, and the run that writes them reads them
    /// rounded too. So the memory of caches is half as large, and results do not depend on the blocks in which a
    /// sequence is processed.
    case float16
    /// I8. Each row of a cache, which is a key or value of one head, is rounded to 8-bit codes with a scale of its own
    /// (`RoundRows`), when it is written as with `float16`. The memory of caches is a quarter, and 4 bytes a row.
    case int8

    /// The element type of the caches.
    public var elementType: ElementType {
        switch self {
        case .float32: .float32
        case .float16: .float16
        case .int8: .int8
        }
    }
}

/// The key/value caches of a model, and those that can be kept in another element type.
package struct KeptCaches {
    /// The element type in which caches are kept.
    let storage: StateStorage
    /// The caches that can be kept so, by name.
    package let names: Set<String>
    /// The reasons why the others cannot, by name.
    let reasons: [String: String]

    /// Finds the caches of all functions, which share them by name: the F32 states with a role of keys and values, and
    /// those without a role that `UpdateSlice` extends. In I8 only those can be kept that start as zeros and are written
    /// by whole rows.
    package init(of programs: [Program], in storage: StateStorage) {
        let names = Set(programs.flatMap(\.cacheNames))
        var reasons: [String: String] = [:]
        for program in programs where storage == .int8 {
            reasons.merge(program.reasonsAgainstRows.filter { names.contains($0.key) }) { first, _ in first }
        }
        self.storage = storage
        self.names = names.subtracting(reasons.keys)
        self.reasons = reasons
    }
}

extension Diagnostic.Code {
    /// A model without a key/value cache has no states to store in another type.
    package static let statesWithoutCache: Self = "states-without-cache"
}

extension [FrozenProgram] {
    /// Returns functions that keep their key/value caches in another element type. Functions share caches by name, so
    /// they have to be converted together. Caches that cannot be kept so stay as they are, which `remarks` say.
    /// - Throws: `RequestError` if no function has a key/value cache that can.
    package func keepingCaches(in storage: StateStorage) throws -> [FrozenProgram] {
        guard storage != .float32 else { return self }
        let caches = KeptCaches(of: map(\.program), in: storage)
        guard !caches.names.isEmpty || contains(where: { $0.hasStates(in: storage) }) else {
            let example = caches.reasons.min { $0.key < $1.key }.map { " that can be: \($0.key) \($0.value)" }
            throw RequestError(
                "states in \(storage.rawValue): the model has no key/value cache\(example ?? "")",
                code: .statesWithoutCache)
        }
        return try map { try $0.keeping(caches) }
    }
}

extension FrozenProgram {
    /// Whether a state has the element type of a storage other than `float32`.
    package func hasStates(in storage: StateStorage) -> Bool {
        storage != .float32
            && program.states.contains { program.type(of: $0.value).elementType == storage.elementType }
    }

    /// Returns the function with some of its states in another element type.
    package func keeping(_ caches: KeptCaches) throws -> FrozenProgram {
        let (own, type) = (program.cacheNames, caches.storage.elementType)
        guard type != .float32, !own.isEmpty else { return self }
        let kept = try applying { try $0.roundingStates(caches.names, to: type) }
        let remarks = own.compactMap { name in
            caches.reasons[name].map { "\(functionName): state \(name) stays float32: it \($0)" }
        }
        return FrozenProgram(frozen: kept.program, bindings: bindings, remarks: self.remarks + remarks)
    }

    /// Returns the function with F32 states instead of F16 ones, and without rounding: for formats that have an element
    /// type of their own for states.
    package func wideningStates() throws -> FrozenProgram {
        hasStates(in: .float16) ? try applying { try $0.wideningStates() } : self
    }
}

extension ProgramBuilder {
    /// Converts a value to another of the element types of key/value caches; returns a value that has it already.
    /// - Parameter label: the label of the node that reads or makes the value; nil for a label of its own.
    mutating func converting(_ value: Value, to type: ElementType, for label: String? = nil) throws -> Value {
        let own = self.type(of: value).elementType
        guard own != type else { return value }
        let (operation, word): (any Operator, String) =
            switch (own, type) {
            case (_, .int8): (RoundRows(), "round")
            case (.int8, _): (WidenRows(), "widen")
            default: (Cast(to: type), "cast")
            }
        guard let label else { return try apply(operation, [value]) }
        return try labelled("\(label).\(word)") { try $0.apply(operation, [value]) }
    }
}

extension Program {
    fileprivate var cacheNames: [String] {
        let extended = Set(nodes.compactMap { $0.operation is UpdateSlice ? $0.inputs.first : nil })
        return states.filter { state in
            guard type(of: state.value).elementType == .float32 else { return false }
            guard let role = interface.states[state.name] else { return extended.contains(state.value) }
            return role.kind.isOfKeysAndValues
        }.map(\.name)
    }

    /// The reasons why states cannot be kept as rows of codes, by name.
    fileprivate var reasonsAgainstRows: [String: String] {
        var reasons: [String: String] = [:]
        /// The state that a value is the content of, and whether its axes are the state's.
        var contents: [Value: (name: String, isWhole: Bool)] = [:]
        for state in states {
            contents[state.value] = (state.name, true)
            if state.initial != 0 { reasons[state.name] = "starts as \(state.initial), not as 0" }
            if type(of: state.value).dimensions.last ?? 0 == 0 { reasons[state.name] = "has no rows" }
        }
        for node in nodes {
            guard let input = node.inputs.first, let (name, isWhole) = contents[input] else { continue }
            if let update = node.operation as? UpdateSlice {
                contents[node.outputs[0]] = (name, isWhole)
                if !isWhole || update.axis == type(of: input).rank - 1 {
                    reasons[name] = "is not written by whole rows (\"\(node.label)\")"
                }
            } else if node.operation is any ViewOperator {
                contents[node.outputs[0]] = (name, false)
            }
        }
        return reasons
    }

    /// Makes states F16 or I8. Blocks are rounded before they are written, views of caches stay as they are where they
    /// keep rows whole, attention reads keys and values of the type, and all other operators get F32.
    fileprivate func roundingStates(_ names: Set<String>, to narrow: ElementType) throws -> Program {
        let types = Dictionary(uniqueKeysWithValues: names.map { ($0, narrow) })
        return try rewriting(stateTypes: types) { node, inputs, builder in
            // What has the type already, since a package keeps it so, stays as it is.
            let isNarrow = zip(node.inputs, inputs).map { old, new in
                builder.type(of: new).elementType == narrow && type(of: old).elementType != narrow
            }
            guard isNarrow.contains(true) else { return nil }
            if node.operation is Attention && isNarrow[1] && isNarrow[2] { return nil }
            if let view = node.operation as? any ViewOperator {
                if narrow == .float16 { return nil }
                if let view = view.ofByteRows(type(of: node.inputs[0])) { return [try builder.apply(view, inputs)] }
            }
            let isUpdate = node.operation is UpdateSlice && isNarrow[0]
            let operands = try inputs.enumerated().map { index, input in
                let type: ElementType? = isUpdate ? (index == 1 ? narrow : nil) : isNarrow[index] ? .float32 : nil
                return try type.map { try builder.converting(input, to: $0, for: node.label) } ?? input
            }
            return try builder.applyAll(node.operation, operands)
        }
    }

    fileprivate func wideningStates() throws -> Program {
        let halves = states.filter { type(of: $0.value).elementType == .float16 }
        let types = Dictionary(uniqueKeysWithValues: halves.map { ($0.name, ElementType.float32) })
        return try rewriting(stateTypes: types) { node, inputs, builder in
            guard let cast = node.operation as? Cast else { return nil }
            let isOfStates = cast.elementType == .float16 || type(of: node.inputs[0]).elementType == .float16
            return isOfStates && builder.type(of: inputs[0]).elementType == .float32 ? inputs : nil
        }
    }
}

extension ViewOperator {
    /// Returns the same view of rows of codes; nil if it does not keep rows whole.
    /// - Parameter type: what the operator views, as F32.
    fileprivate func ofByteRows(_ type: TensorType) -> (any ViewOperator)? {
        guard let width = type.dimensions.last else { return nil }
        let wide = width + .fixed(ByteRow.scaleBytes)
        switch self {
        case let transpose as Transpose: return transpose.permutation.last == type.rank - 1 ? transpose : nil
        case let slice as Slice:
            guard slice.begin.last == 0, slice.sizes.last == width else { return nil }
            return Slice(begin: slice.begin, sizes: slice.sizes.dropLast() + [wide])
        case let reshape as Reshape:
            return reshape.dimensions.last == width ? Reshape(to: reshape.dimensions.dropLast() + [wide]) : nil
        case let expand as Expand:
            return expand.dimensions.last == width ? Expand(to: expand.dimensions.dropLast() + [wide]) : nil
        default: return nil
        }
    }
}
