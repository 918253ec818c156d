public import AccelTensors

/// A program whose every dimension is a number.
public struct FrozenProgram: Sendable {
    public let program: Program
    public let bindings: ShapeBindings
    /// What the numbers decide beyond shapes, e.g. `decoder, cache=2048: rotary embeddings by the short factors`.
    public let remarks: [String]

    /// e.g. `model[batch=1,sequence=128]`; just the program's name when nothing was free.
    public var functionName: String { bindings.numbers.isEmpty ? program.name : "\(program.name)[\(bindings)]" }

    /// - Throws: `ShapeError` when a dimension is still free.
    public init(_ program: Program, bindings: ShapeBindings, remarks: [String] = []) throws {
        for node in program.nodes {
            for value in node.inputs + node.outputs where program.type(of: value).shape == nil {
                let free = program.type(of: value).dimensions.flatMap(\.names).sorted()
                throw ShapeError(
                    operator: "\(node.operation.name) \"\(node.label)\"",
                    reason: "dimension \(free.joined(separator: ", ")) of \(program.type(of: value)) has no number")
            }
        }
        self.init(frozen: program, bindings: bindings, remarks: remarks)
    }

    /// - Parameter program: known to have numbers only.
    package init(frozen program: Program, bindings: ShapeBindings, remarks: [String] = []) {
        self.program = program
        self.bindings = bindings
        self.remarks = remarks
    }

    /// The extents of a value.
    public func shape(of value: Value) -> Shape { program.type(of: value).shape ?? [] }

    /// The same function with another interface. Nothing is checked.
    package func with(_ interface: Interface) -> FrozenProgram {
        FrozenProgram(frozen: program.with(interface: interface), bindings: bindings, remarks: remarks)
    }

    /// Applies a pass to the program, shape rules checked after it.
    public func applying(_ pass: (Program) throws -> Program) throws -> FrozenProgram {
        let changed = try pass(program)
        try changed.validate()
        return try FrozenProgram(changed, bindings: bindings, remarks: remarks)
    }
}
