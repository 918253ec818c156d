public import AccelByteIO
public import AccelPrograms
public import AccelTensors

/// The tensors of a file as samples of a model's inputs, as `--calibrate` and `verify --inputs` take them.
///
/// A tensor has the name of an input, or `in.` and that name. The first dimension of every input, the batch, counts
/// samples. A missing integer input is 0 everywhere, such as a position, and a missing attention mask 1; tokens are needed.
public struct SampleInputs: Sendable {
    /// The name of the mask in files for functions without a mask input.
    package static let maskName = "attention_mask"
    /// By the input's name.
    public let tensors: [String: StoredTensor]
    /// The path of the file, for errors.
    public let file: String

    /// Sorts the tensors of a file by the inputs that they are for.
    public init(_ tensors: [StoredTensor], file: String) {
        self.init(NamedTensors(tensors, file: file).inputs, file: file)
    }

    /// Creates samples from tensors by the name of their input.
    public init(_ tensors: [String: StoredTensor], file: String) { (self.tensors, self.file) = (tensors, file) }

    /// Returns the mask of positions of a function with this interface; nil if the file has none.
    func mask(_ interface: Interface) -> HostTensor? {
        let name = interface.inputs.first { $0.value.kind == .attentionMask }?.key
        return tensors[name ?? Self.maskName].map(HostTensor.init)
    }

    /// Rejects tensors whose names are nearly the names of inputs: they would be passed over, as others are that belong to no input.
    /// - Parameter names: the inputs and states of all functions.
    /// - Throws: `RequestError` naming both.
    package func rejectMisspelt(besides names: some Sequence<String>) throws {
        let known = Set(names).union([Self.maskName])
        for name in tensors.keys.sorted() where !known.contains(name) {
            let open = known.filter { tensors[$0] == nil }
            guard let near = nearestName(to: name, among: open) else { continue }
            throw RequestError("\(file): no function has an input \"\(name)\"\(suggestion(near))")
        }
    }

    /// Checks that the mask for a function without a mask input has a value for each token.
    /// - Parameter tokens: the name of the function's tokens.
    /// - Throws: `RequestError` naming both.
    package func requireMask(over tokens: String) throws {
        guard let mask = tensors[Self.maskName], let tokens = tensors[tokens], mask.shape != tokens.shape else {
            return
        }
        throw RequestError(
            "\(file): \"\(Self.maskName)\" is \(mask.shape), but \"\(tokens.name)\" is \(tokens.shape): the mask has a value for each token; "
                + "leave one of sound or images out")
    }

    /// Returns the value of an input: the file's tensor, or what stands for a missing one.
    /// - Parameter mask: the positions that count; nil if all do.
    /// - Throws: `RequestError` if the tensor has another type or shape, or tokens of another model, or if an input is missing.
    func value(
        _ name: String, _ type: TensorType, _ role: Role?, mask: HostTensor?, of function: String
    ) throws -> HostTensor {
        guard let tensor = tensors[name] else {
            guard let value = Self.missing(type, role) else {
                throw RequestError("\(file) has no tensor \"\(name)\", an input of \(function)")
            }
            return value
        }
        let values = HostTensor(tensor)
        guard values.type == type else {
            throw RequestError("\(file): \"\(tensor.name)\" is \(values.type), but the input of \(function) is \(type)")
        }
        try requireKnownNumbers(tensor, role, mask: mask?.flags)
        return values
    }

    /// Returns the keys and values of an encoder that a part reads as states: the file's tensors of their names.
    /// - Throws: `RequestError` if one is missing: the part would run on zeros, which are those of no encoder.
    func states(of part: Program, _ bindings: ShapeBindings) throws -> [String: HostTensor] {
        try part.encoderStates.reduce(into: [:]) { found, state in
            let type = part.type(of: state.value)
            let wanted = TensorType(type.elementType, type.dimensions.map { $0.binding(bindings.numbers) })
            guard let tensor = tensors[state.name].map(HostTensor.init) else {
                throw RequestError(
                    "\(file): \(part.name) reads the state \"\(state.name)\", an encoder's keys or values, which nothing in the file "
                        + "makes: give the inputs of the encoder too, as run takes them, or a tensor of that name")
            }
            guard tensor.type == wanted else {
                throw RequestError(
                    "\(file): state \"\(state.name)\" of \(part.name): expected \(wanted), found \(tensor.type)")
            }
            found[state.name] = tensor
        }
    }

