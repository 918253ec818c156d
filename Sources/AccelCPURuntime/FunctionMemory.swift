import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The memory of a function that runs: arena, inputs, and the weights that are small enough to stay decoded.
struct FunctionMemory {
    private let function: CompiledFunction
    private var weights: [CompressedTensor]
    let arena: ByteBuffer
    private let inputs: [ByteBuffer]
    private let states: [ByteBuffer]
    /// By the weight's index.
    private var resident: [Int: ByteBuffer] = [:]
    /// Matrices of so many elements stay decoded too: scalars and small tables that any operator may read.
    private static let residentElements = 1 << 12

    init(_ function: CompiledFunction, weights: [CompressedTensor], states: StateMemory) throws {
        self.function = function
        self.weights = weights
        guard function.arenaBytes >= 0 else {
            throw FormatError(file: function.name, reason: "an arena of \(function.arenaBytes) bytes")
        }
        let sizes = try function.inputs.map { try $0.byteCount(in: function.name) }
        let stateSizes = try function.states.map { try $0.port.byteCount(in: function.name) }
        let purpose = "function \(function.name)"
        let decoded = function.calls.map { WholeWeight.byteCount(for: $0, weights) }.max() ?? 0
        try MachineMemory.require(
            MachineMemory.sum([function.arenaBytes, decoded] + sizes + stateSizes), for: purpose)
        arena = try ByteBuffer(allocating: function.arenaBytes, for: purpose)
        inputs = try sizes.map { try ByteBuffer(allocating: $0, for: purpose) }
        self.states = try function.states.map(states.buffer)
        for operand in function.calls.flatMap(\.inputs) + function.outputs.map(\.operand) {
            guard case .weight(let index) = operand.storage, weights.indices.contains(index), resident[index] == nil,
                let buffer = try Self.decoded(weights[index])
            else { continue }
            resident[index] = buffer
        }
    }

    private static func decoded(_ weight: CompressedTensor) throws -> ByteBuffer? {
        if weight.elementType.isFloatingPoint {
            guard weight.shape.rank < 2 || weight.shape.count <= residentElements else { return nil }
            let buffer = try ByteBuffer(allocating: weight.shape.count * MemoryLayout<Float>.stride, for: weight.name)
            weight.codec.decode(
                0..<weight.shape.rows, of: weight, into: buffer.bytes.assumingMemoryBound(to: Float.self))
            return buffer
        }
        // Integers and booleans are never compressed: their only section is the tensor.
        guard let bytes = weight.sections.first else { return nil }
        let stored = StoredTensor(
            name: weight.name, elementType: weight.elementType, shape: weight.shape, bytes: bytes)
        let isFlags = weight.elementType == .bool
        let buffer = try ByteBuffer(
            allocating: weight.shape.count * (isFlags ? 1 : MemoryLayout<Int64>.stride), for: weight.name)
        for (index, value) in stored.integers().enumerated() {
            if isFlags {
                buffer.bytes[index] = value == 0 ? 0 : 1
            } else {
                buffer.bytes.storeBytes(of: value, toByteOffset: index * MemoryLayout<Int64>.stride, as: Int64.self)
            }
        }
        return buffer
    }

    /// - Throws: `FormatError` when the tensor has another shape than the weight.
    mutating func replace(weight index: Int, by tensor: CompressedTensor) throws {
        guard weights.indices.contains(index), weights[index].shape == tensor.shape else {
            throw FormatError(
                file: function.name, reason: "\(tensor.name) of \(tensor.shape) takes the place of no weight")
        }
        weights[index] = tensor
        if resident[index] != nil { resident[index] = try Self.decoded(tensor) }
    }

    /// Copies an input that has been checked.
    func setInput(_ index: Int, to tensor: StoredTensor) {
        tensor.bytes.withBytes { inputs[index].bytes.copyMemory(from: $0) }
    }

    /// Where an operand lies.
    /// - Throws: `FormatError` when that is outside of its storage.
    func operand(_ operand: Operand) throws -> OperandMemory {
        func memory(_ buffer: ByteBuffer, at offset: Int = 0) throws -> OperandMemory {
            guard let last = operand.layout.lastElement, offset >= 0, offset <= buffer.bytes.count,
                last < (buffer.bytes.count - offset) / operand.elementType.byteCount,
                // A buffer's memory is there even when it is empty.
                let start = buffer.bytes.baseAddress
            else { throw outside(operand) }
            return OperandMemory(operand: operand, place: .memory(start + offset))
        }
        switch operand.storage {
        case .arena(let offset): return try memory(arena, at: offset)
        case .input(let index):
            guard inputs.indices.contains(index) else { throw outside(operand) }
            return try memory(inputs[index])
        case .state(let index):
            guard states.indices.contains(index) else { throw outside(operand) }
            return try memory(states[index])
        case .weight(let index):
            if let buffer = resident[index] { return try memory(buffer) }
            guard weights.indices.contains(index), weights[index].shape == operand.shape,
                operand.layout.isContiguous, operand.layout.offset == 0, operand.elementType == .float32
            else { throw outside(operand) }
            return OperandMemory(operand: operand, place: .weight(weights[index]))
        }
    }

    private func outside(_ operand: Operand) -> FormatError {
        FormatError(
            file: function.name,
            reason: "an operand \(operand.elementType.rawValue)\(operand.shape) lies outside of its storage")
    }
}
