import AccelByteIO
public import AccelPrograms
public import AccelTensors

/// Calibration data for one part of a model, divided into chunks that run one by one.
///
/// `SampleInputs` reads the file. The attention mask (int64 [batch, positions]; `attention_mask` if the part has no input
/// of this role) selects positions. If it hides only the ends of samples, samples of similar length run together, and
/// hidden positions are not computed.
public struct CalibrationSamples: Sendable {
    struct Chunk: Sendable {
        let inputs: [String: HostTensor]
        /// The values that states have before each run, such as an encoder's keys and values; others start as the part says.
        let states: [String: HostTensor]
        let bindings: ShapeBindings
        /// For each position, row-major over samples and positions, whether it takes part; nil if all do.
        let counts: [Bool]?
        /// The indices of its samples, in the order of length.
        let samples: Range<Int>
        /// The indices of its samples in the file; nil if the inputs have no row for each sample.
        let rows: [Int]?
        /// The numbers of its samples: their rows in the file, else those of the runs that make it up.
        var numbers: [Int] { rows ?? Array(samples) }
    }
    /// The name of the mask in files for parts without a mask input.
    public static let maskName = SampleInputs.maskName
    /// Every so many samples, in the order of the file, one is excluded from all statistics and held out: the same one of each part.
    public static let heldOutShare = 16
    /// Returns whether the sample, or the vector, of this number, from 0, is held out.
    static func isHeldOut(_ number: Int) -> Bool { number % heldOutShare == heldOutShare - 1 }
    /// The approximate number of positions per run.
    private static let positionsAtOnce = 512

    /// The part of the model that the samples are for.
    public private(set) var part: Program
    private(set) var chunks: [Chunk]
    /// The number of samples.
    public private(set) var count: Int
    /// The number of tokens of all samples that take part; nil for a part that takes no tokens.
    public private(set) var positions: Int?
    /// The file has a mask, so that padding does not count.
    public let hasMask: Bool
    /// All inputs have a row for each sample, so that whole samples can be held out; else single positions are.
    public let isDivided: Bool
    /// The inputs and states that other parts made over the samples (`LinkedSamples`).
    var linked: Set<String> = []
    /// The memory for values of the samples.
    private(set) var memory = SampleMemory()

    /// Bounds the memory for values of the samples, of which a file has the rest.
    /// - Parameter bytes: nil for a quarter of the machine's memory, at most 512 MiB.
    public mutating func limitMemory(_ bytes: Int?) {
        memory = SampleMemory(limit: bytes ?? SampleMemory.defaultLimit)
    }

    mutating func share(_ memory: SampleMemory) { self.memory = memory }

    /// Creates samples from tensors; nil if none of them is an input of the part.
    /// - Parameter shared: the numbers of dimensions that other parts' inputs have, for those that the part's own leave open.
    /// - Throws: `RequestError` if tensors do not fit the inputs, or if one is missing.
    public init?(
        _ tensors: [StoredTensor], for part: Program, file: String, shared: [String: Int] = [:]
    ) throws {
        let given = try SampleInputs(tensors, file: file).withoutLeadingPadding(for: [part.interface])
        guard part.inputs.contains(where: { given.tensors[$0.name] != nil }) else { return nil }
        self.part = part
        if part.input(.attentionMask) == nil { try part.input(.tokens).map { try given.requireMask(over: $0.name) } }
        let own = try ShapeBindings(fitting: tensors, to: part, file: file).numbers
        let tokens = part.input(.tokens).map { part.type(of: $0.value).dimensions } ?? []
        let positions = tokens.dropFirst().first?.name.flatMap { own[$0] } ?? own.values.max() ?? 1
        let known = Set(part.dimensions.map(\.name))
        var numbers = own.merging(shared.filter { known.contains($0.key) }) { own, _ in own }
        for input in part.inputs {
            guard let tensor = given.tensors[input.name] else { continue }
            for (dimension, size) in zip(part.type(of: input.value).dimensions, tensor.shape.dimensions) {
                guard let (name, number) = dimension.solved(for: size, besides: numbers) else { continue }
                numbers[name] = number
            }
        }
        // The cache is as long as the samples.
        for dimension in part.dimensions where numbers[dimension.name] == nil { numbers[dimension.name] = positions }
        let bindings = ShapeBindings(numbers)
        let mask = given.mask(part.interface)
        var inputs: [String: HostTensor] = [:]
        for input in part.inputs {
            let type = part.type(of: input.value).binding(bindings.numbers)
            inputs[input.name] = try given.value(
                input.name, type, part.interface.inputs[input.name], mask: mask, of: part.name)
        }
        let states = try given.states(of: part, bindings)
        let cutter = SampleCutter(part: part, bindings: bindings, inputs: inputs, states: states, mask: mask)
        count = cutter.samples
        chunks = cutter.chunks(of: Self.positionsAtOnce)
        self.positions = part.input(.tokens).flatMap { inputs[$0.name] }.map { cutter.shown ?? $0.shape.count }
        hasMask = mask != nil
        isDivided = cutter.isDivided
    }

