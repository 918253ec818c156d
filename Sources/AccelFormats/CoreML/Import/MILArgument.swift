import AccelPrograms
import AccelTensors

/// A value of a function during the import.
struct MILArgument {
    enum Content {
        /// A computed value.
        case computed(Value)
        /// A small tensor that is known at import: shapes, axes, and results computed from these.
        case known(HostTensor)
        /// A constant of the package.
        case weight(StoredTensor)
        case words([String])
        /// The name of a state.
        case state(String)
    }
    var type: MILDataType
    var content: Content
    /// The elements of a concatenated list of integers, each known or computed.
    var parts: [MILArgument]?
}

/// An operation during the import: its parameters, and the program to extend. (One value serves all operations of a
/// function, so that the program is not copied.)
struct MILCall {
    var operation: MILOperation
    var arguments: [String: [MILArgument]] = [:]
    var builder: ProgramBuilder
    var purpose = ImportPurpose.meaning
    /// The names of the operators that the operation added so far.
    private var operators: Set<String> = []

    init(operation: MILOperation, builder: ProgramBuilder) {
        (self.operation, self.builder) = (operation, builder)
    }

    /// Returns the operators of the operation, and clears them for the next one.
    mutating func takeOperators() -> Set<String> {
        defer { operators = [] }
        return operators
    }
    /// The current value of each state.
    var states: [String: Value] = [:]

    struct Problem: Error {
        let reason: String
    }

    /// The error for an operation that a graph of registered operators does not support, in an intact package.
    struct Gap: Error {
        let reason: String
    }

    /// The declared shape of each output; nil if a size is unknown.
    var declared: [[Int]?] { operation.outputs.map(\.content.tensor.sizes) }

    var resultType: MILDataType { operation.outputs.first?.content.tensor.dataType ?? .float32 }

    // MARK: Parameters

    func has(_ name: String) -> Bool { arguments[name] != nil }

    func all(_ name: String) throws -> [MILArgument] {
        guard let values = arguments[name], !values.isEmpty else { throw Problem(reason: "has no \(name)") }
        return values
    }

    func one(_ name: String) throws -> MILArgument {
        let values = try all(name)
        guard values.count == 1 else { throw Problem(reason: "\(name): expected 1 value, found \(values.count)") }
        return values[0]
    }

    /// Returns a parameter that is known at import; `fallback` if it is left out.
    func known(_ name: String, _ fallback: HostTensor? = nil) throws -> HostTensor {
        guard has(name) else {
            guard let fallback else { throw Problem(reason: "has no \(name)") }
            return fallback
        }
        // A list may be given as one vector or as several scalars.
        let parts = try all(name).map { argument in
            switch argument.content {
            case .known(let tensor): tensor
            case .weight(let stored): HostTensor(stored)
            default: throw Problem(reason: "\(name) has to be known before the model runs")
            }
        }
        guard parts.count > 1 else { return parts[0] }
        return HostTensor(parts.flatMap(\.integers), [parts.reduce(0) { $0 + $1.shape.count }])
    }

    func integers(_ name: String, _ fallback: [Int]? = nil) throws -> [Int] {
        if !has(name), let fallback { return fallback }
        return try known(name).integers.map { Int($0) }
    }

    func integer(_ name: String, _ fallback: Int? = nil) throws -> Int {
        let values = try integers(name, fallback.map { [$0] })
        guard values.count == 1 else { throw Problem(reason: "\(name) is no single number") }
        return values[0]
    }

    func number(_ name: String, _ fallback: Double? = nil) throws -> Double {
        if !has(name), let fallback { return fallback }
        let values = try known(name).floats
        guard values.count == 1 else { throw Problem(reason: "\(name) is no single number") }
        return Double(values[0])
    }

    func flag(_ name: String, _ fallback: Bool? = nil) throws -> Bool {
        if !has(name), let fallback { return fallback }
        let values = try known(name).flags
        guard values.count == 1 else { throw Problem(reason: "\(name) is no single flag") }
        return values[0]
    }

    func flags(_ name: String, count: Int) throws -> [Bool] {
        guard has(name) else { return [Bool](repeating: false, count: count) }
        let flags = try known(name).flags
        guard flags.count == count else {
            throw Problem(reason: "\(name): expected \(count) flags, found \(flags.count)")
        }
        return flags
    }

