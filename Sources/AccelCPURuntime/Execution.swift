import AccelByteIO
import AccelPrograms
public import AccelTensors

/// An element that programs compute with.
public protocol ExecutionElement: BitwiseCopyable, Sendable {
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

/// One function, ready to run again and again on memory of the caller's: inputs are written, and outputs read, where they
/// lie. After the first run, a run allocates nothing, takes no lock, and wakes the helpers once at most.
///
///     let execution = try session.makeExecution(of: step)
///     try execution.withInput("input_ids", of: Int64.self) { $0[0] = token }
///     try execution.run()
///     let first = try execution.withOutput("logits", of: Float.self) { $0[0] }
///
/// One thread at a time may use it, or any other execution of its session: they share an arena and states.
public final class Execution {
    private let executor: Executor
    private let outputs: [OutputPlace]
    /// Makes outputs contiguous.
    private let copies: [PlacedStep]
    private var isSet: [Bool]
    public var function: CompiledFunction { executor.function }

    /// An output as contiguous elements.
    private struct OutputPlace {
        let memory: OperandMemory
        /// Copies the elements there; none where they are there.
        let steps: [PlacedStep]
        /// Keeps the copy.
        let cell: AddressCell?
    }

    /// - Throws: as `Executor` does.
    public convenience init(
        _ program: CompiledProgram, function index: Int = 0, threads: Int = 1, states: StateMemory? = nil
    ) throws {
        try self.init(Executor(program, function: index, threads: threads, states: states))
    }

    init(_ executor: Executor) throws {
        self.executor = executor
        isSet = executor.function.inputs.map { _ in false }
        outputs = try executor.outputMemory.map { try Self.place(of: $0, in: executor) }
        copies = outputs.flatMap(\.steps)
    }

    private static func place(of output: OperandMemory, in executor: Executor) throws -> OutputPlace {
        if output.isInMemory, output.layout.isContiguous { return OutputPlace(memory: output, steps: [], cell: nil) }
        let bytes = output.shape.count * output.elementType.byteCount
        let cell = AddressCell(try ByteBuffer(allocating: bytes, for: "an output of \(executor.function.name)"))
        let copy = OperandMemory(
            operand: Operand(
                storage: .arena(-1), elementType: output.elementType, layout: StridedLayout(shape: output.shape)),
            place: .memory(cell.place))
        return OutputPlace(memory: copy, steps: try executor.copying(output, to: copy), cell: cell)
    }

    /// Lets runs read an input from a tensor's own bytes, which are kept and not copied. They must not change while a run is
    /// under way.
    /// - Throws: `RequestError` for another name, element type or shape than the function's, and for bytes that do not lie
    ///   on a boundary of their element type.
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

    /// Gives `body` the execution's own memory of an input, row-major, with what it held before.
    /// - Throws: `RequestError` for another name or element type than the function's.
    public func withInput<Element: ExecutionElement, Result>(
        _ name: String, of type: Element.Type, _ body: (inout MutableSpan<Element>) throws -> Result
    ) throws -> Result {
        let index = try input(name, type.elementType)
        let bytes = try executor.memory.ownInput(index)
        isSet[index] = true
        var span = MutableSpan(_unsafeElements: bytes.assumingMemoryBound(to: Element.self))
        return try body(&span)
    }

    /// Runs the function. A run that fails leaves states as it found them.
    /// - Throws: `RequestError` when an input was never set; `ShapeError` naming the operator for values without meaning
    ///   (an index out of range).
    public func run() throws {
        for index in 0..<isSet.count where !isSet[index] {
            let port = function.inputs[index]
            throw RequestError("input \"\(port.name)\" of \(function.name) is missing; expected \(port.typeText)")
        }
        executor.memory.arena.user = nil
        try executor.run(then: copies)
        executor.memory.arena.user = ObjectIdentifier(self)
    }

    /// Gives `body` an output of the last run where it lies, row-major.
    /// - Throws: `RequestError` for another name or element type than the function's, before the first run, and when
    ///   something else of the session has run since.
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
            let hint = nearestName(to: name, among: expected).map { "; did you mean \"\($0)\"?" } ?? ""
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

    /// How often runs have woken helpers.
    package var wakes: Int { executor.team.wakes }
    public var preparation: Preparation { executor.preparation }
}