    /// The most slices; a power of two.
    private static let mostSlices = 8

    /// The chunks of each slice: the same slices for any number of processes that share them out. Where single vectors are held out, they
    /// are counted over all chunks, which are one slice then.
    var slices: [Range<Int>] {
        guard !chunks.isEmpty else { return [] }
        var number = 1
        while count >= Self.heldOutShare, number < Self.mostSlices, 2 * number <= chunks.count { number *= 2 }
        return (0..<number).map { chunks.count * $0 / number..<chunks.count * ($0 + 1) / number }
    }

    /// Adds the samples of other runs of a part with fixed sizes.
    public mutating func add(_ others: CalibrationSamples) {
        chunks += others.chunks.map { chunk in
            Chunk(
                inputs: chunk.inputs, states: chunk.states, bindings: chunk.bindings, counts: chunk.counts,
                samples: count + chunk.samples.lowerBound..<count + chunk.samples.upperBound,
                rows: chunk.rows.map { $0.map { count + $0 } })
        }
        count += others.count
        positions = positions.flatMap { own in others.positions.map { own + $0 } }
    }

    /// Returns the same samples for the part with some weights replaced, by name.
    public func replacing(_ tensors: [String: StoredTensor]) -> CalibrationSamples {
        var copy = self
        copy.part = part.replacing(tensors)
        return copy
    }

    /// Returns evenly spaced chunks with about this many positions in total.
    func thinned(to positions: Int) -> CalibrationSamples {
        let wanted = max(1, positions / Self.positionsAtOnce)
        guard chunks.count > wanted else { return self }
        var copy = self
        copy.chunks = (0..<wanted).map { chunks[(2 * $0 + 1) * chunks.count / (2 * wanted)] }
        return copy
    }
}

/// Divides samples into chunks.
private struct SampleCutter {
    let part: Program
    let bindings: ShapeBindings
    let inputs: [String: HostTensor]
    let states: [String: HostTensor]
    let samples: Int
    private let batch: String?
    /// The dimension of positions, and the positions that take part.
    private let length: String?
    private let mask: [Bool]?
    private let positions: Int

    init(
        part: Program, bindings: ShapeBindings, inputs: [String: HostTensor], states: [String: HostTensor],
        mask: HostTensor?
    ) {
        (self.part, self.bindings, self.inputs, self.states) = (part, bindings, inputs, states)
        // The first dimension that all inputs share, but for the position, which is that of all samples.
        let position = part.input(.position)?.name
        let leading = Set(
            part.inputs.filter { $0.name != position }.map { part.type(of: $0.value).dimensions.first?.name })
        let batch = leading.count == 1 ? leading.first ?? nil : nil
        self.batch = batch
        samples = batch.flatMap { bindings.numbers[$0] } ?? 1
        guard let mask, mask.shape.rank == 2, case .int64(let flags) = mask.elements,
            mask.shape.dimensions[0] == samples
        else {
            (length, self.mask) = (nil, nil)
            positions = Self.positions(of: part, inputs, samples: samples)
            return
        }
        self.mask = flags.map { $0 != 0 }
        positions = mask.shape.dimensions[1]
        // An encoder without a mask input sees padding too, so that none can be left out.
        let tokens = part.input(.position).flatMap { _ in part.input(.tokens) }
        let counted = part.input(.attentionMask) ?? tokens ?? part.input(.audio)
        let dimensions = counted.map { part.type(of: $0.value).dimensions } ?? []
        let counting = dimensions.count == 2 && dimensions[0].name == batch ? dimensions[1].name : nil
        // Features of frames have more axes than their mask, and are not cut.
        let isOfFeatures = part.inputs.contains { input in
            let own = part.type(of: input.value).dimensions
            return counting != nil && own.count > 2 && own.contains { $0.name == counting }
        }
        length = isOfFeatures ? nil : counting
    }

