import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The memory of a function that runs: arena, inputs, and the weights that are small enough to stay decoded.
///
/// Operands refer to cells that hold addresses. So calls are prepared before there is any memory, and an input may be
/// memory of the caller's.
final class FunctionMemory {
    private let function: CompiledFunction
    private var weights: [CompressedTensor]
    let arena: SharedArena
    let states: StateMemory
    private let inputs: [AddressCell]
    /// What an input is copied to; made when it is first needed.
    private var inputBuffers: [ByteBuffer?]
    /// Keeps the bytes of inputs that are the caller's.
    private var borrowed: [ByteView?]
    private let stateCells: [AddressCell]
    /// Weights that any operator reads from memory, by their index.
    private var resident: [Int: (cell: AddressCell, byteCount: Int)] = [:]
    /// Weights that are read as they are stored, by their index.
    private var stored: [Int: StoredWeight] = [:]
    private let (inputSizes, stateSizes): ([Int], [Int])
    private var isThere = false
    /// What cells refer to as long as there is no memory.
    private let none = ByteBuffer(count: 64)
    /// Bytes of the weights that are kept decoded, and how long decoding them took.
    private(set) var decodedBytes = 0
    private(set) var decoding: Duration = .zero

    /// - Throws: `FormatError` for sizes that overflow.
    init(_ function: CompiledFunction, weights: [CompressedTensor], states: StateMemory, arena: SharedArena) throws {
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

    /// Takes the memory that a run needs: what the plan says, states, and decoded weights.
    /// - Parameter arenaBytes: of values and scratch.
    /// - Throws: `RequestError` (unavailable) when there is not as much.
    func allocate(arenaBytes: Int) throws {
        let purpose = "function \(function.name)"
        if !isThere {
            try MachineMemory.require(MachineMemory.sum([arenaBytes] + inputSizes + stateSizes), for: purpose)
        }
        try arena.reserve(arenaBytes, for: purpose)
        guard !isThere else { return }
        isThere = true
        for (cell, state) in zip(stateCells, function.states) {
            let buffer = try states.buffer(of: state)
            cell.set(buffer.bytes.baseAddress.unsafelyUnwrapped, keptBy: buffer)
        }
        let (clock, indices) = (ContinuousClock(), resident.keys.sorted())
        let start = clock.now
        decodedBytes = try pack(indices)
        decoding = clock.now - start
    }

    /// Makes the weights that are small enough readable by any operator: where they are stored, or decoded side by side.
    /// - Returns: the bytes that were decoded.
    private func pack(_ indices: [Int]) throws -> Int {
        var (starts, bytes): ([(index: Int, start: Int)], Int) = ([], 0)
        for index in indices {
            if let (address, owner) = ResidentWeight(weights[index])?.inPlace {
                resident[index]?.cell.set(address, keptBy: owner)
            } else {
                starts.append((index, bytes))
                bytes += ((resident[index]?.byteCount ?? 0) + 63) / 64 * 64
            }
        }
        guard !starts.isEmpty else { return 0 }
        let buffer = try ByteBuffer(allocating: bytes, for: "the small weights of function \(function.name)")
        for (index, start) in starts {
            guard let weight = resident[index] else { continue }
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[start..<start + weight.byteCount])
            ResidentWeight(weights[index])?.decode(into: part)
            weight.cell.set(buffer.bytes.baseAddress.unsafelyUnwrapped + start, keptBy: buffer)
        }
        return bytes
    }

    /// - Throws: `FormatError` when the tensor has another shape than the weight.
    func replace(weight index: Int, by tensor: CompressedTensor) throws {
        guard weights.indices.contains(index), weights[index].shape == tensor.shape else {
            throw FormatError(
                file: function.name, reason: "\(tensor.name) of \(tensor.shape) takes the place of no weight")
        }
        weights[index] = tensor
        stored[index] = nil
        if resident[index] != nil, isThere { _ = try pack([index]) }
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
        func memory(_ place: MemoryPlace, _ byteCount: Int, at offset: Int = 0) throws -> OperandMemory {
            guard let last = operand.layout.lastElement, offset >= 0, offset <= byteCount,
                last < (byteCount - offset) / operand.elementType.byteCount
            else { throw outside(operand) }
            return OperandMemory(operand: operand, place: .memory(MemoryPlace(cell: place.cell, offset: offset)))
        }
        switch operand.storage {
        case .arena(let offset): return try memory(MemoryPlace(cell: arena.cell), function.arenaBytes, at: offset)
        case .input(let index):
            guard inputs.indices.contains(index) else { throw outside(operand) }
            return try memory(inputs[index].place, inputSizes[index])
        case .state(let index):
            guard stateCells.indices.contains(index) else { throw outside(operand) }
            return try memory(stateCells[index].place, stateSizes[index])
        case .weight(let index):
            guard weights.indices.contains(index) else { throw outside(operand) }
            if let weight = try residentWeight(index) { return try memory(weight.cell.place, weight.byteCount) }
            guard weights[index].shape == operand.shape, operand.layout.isContiguous, operand.layout.offset == 0,
                operand.elementType == .float32
            else { throw outside(operand) }
            let weight = stored[index] ?? StoredWeight(weights[index])
            stored[index] = weight
            return OperandMemory(operand: operand, place: .weight(weight))
        }
    }

    private func residentWeight(_ index: Int) throws -> (cell: AddressCell, byteCount: Int)? {
        if let weight = resident[index] { return weight }
        guard let bytes = try ResidentWeight(weights[index])?.byteCount() else { return nil }
        let weight = (cell: AddressCell(none), byteCount: bytes)
        resident[index] = weight
        if isThere { _ = try pack([index]) }
        return weight
    }

    private func outside(_ operand: Operand) -> FormatError {
        FormatError(
            file: function.name,
            reason: "an operand \(operand.elementType.rawValue)\(operand.shape) lies outside of its storage")
    }
}
