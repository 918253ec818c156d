public import AccelByteIO
import AccelPrograms
public import AccelTensors

/// A Swift type that programs use for elements: `Float`, `Int64` or `Bool`.
public protocol ExecutionElement: BitwiseCopyable, Sendable {
    /// The element type of values with these elements.
    static var elementType: ElementType { get }
}
extension Float: ExecutionElement {
    public static var elementType: ElementType { .float32 }
}
extension Int64: ExecutionElement {
    public static var elementType: ElementType { .int64 }
}
extension Bool: ExecutionElement {
    public static var elementType: ElementType { .bool }
}

/// One function, prepared for repeated runs. The caller writes inputs and reads outputs in place. After the first run,
/// a run allocates nothing, takes no lock, and wakes the helper threads at most once.
///
///     let execution = try session.makeExecution(of: step)
///     try execution.withInput("input_ids", of: Int64.self) { $0[0] = 101 }
///     try execution.run()
///     let first = try execution.withOutput("logits", of: Float.self) { $0[0] }
///
/// Only one thread at a time may use the executions of a session: they share an arena and states.
public final class Execution {
    private let executor: Executor
    private let outputs: [OutputLocation]
    /// Steps that copy strided outputs to contiguous memory.
    private let copies: [PlacedStep]
    private var isSet: [Bool]
    /// The function that the execution runs.
    public var function: FunctionPlan { executor.function }

    /// An output as contiguous elements.
    private struct OutputLocation {
        let memory: OperandMemory
        /// Steps that copy the elements there; empty if the output is contiguous already.
        let steps: [PlacedStep]
        /// Owns the copy; nil if there is none.
        let cell: AddressCell?
    }

    /// Creates an execution of the function at `index` of `program.functions`. Executions that share states get the
    /// same `states`.
    /// - Throws: the errors of `Executor.init`.
    public convenience init(
        _ program: ModelPlan, function index: Int = 0, threads: Int = 1, states: StateMemory? = nil
    ) throws {
        try self.init(Executor(program, function: index, threads: threads, states: states))
    }

    init(_ executor: Executor) throws {
        self.executor = executor
        isSet = executor.function.inputs.map { _ in false }
        outputs = try executor.outputMemory.map { try Self.location(of: $0, in: executor) }
        copies = outputs.flatMap(\.steps)
    }

    private static func location(of output: OperandMemory, in executor: Executor) throws -> OutputLocation {
        if output.isInMemory, output.layout.isContiguous { return OutputLocation(memory: output, steps: [], cell: nil) }
        let bytes = output.shape.count * output.elementType.byteCount
        let cell = AddressCell(try ByteBuffer(allocating: bytes, for: "an output of \(executor.function.name)"))
        let copy = OperandMemory(
            operand: Operand(
                storage: .arena(-1), elementType: output.elementType, layout: StridedLayout(shape: output.shape)),
            location: .memory(cell.location))
        return OutputLocation(memory: copy, steps: try executor.copying(output, to: copy), cell: cell)
    }

    /// Makes runs read an input from a tensor's own bytes, which are retained and not copied. They must not change
    /// during a run.
    /// - Throws: `RequestError` if the name, element type or shape is not the function's, or if the bytes are not
    ///   aligned to their element type.
    public func setInput(_ name: String, to tensor: StoredTensor) throws {
        let index = try input(name, tensor.elementType)
        let port = function.inputs[index]
        guard tensor.shape == port.shape else {
            throw RequestError(
                "input \"\(name)\" of \(function.name): expected \(port.typeText), "
                    + "found \(tensor.elementType.rawValue)\(tensor.shape)")
        }
        guard executor.memory.borrowInput(index, from: tensor) else {
            throw RequestError(
                "input \"\(name)\" of \(function.name) does not lie on a boundary of \(port.elementType.byteCount) bytes; "
                    + "copy it to memory that does")
        }
        isSet[index] = true
    }

    /// Calls `body` with the execution's own memory of an input, row-major, with its previous contents.
    /// - Throws: `RequestError` if the name or element type is not the function's.
    public func withInput<Element: ExecutionElement, Result>(
        _ name: String, of type: Element.Type, _ body: (inout MutableSpan<Element>) throws -> Result
    ) throws -> Result {
        let index = try input(name, type.elementType)
        let bytes = try executor.memory.ownInput(index)
        isSet[index] = true
        var span = MutableSpan(_unsafeElements: bytes.assumingMemoryBound(to: Element.self))
        return try body(&span)
    }

    /// Runs the function. A run that fails leaves the states unchanged.
    /// - Parameter cancellation: ends the run early, between pieces of work.
    /// - Throws: `RequestError` if an input was never set; `ShapeError` naming the operator for invalid values, such as
    ///   an index out of range; as `Cancellation.check` does.
    public func run(until cancellation: Cancellation? = nil) throws {
        for index in 0..<isSet.count where !isSet[index] {
            let port = function.inputs[index]
            throw RequestError("input \"\(port.name)\" of \(function.name) is missing; expected \(port.typeText)")
        }
        executor.memory.arena.user = nil
        try executor.run(then: copies, until: cancellation)
        executor.memory.arena.user = ObjectIdentifier(self)
    }

    /// Calls `body` with an output of the last run in place, row-major.
    /// - Throws: `RequestError` if the name or element type is not the function's, before the first run, and after a
    ///   run of another execution of the session.
    public func withOutput<Element: ExecutionElement, Result>(
        _ name: String, of type: Element.Type, _ body: (Span<Element>) throws -> Result
    ) throws -> Result {
        guard let index = function.outputs.firstIndex(where: { $0.name == name }) else {
            let names = function.outputs.map(\.name)
            throw RequestError("\(function.name) has no output \"\(name)\" (it has: \(names.joined(separator: ", ")))")
        }
        let memory = outputs[index].memory
        guard memory.elementType == type.elementType, let start = memory.start(as: Element.self) else {
            throw RequestError(
                "output \"\(name)\" of \(function.name): expected \(memory.elementType.rawValue), "
                    + "found \(type.elementType.rawValue)")
        }
        guard executor.memory.arena.user == ObjectIdentifier(self) else {
            throw RequestError(
                "the outputs of \(function.name) are gone: read them after its run, before another function of the session runs"
            )
        }
        return try body(
            Span(_unsafeElements: UnsafeBufferPointer(start: UnsafePointer(start), count: memory.shape.count)))
    }

    private func input(_ name: String, _ elementType: ElementType) throws -> Int {
        guard let index = function.inputs.firstIndex(where: { $0.name == name }) else {
            let expected = function.inputs.map(\.name)
            let hint = suggestion(for: name, among: expected)
            throw RequestError(
                "\(function.name) has no input \"\(name)\"\(hint) (it has: \(expected.joined(separator: ", ")))")
        }
        guard function.inputs[index].elementType == elementType else {
            throw RequestError(
                "input \"\(name)\" of \(function.name): expected \(function.inputs[index].elementType.rawValue), "
                    + "found \(elementType.rawValue)")
        }
        return index
    }

    /// The number of times that runs have woken helper threads.
    package var wakes: Int { executor.team.wakes }
    /// The cost of preparing the function.
    public var preparation: Preparation { executor.preparation }
}
