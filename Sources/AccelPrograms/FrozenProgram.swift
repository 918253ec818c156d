public import AccelTensors

/// A program in which every dimension is a number.
public struct FrozenProgram: Sendable {
    /// The program with integer shapes.
    public let program: Program
    /// The numbers that its free dimensions were given.
    public let bindings: ShapeBindings
    /// Effects of the chosen numbers beyond shapes, such as
    /// `decoder, cache=2048: rotary embeddings by the short factors`.
    public let remarks: [String]

    /// The name that runs and packages use, such as `model[batch=1,sequence=128]`; the program's name if it had no free
    /// dimension.
    public var functionName: String { bindings.numbers.isEmpty ? program.name : "\(program.name)[\(bindings)]" }

    /// Checks that a program has integer shapes only.
    /// - Throws: `ShapeError`, naming the operator and the dimension, if a dimension is still free.
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

    /// Wraps a program without the check.
    /// - Parameter program: has integer shapes only.
    package init(frozen program: Program, bindings: ShapeBindings, remarks: [String] = []) {
        self.program = program
        self.bindings = bindings
        self.remarks = remarks
    }

    /// Returns the shape of a value.
    public func shape(of value: Value) -> Shape { program.type(of: value).shape ?? [] }

    /// Returns the function with another interface. Nothing is checked.
    package func with(_ interface: Interface) -> FrozenProgram {
        FrozenProgram(frozen: program.with(interface: interface), bindings: bindings, remarks: remarks)
    }

    /// Returns the function after a pass, with all shape rules checked again.
    /// - Throws: `ShapeError` if the result is not a valid program, and the errors of the pass.
    public func applying(_ pass: (Program) throws -> Program) throws -> FrozenProgram {
        let changed = try pass(program)
        try changed.validate()
        return try FrozenProgram(changed, bindings: bindings, remarks: remarks)
    }
}