    func word(_ name: String, _ fallback: String? = nil) throws -> String {
        if !has(name), let fallback { return fallback }
        guard case .words(let words) = try one(name).content, words.count == 1 else {
            throw Problem(reason: "\(name) is no word")
        }
        return words[0]
    }

    /// Resolves an axis; a negative one counts from the end.
    func axis(_ axis: Int, rank: Int) throws -> Int {
        let own = axis < 0 ? axis + rank : axis
        guard (0..<rank).contains(own) else { throw Problem(reason: "there is no axis \(axis) of \(rank)") }
        return own
    }

    // MARK: Values

    func type(of argument: MILArgument) throws -> TensorType {
        switch argument.content {
        case .computed(let value): return builder.type(of: value)
        case .known(let tensor): return tensor.type
        case .weight(let stored):
            let isFloat = stored.elementType.isFloatingPoint
            return TensorType(isFloat ? .float32 : stored.elementType == .bool ? .bool : .int64, shape: stored.shape)
        case .words, .state: throw Problem(reason: "expected a tensor, found text or a state")
        }
    }

    func sizes(of argument: MILArgument) throws -> [Int] { try type(of: argument).shape?.dimensions ?? [] }

    func isFloat(_ argument: MILArgument) throws -> Bool { try type(of: argument).elementType == .float32 }

    mutating func value(_ argument: MILArgument) throws -> Value {
        switch argument.content {
        case .computed(let value): return value
        case .known(let tensor): return builder.literal(tensor, name: "known")
        case .weight(let stored): return builder.constant(stored, isWeight: stored.elementType.isFloatingPoint)
        case .words, .state: throw Problem(reason: "expected a tensor, found text or a state")
        }
    }

    /// Applies an operator, or computes its result if all arguments are known.
    mutating func apply(_ operation: any Operator, _ arguments: [MILArgument]) throws -> MILArgument {
        let known = arguments.compactMap { if case .known(let tensor) = $0.content { tensor } else { nil } }
        if known.count == arguments.count {
            let types = try operation.outputTypes(known.map(\.type))
            guard types.allSatisfy({ ($0.shape?.checkedCount ?? .max) <= 1 << 24 }) else {
                throw Problem(reason: "a constant of more than 2^24 elements")
            }
            return MILArgument(type: resultType, content: .known(try operation.evaluate(known)[0]))
        }
        if purpose == .graph {
            // A graph keeps float32 results, without Core ML's rounding to float16.
            if operation is HalfRounding { return arguments[0] }
            if let host = operation as? HostOperation {
                guard let graph = host.graph else {
                    throw Gap(reason: "no operator of accelc computes \(host.meaning)")
                }
                return try graph(&self, arguments)
            }
        }
        var values: [Value] = []
        for argument in arguments { values.append(try value(argument)) }
        operators.insert(operation.name)
        return MILArgument(type: resultType, content: .computed(try builder.apply(operation, values)))
    }

    func scalar(_ number: Double) -> MILArgument { self.known(HostTensor([Float(number)], [])) }

    func known(_ tensor: HostTensor) -> MILArgument { MILArgument(type: resultType, content: .known(tensor)) }

    mutating func reshaped(_ argument: MILArgument, _ sizes: [Int]) throws -> MILArgument {
        if try self.sizes(of: argument) == sizes { return argument }
        return try apply(Reshape(to: sizes.map(Dimension.fixed)), [argument])
    }

    mutating func transposed(_ argument: MILArgument, _ permutation: [Int]) throws -> MILArgument {
        permutation == Array(permutation.indices) ? argument : try apply(Transpose(permutation), [argument])
    }

    /// Converts the arguments to float32 for `body`, and the result back if they were integers.
    mutating func inFloats(
        _ arguments: [MILArgument], _ body: (inout MILCall, [MILArgument]) throws -> MILArgument
    ) throws -> MILArgument {
        let type = try self.type(of: arguments[0]).elementType
        if type == .float32 { return try body(&self, arguments) }
        var floats: [MILArgument] = []
        for argument in arguments { floats.append(try apply(Cast(to: .float32), [argument])) }
        return try apply(Cast(to: type), [try body(&self, floats)])
    }
}
