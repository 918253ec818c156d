import AccelByteIO
public import AccelPrograms
import AccelTensors

extension CoreMLPackage {
    /// Imports a function as a program of accelc's operators. Ports of accelc's exports have their roles, others are opaque.
    /// - Parameters:
    ///   - function: the function's name; nil for the default one.
    ///   - shapes: shapes of inputs that allow several, by name; the others have their default shape.
    ///   - purpose: the exact computation of Core ML, or a graph to convert.
    /// - Throws: `FormatError` with the operation that is unknown or inconsistent; `RequestError` for an unknown function, and
    ///   for an operation that a graph does not support.
    public func program(
        function: String? = nil, shapes: [String: [Int]] = [:], for purpose: ImportPurpose = .meaning
    ) throws -> FrozenProgram {
        let name = function ?? model.interfaces.first?.function ?? "main"
        guard let found = model.program.functions.first(where: { $0.name == name }) else {
            let names = model.program.functions.map(\.name)
            let hint = suggestion(for: name, among: names)
            throw RequestError("\(path) has no function \"\(name)\"\(hint) (it has: \(names.joined(separator: ", ")))")
        }
        let weights = found.operations.filter { $0.isConstant && $0.type != "const" }.flatMap(\.outputs)
        try MachineMemory.require(
            MachineMemory.sum(weights.map { $0.content.tensor.decompressedBytes }),
            for: "\(path): decompressing the weights of \(name)")
        return try blaming(name) {
            var interpreter = try FunctionInterpreter(found, of: self, for: purpose)
            return try FrozenProgram(
                try declaring(try interpreter.program(shapes: shapes)), bindings: ShapeBindings())
        }
    }

    /// Runs `body` and reports the errors of operators as corruption of the package. Operators report bad operands as errors of
    /// the request, but here operators and operands come from the package.
    /// - Throws: `FormatError` in place of `ShapeError` and `OperatorError`.
    public func blaming<Result>(_ location: String, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as ShapeError {
            throw self.error(location, error.description)
        } catch let error as OperatorError {
            throw self.error(location, error.description)
        }
    }

    /// Runs a function with the reference implementation of its operations.
    /// - Parameters:
    ///   - function: the function's name; nil for the default one.
    ///   - inputs: the inputs by name; their shapes choose among the allowed ones.
    ///   - states: the states by name, updated by the run; missing ones start as zeros.
    /// - Returns: the outputs by name; outputs that are split into parts also as a whole.
    /// - Throws: as `program(function:shapes:for:)`.
    public func run(
        function: String? = nil, inputs: [String: HostTensor], states: inout [String: HostTensor]
    ) throws -> [String: HostTensor] {
        try run(
            program(function: function, shapes: inputs.mapValues(\.shape.dimensions)), inputs: inputs, states: &states)
    }

    /// Runs an imported function of the package, as `run(function:inputs:states:)` does.
    package func run(
        _ program: FrozenProgram, inputs: [String: HostTensor], states: inout [String: HostTensor]
    ) throws -> [String: HostTensor] {
        for input in program.program.inputs {
            let type = program.program.type(of: input.value)
            guard let given = inputs[input.name], given.type == type else {
                let described = model.interfaces.first { $0.function == program.program.name }?.inputs
                let feature = described?.first { $0.name == input.name }
                if let given = inputs[input.name], feature?.type.sizes == given.shape.dimensions {
                    throw error(input.name, "is described as \(given.type), but the function takes \(type)")
                }
                throw RequestError(
                    "\(path): input \(input.name) is \(type), but "
                        + (inputs[input.name].map { "\($0.type) is given" } ?? "nothing is given"))
            }
        }
        let outputs = try program.evaluate(inputs, states: &states)
        let named = Dictionary(outputs.map { ($0.name, $0.tensor) }) { first, _ in first }
        return try joiningParts(of: named, in: program.program.name)
    }

    /// Returns the outputs of a function, with those added that it returns in parts, joined along the last axis.
    public func joiningParts(
        of outputs: [String: HostTensor], in function: String
    ) throws -> [String: HostTensor] {
        var named = outputs
        for (name, parts) in model.parts(of: function) {
            let tensors = parts.compactMap { named[$0] }
            guard tensors.count == parts.count, let rank = tensors.first?.shape.rank, rank > 0, named[name] == nil
            else { throw error(name, "the outputs that are its parts are not there") }
            let concat = Concat(axis: rank - 1)
            _ = try concat.outputTypes(tensors.map(\.type))
            named[name] = try concat.evaluate(tensors)[0]
        }
        return named
    }
}
