import AccelByteIO
import AccelTensors

/// The element type in which functions keep their key/value caches between runs.
public enum StateStorage: String, CaseIterable, Sendable {
    /// The element type that the model has, which is F32 for every family.
    case float32
    /// F16. Keys and values are rounded when they are written to a cache, and the run that writes them reads them
    /// rounded too. So the memory of caches is half as large, and results do not depend on the blocks in which a
    /// sequence is processed.
    case float16
}

extension [Program] {
    /// The names of the key/value caches: the F32 states with a role of keys and values, and those without a role that
    /// `UpdateSlice` extends.
    package var cacheNames: Set<String> { Set(flatMap(\.cacheNames)) }
}

extension [FrozenProgram] {
    /// Returns functions that keep their key/value caches in another element type. Functions share caches by name, so
    /// they have to be converted together.
    /// - Throws: `RequestError` if no function has a key/value cache.
    package func keepingCaches(in storage: StateStorage) throws -> [FrozenProgram] {
        guard storage == .float16 else { return self }
        let names = map(\.program).cacheNames
        guard !names.isEmpty || contains(where: \.hasHalfStates) else {
            throw RequestError(
                "states in \(storage.rawValue): the model has no key/value cache; leave --states out")
        }
        return try map { try $0.keepingCaches(names, in: storage) }
    }
}

extension FrozenProgram {
    /// Whether a state is F16.
    package var hasHalfStates: Bool { program.states.contains { program.type(of: $0.value).elementType == .float16 } }

    /// Returns the function with some of its states, which `cacheNames` has found, in another element type.
    package func keepingCaches(_ names: Set<String>, in storage: StateStorage) throws -> FrozenProgram {
        guard storage == .float16, program.states.contains(where: { names.contains($0.name) }) else { return self }
        return try applying { try $0.roundingStates(names) }
    }

    /// Returns the function with F32 states instead of F16 ones, and without rounding: for formats that have an element
    /// type of their own for states.
    package func wideningStates() throws -> FrozenProgram {
        hasHalfStates ? try applying { try $0.wideningStates() } : self
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

    /// Makes states F16. Blocks are cast before they are written, views of caches stay F16, attention reads F16 keys
    /// and values, and all other operators get casts to F32.
    fileprivate func roundingStates(_ names: Set<String>) throws -> Program {
        let types = Dictionary(uniqueKeysWithValues: names.map { ($0, ElementType.float16) })
        return try rewriting(stateTypes: types) { node, inputs, builder in
            let isHalf = inputs.map { builder.type(of: $0).elementType == .float16 }
            guard isHalf.contains(true) else { return nil }
            if node.operation is any ViewOperator || node.operation is Attention && isHalf[1] && isHalf[2] {
                return nil
            }
            let isUpdate = node.operation is UpdateSlice && isHalf[0]
            let operands = try inputs.enumerated().map { index, input in
                let type: ElementType? = isUpdate ? (index == 1 ? .float16 : nil) : isHalf[index] ? .float32 : nil
                guard let type, builder.type(of: input).elementType != type else { return input }
                return try builder.labelled("\(node.label).cast") { try $0.apply(Cast(to: type), [input]) }
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