    /// The positions of a sample: its tokens, or about as many as the elements of its largest input fill.
    private static func positions(of part: Program, _ inputs: [String: HostTensor], samples: Int) -> Int {
        let tokens = part.input(.tokens).flatMap { inputs[$0.name] }.map { $0.shape.count / max(samples, 1) }
        let elements = inputs.values.map { $0.shape.count / max(samples, 1) }.max() ?? 1
        return max(tokens ?? (elements + elementsOfPosition - 1) / elementsOfPosition, 1)
    }

    /// The elements of sound or of a picture that count as one position.
    private static let elementsOfPosition = 256

    func chunks(of positionsAtOnce: Int) -> [CalibrationSamples.Chunk] {
        guard let batch, samples > 0 else {
            return [
                CalibrationSamples.Chunk(
                    inputs: inputs, states: states, bindings: bindings, counts: mask, samples: 0..<1, rows: nil)
            ]
        }
        let lengths = (0..<samples).map(self.lengthOfSample)
        let order = (0..<samples).sorted { (lengths[$0], $0) < (lengths[$1], $1) }
        var chunks: [CalibrationSamples.Chunk] = []
        var next = 0
        while next < order.count {
            var end = next + 1
            while end < order.count, (end + 1 - next) * lengths[order[end]] <= positionsAtOnce { end += 1 }
            chunks.append(chunk(order, next..<end, length: lengths[order[end - 1]], batch: batch))
            next = end
        }
        return chunks
    }

    var isDivided: Bool { batch != nil }

    /// The number of positions that the mask shows; nil without one.
    var shown: Int? { mask.map { $0.count { $0 } } }

    /// Returns the position after the last one that takes part.
    private func lengthOfSample(_ sample: Int) -> Int {
        guard let mask, length != nil else { return positions }
        let flags = mask[sample * positions..<(sample + 1) * positions]
        return max(1, (flags.lastIndex(of: true) ?? flags.startIndex) - flags.startIndex + 1)
    }

    private func chunk(
        _ order: [Int], _ members: Range<Int>, length kept: Int, batch: String
    ) -> CalibrationSamples.Chunk {
        let chosen = Array(order[members])
        var numbers = bindings.numbers
        numbers[batch] = chosen.count
        if let length { numbers[length] = kept }
        let cut = Dictionary(
            uniqueKeysWithValues: part.inputs.compactMap { input in
                inputs[input.name].map { tensor in
                    guard input.name != part.input(.position)?.name else { return (input.name, tensor) }
                    let dimensions = part.type(of: input.value).dimensions
                    let isCut = length != nil && dimensions.count == 2 && dimensions[1].name == length
                    return (input.name, tensor.samples(chosen, positions: isCut ? kept : nil))
                }
            })
        let counts = mask.map { mask in
            chosen.flatMap { mask[$0 * positions..<$0 * positions + (length == nil ? positions : kept)] }
        }
        return CalibrationSamples.Chunk(
            inputs: cut, states: states.mapValues { $0.samples(chosen) }, bindings: ShapeBindings(numbers),
            counts: counts?.allSatisfy { $0 } ?? true ? nil : counts, samples: members, rows: chosen)
    }
}

extension TensorType {
    fileprivate func binding(_ numbers: [String: Int]) -> TensorType {
        TensorType(elementType, dimensions.map { $0.binding(numbers) })
    }
}
