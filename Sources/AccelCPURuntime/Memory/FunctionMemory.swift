import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The memory of a function that runs: arena, inputs, states, and the weights that its model shares.
///
/// Operands refer to cells that hold addresses. So calls are prepared before there is any memory, and an input may be
/// memory of the caller's.
final class FunctionMemory {
    private let function: FunctionPlan
    private let weights: ModelWeights
    /// Replacements of weights, by index, for this function only.
    private var replaced: [Int: ModelWeights] = [:]
    let arena: SharedArena
    let states: StateMemory
    private let inputs: [AddressCell]
    /// The buffers that inputs are copied to; allocated on first use.
    private var inputBuffers: [ByteBuffer?]
    /// Keeps the bytes of inputs that are the caller's.
    private var borrowed: [ByteView?]
    private let stateCells: [AddressCell]
    private let (inputSizes, stateSizes): ([Int], [Int])
    private var isThere = false
    /// The address that cells hold until memory is allocated.
    private let none = ByteBuffer(count: 64)
    /// Bytes of the weights that were decoded for this function, and how long that took.
    private(set) var decodedBytes = 0
    private(set) var decoding: Duration = .zero

    /// - Throws: `FormatError` for sizes that overflow.
    init(_ function: FunctionPlan, weights: ModelWeights, states: StateMemory, arena: SharedArena) throws {
        self.function = function
        self.weights = weights
        self.states = states
        self.arena = arena
        guard function.arenaBytes >= 0 else {
            throw FormatError(file: function.name, reason: "an arena of \(function.arenaBytes) bytes")
        }
        inputSizes = try function.inputs.map { try $0.byteCount(in: function.name) }
        stateSizes = try function.states.map { try $0.port.byteCount(in: function.name) }
        inputs = inputSizes.map { [none] _ in AddressCell(none) }
        inputBuffers = inputSizes.map { _ in nil }
        borrowed = inputSizes.map { _ in nil }
        stateCells = stateSizes.map { [none] _ in AddressCell(none) }
    }

    /// Allocates the memory of a run: the planned arena, states, and small weights that are not decoded yet.
    /// - Parameter arenaBytes: of values and scratch.
    /// - Throws: `RequestError` (unavailable) when there is not as much.
    func allocate(arenaBytes: Int) throws {
        let purpose = "function \(function.name)"
        if !isThere {
            try MachineMemory.require(MachineMemory.sum([arenaBytes] + inputSizes + stateSizes), for: purpose)
        }
        try arena.reserve(arenaBytes, for: purpose)
        let clock = ContinuousClock()
        let start = clock.now
        for weights in [weights] + replaced.values { decodedBytes += try weights.pack(for: function.name) }
        decoding += clock.now - start
        guard !isThere else { return }
        isThere = true
        for (cell, state) in zip(stateCells, function.states) {
            let buffer = try states.buffer(of: state)
            cell.set(buffer.bytes.baseAddress.unsafelyUnwrapped, keptBy: buffer)
        }
    }

    /// - Throws: `FormatError` when the tensor has another shape than the weight.
    func replace(weight index: Int, by tensor: CompressedTensor) throws {
        guard weights.tensors.indices.contains(index), weights.tensors[index].shape == tensor.shape else {
            throw FormatError(
                file: function.name, reason: "\(tensor.name) of \(tensor.shape) takes the place of no weight")
        }
        replaced[index] = ModelWeights([tensor])
    }

    /// Copies an input that has been checked.
    func copyInput(_ index: Int, from tensor: StoredTensor) throws {
        let bytes = try ownInput(index)
        tensor.bytes.withBytes { bytes.copyMemory(from: $0) }
    }

    /// The function's own memory of an input, which calls read from now on.
    func ownInput(_ index: Int) throws -> UnsafeMutableRawBufferPointer {
        let buffer: ByteBuffer
        if let own = inputBuffers[index] {
            buffer = own
        } else {
            buffer = try ByteBuffer(allocating: inputSizes[index], for: "function \(function.name)")
            inputBuffers[index] = buffer
        }
        inputs[index].set(buffer.bytes.baseAddress.unsafelyUnwrapped, keptBy: buffer)
        borrowed[index] = nil
        return buffer.bytes
    }

    /// Calls read an input that has been checked where it lies.
    /// - Returns: false, with nothing changed, when it does not lie on a boundary of its element type.
    func borrowInput(_ index: Int, from tensor: StoredTensor) -> Bool {
        tensor.bytes.withBytes { bytes in
            guard let start = bytes.baseAddress, Int(bitPattern: start) % tensor.elementType.byteCount == 0 else {
                return false
            }
            // Calls write to the arena and to states only.
            inputs[index].set(UnsafeMutableRawPointer(mutating: start), keptBy: nil)
            borrowed[index] = tensor.bytes
            return true
        }
    }

    /// Where an operand lies.
    /// - Throws: `FormatError` when that is outside of its storage.
    func operand(_ operand: Operand) throws -> OperandMemory {
        func memory(_ location: MemoryLocation, _ byteCount: Int, at offset: Int = 0) throws -> OperandMemory {
            guard let last = operand.layout.lastElement, offset >= 0, offset <= byteCount,
                last < (byteCount - offset) / operand.elementType.byteCount
            else { throw outside(operand) }
            return OperandMemory(
                operand: operand, location: .memory(MemoryLocation(cell: location.cell, offset: offset)))
        }
        switch operand.storage {
        case .arena(let offset): return try memory(MemoryLocation(cell: arena.cell), function.arenaBytes, at: offset)
        case .input(let index):
            guard inputs.indices.contains(index) else { throw outside(operand) }
            return try memory(inputs[index].location, inputSizes[index])
        case .state(let index):
            guard stateCells.indices.contains(index) else { throw outside(operand) }
            return try memory(stateCells[index].location, stateSizes[index])
        case .weight(let index):
            guard self.weights.tensors.indices.contains(index) else { throw outside(operand) }
            let (weights, number) = replaced[index].map { ($0, 0) } ?? (self.weights, index)
            if let weight = try weights.resident(number) { return try memory(weight.cell.location, weight.byteCount) }
            guard weights.tensors[number].shape == operand.shape, operand.layout.isContiguous,
                operand.layout.offset == 0, operand.elementType == .float32
            else { throw outside(operand) }
            return OperandMemory(operand: operand, location: .weight(weights.stored(number)))
        }
    }

    private func outside(_ operand: Operand) -> FormatError {
        FormatError(
            file: function.name,
            reason: "an operand \(operand.elementType.rawValue)\(operand.shape) lies outside of its storage")
    }
}