    /// - Throws: `RequestError` for a number that has no meaning, such as a token of another model, at a position that counts.
    private func requireKnownNumbers(_ tensor: StoredTensor, _ role: Role?, mask: [Bool]?) throws {
        guard let reason = role?.foreignNumber(in: tensor, mask: mask) else { return }
        throw RequestError("\(file): \"\(tensor.name)\": \(reason)")
    }

    /// Returns the value of an input that the file leaves out; nil for floating-point numbers, tokens and codes.
    private static func missing(_ type: TensorType, _ role: Role?) -> HostTensor? {
        guard [.int64, .bool].contains(type.elementType), type.shape != nil, role?.kind != .tokens, role?.kind != .codes
        else { return nil }
        return HostTensor(Double(role?.standIn ?? 0), filling: type)
    }
}

/// The error for samples with more positions than a function takes; another function may take them.
public struct SamplesTooLong: ReportedError {
    public let diagnostic: Diagnostic
    public var description: String { diagnostic.text }
    public var exitStatus: ExitStatus { .usage }
}

extension SampleInputs {
    /// The inputs of a function for one run over samples.
    public struct Run: Sendable {
        /// By name. Read from the file each time: those of all runs take more memory than a model.
        public var inputs: [String: HostTensor] { read() }
        fileprivate let read: @Sendable () -> [String: HostTensor]
        /// The number of rows, and of those, from the first on, whose samples no other run has.
        public let rows: (all: Int, own: Int)
        /// The number of samples of the file.
        public let samples: Int
    }

    /// The values of an input in all samples.
    private struct SampledValues: Sendable {
        let tensor: StoredTensor
        /// The first dimension counts samples.
        var isBatched: Bool
        /// The size of the second dimension in a run; nil for the file's.
        var positions: Int?

        func value(of samples: [Int]) -> HostTensor {
            isBatched ? tensor.samples(samples, positions: positions) : HostTensor(tensor)
        }
    }

    /// Returns all samples as inputs of a function with fixed sizes, run by run. Samples that are shorter than the function's
    /// positions are filled up behind a mask; longer ones are cut where a mask hides the rest, or where the function is a decoder,
    /// for which the rest comes later. The last run starts again with the first samples where some are missing, which count once.
    /// - Parameters:
    ///   - ports: the function's inputs.
    ///   - leavesOut: leaves out samples that are too long, if there are others.
    /// - Returns: nil if the file has none of the inputs, or inputs of other sizes.
    /// - Throws: `SamplesTooLong` if more positions of a sample count than the function takes; `RequestError` for tokens of another
    ///   model.
    public func runs(
        of function: String, _ ports: [FrozenProgram.Port], _ interface: Interface, leavingOut leavesOut: Bool = false
    ) throws -> [Run]? {
        let given = ports.filter { tensors[$0.name] != nil }
        guard !given.isEmpty else { return nil }
        for port in given {
            try tensors[port.name].map { try requireKnownNumbers($0, interface.inputs[port.name], mask: nil) }
        }
        func kind(_ port: FrozenProgram.Port) -> RoleKind? { interface.inputs[port.name]?.kind }
        func shape(_ port: FrozenProgram.Port) -> [Int] { tensors[port.name]?.shape.dimensions ?? [] }
        // A position is the same for all samples.
        let sampled = given.filter { kind($0) != .position && $0.shape.rank > 0 && shape($0).count == $0.shape.rank }
        let sizes = Set(sampled.map { $0.shape.dimensions[0] })
        let counts = Set(sampled.map { shape($0)[0] })
        guard let size = sizes.first, let count = counts.first, sizes.count == 1, counts.count == 1, size > 0, count > 0
        else { return nil }
        let batched = Set(sampled.map(\.name))
        var values = given.reduce(into: [String: SampledValues]()) { values, port in
            values[port.name] = tensors[port.name].map {
                SampledValues(tensor: $0, isBatched: batched.contains(port.name))
            }
        }
        let mask = mask(interface)
        var fitting = Array(0..<count)
        for port in sampled where shape(port).dropFirst() != port.shape.dimensions.dropFirst() {
            guard port.shape.rank == 2, [.int64, .bool].contains(port.elementType) else { return nil }
            let (found, wanted) = (shape(port)[1], port.shape.dimensions[1])
            if found < wanted {
                // What fills up a sample is hidden by the mask, which a function without one does not have.
                guard let own = ports.first(where: { kind($0) == .attentionMask }) else { return nil }
                if values[own.name] == nil {
                    let ones = HostTensor(1, filling: TensorType(own.elementType, shape: [count, found]))
                    values[own.name] = SampledValues(
                        tensor: ones.stored(name: own.name), isBatched: true, positions: wanted)
                }
            } else if !ports.contains(where: { kind($0) == .position }) {
                let lengths = mask.map { Self.lengths(of: $0) } ?? []
                let needed = lengths.max() ?? found
                let short = lengths.count == count ? fitting.filter { lengths[$0] <= wanted } : []
                if leavesOut, !short.isEmpty { fitting = short }
                guard needed <= wanted || leavesOut && !short.isEmpty else {
                    throw SamplesTooLong(
                        diagnostic: Diagnostic(
                            "\(file): \"\(port.name)\" has up to \(needed) positions that count, and \(function) takes \(wanted)",
                            code: .shapesDoNotFit, subject: file))
                }
            }
            values[port.name]?.positions = wanted
        }
        let sources = values
        /// nil for an input that is missing, or of another type.
        @Sendable func inputs(of samples: [Int]) -> [String: HostTensor]? {
            var inputs: [String: HostTensor] = [:]
            for port in ports {
                let type = TensorType(port.elementType, shape: port.shape)
                let value =
                    sources[port.name]?.value(of: samples).asFlagsOrIntegers(port.elementType)
                    ?? Self.missing(type, interface.inputs[port.name])
                guard let value, value.type == type else { return nil }
                inputs[port.name] = value
            }
            return inputs
        }
        var runs: [Run] = []
        for start in stride(from: 0, to: fitting.count, by: size) {
            let rows = (start..<start + size).map { fitting[$0 % fitting.count] }
            // All runs have the same types.
            guard start > 0 || inputs(of: rows) != nil else { return nil }
            runs.append(
                Run(
                    read: { inputs(of: rows) ?? [:] }, rows: (size, min(size, fitting.count - start)), samples: count))
        }
        return runs
    }

    /// Returns the position after the last one that a mask shows, for each sample.
    package static func lengths(of mask: HostTensor) -> [Int] {
        let width = max(mask.shape.dimensions.last ?? 0, 1)
        let flags = mask.flags
        return stride(from: 0, to: flags.count, by: width).map { start in
            (flags[start..<start + width].lastIndex(of: true) ?? start - 1) - start + 1
        }
    }
}

extension StoredTensor {
    /// Returns the samples at `indices` of the first axis, as `HostTensor.samples` does, and reads no others.
    package func samples(_ indices: [Int], positions: Int? = nil) -> HostTensor {
        let size = bytes.count / max(shape.dimensions[0], 1)
        var own: [UInt8] = []
        own.reserveCapacity(indices.count * size)
        for index in indices {
            let sample = bytes[index * size..<(index + 1) * size]
            sample.withBytes { own.append(contentsOf: $0) }
            sample.releasePages()
        }
        var sizes = shape
        sizes.dimensions[0] = indices.count
        let tensor = HostTensor(
            StoredTensor(name: name, elementType: elementType, shape: sizes, bytes: ByteView(own), file: file))
        return positions.map { tensor.samples(Array(indices.indices), positions: $0) } ?? tensor
    }
}

extension HostTensor {
    /// The tensor with integers as booleans or the other way round, where that is the type.
    fileprivate func asFlagsOrIntegers(_ type: ElementType) -> HostTensor {
        switch (elementType, type) {
        case (.int64, .bool): HostTensor(flags, shape)
        case (.bool, .int64): HostTensor(integers, shape)
        default: self
        }
    }

    /// Returns the samples at `indices` of the first axis, each with so many positions on the second axis: the first ones,
    /// or all and zeros behind them. nil leaves the second axis as it is.
    package func samples(_ indices: [Int], positions: Int? = nil) -> HostTensor {
        let size = shape.count / max(shape.dimensions[0], 1)
        let wanted = positions ?? size
        var sizes = shape.dimensions
        sizes[0] = indices.count
        if let positions { sizes[1] = positions }
        func cut<Element>(_ elements: [Element], _ zero: Element) -> [Element] {
            let rest = [Element](repeating: zero, count: max(0, wanted - size))
            return indices.flatMap { elements[$0 * size..<$0 * size + min(wanted, size)] + rest }
        }
        switch elements {
        case .float32(let values): return HostTensor(cut(values, 0), Shape(sizes))
        case .float16(let values): return HostTensor(rounding: cut(values, 0), Shape(sizes))
        case .int8(let values): return HostTensor(.int8(cut(values, 0)), Shape(sizes))
        case .int64(let values): return HostTensor(cut(values, 0), Shape(sizes))
        case .bool(let values): return HostTensor(cut(values, false), Shape(sizes))
        }
    }
}
