import AccelByteIO
public import AccelPrograms
public import AccelTensors

/// Sample inputs for one part of a model, cut into chunks that are run one by one.
///
/// A tensor is called as the input is, or `in.` and that. Along the inputs' first dimension, the batch, lie the samples.
/// The attention mask (int64 [batch, positions]; `attention_mask` for a part that has none) says which positions count;
/// where it hides only the ends of samples, samples of about equal length go together and nothing is computed for what it
/// hides. An integer input that the file leaves out is 0 throughout, a mask 1.
public struct CalibrationSamples: Sendable {
    struct Chunk: Sendable {
        let inputs: [String: HostTensor]
        let bindings: ShapeBindings
        /// By position, row-major over samples and positions: whether it counts. nil: all do.
        let counts: [Bool]?
        /// Which of all samples, the shortest first.
        let samples: Range<Int>
    }
    /// What a file calls the mask of samples for a part without an input of that role.
    private static let maskName = "attention_mask"
    /// One of so many samples, the shortest first, is held out of all statistics.
    static let heldOutShare = 16
    /// About so many positions are computed at a time.
    private static let positionsAtOnce = 512

    public private(set) var part: Program
    private(set) var chunks: [Chunk]
    /// How many samples there are.
    public let count: Int

    /// nil when the file holds none of the part's inputs.
    /// - Throws: `RequestError` when its tensors do not fit the inputs.
    public init?(_ tensors: [StoredTensor], for part: Program, file: String) throws {
        let named = Dictionary(
            tensors.map { ($0.name.hasPrefix("in.") ? String($0.name.dropFirst(3)) : $0.name, $0) },
            uniquingKeysWith: { first, _ in first })
        guard part.inputs.contains(where: { named[$0.name] != nil }) else { return nil }
        self.part = part
        var bindings = try ShapeBindings(fitting: tensors, to: part, file: file)
        let positions = bindings.numbers.values.max() ?? 1
        // A cache takes what the samples have.
        for dimension in part.dimensions where bindings.numbers[dimension.name] == nil {
            bindings = ShapeBindings(bindings.numbers.merging([dimension.name: positions]) { first, _ in first })
        }
        var inputs: [String: HostTensor] = [:]
        for input in part.inputs {
            let type = part.type(of: input.value).binding(bindings.numbers)
            guard let tensor = named[input.name] else {
                guard type.elementType == .int64, let shape = type.shape else {
                    throw RequestError("\(file) has no tensor \"\(input.name)\", an input of \(part.name)")
                }
                let value: Int64 = part.interface.inputs[input.name]?.kind == .attentionMask ? 1 : 0
                inputs[input.name] = HostTensor([Int64](repeating: value, count: shape.count), shape)
                continue
            }
            let values = HostTensor(tensor)
            guard values.type == type else {
                throw RequestError(
                    "\(file): \"\(tensor.name)\" is \(values.type), but the input of \(part.name) is \(type)")
            }
            inputs[input.name] = values
        }
        let mask = named[part.input(.attentionMask)?.name ?? Self.maskName].map(HostTensor.init)
        let cutter = SampleCutter(part: part, bindings: bindings, inputs: inputs, mask: mask)
        count = cutter.samples
        chunks = cutter.chunks(of: Self.positionsAtOnce)
    }

    /// The same samples for the part with other tensors for some of its weights, by name.
    public func replacing(_ tensors: [String: StoredTensor]) -> CalibrationSamples {
        var copy = self
        copy.part = part.replacing(tensors)
        return copy
    }

    /// Evenly spaced chunks with about so many positions in all.
    func thinned(to positions: Int) -> CalibrationSamples {
        let wanted = max(1, positions / Self.positionsAtOnce)
        guard chunks.count > wanted else { return self }
        var copy = self
        copy.chunks = (0..<wanted).map { chunks[(2 * $0 + 1) * chunks.count / (2 * wanted)] }
        return copy
    }
}

/// Cuts samples into chunks.
private struct SampleCutter {
    let part: Program
    let bindings: ShapeBindings
    let inputs: [String: HostTensor]
    let samples: Int
    private let batch: String?
    /// The dimension of positions, and which of them count.
    private let length: String?
    private let mask: [Bool]?
    private let positions: Int

    init(part: Program, bindings: ShapeBindings, inputs: [String: HostTensor], mask: HostTensor?) {
        (self.part, self.bindings, self.inputs) = (part, bindings, inputs)
        // One dimension that leads every input.
        let leading = Set(part.inputs.map { part.type(of: $0.value).dimensions.first?.name })
        let batch = leading.count == 1 ? leading.first ?? nil : nil
        self.batch = batch
        samples = batch.flatMap { bindings.numbers[$0] } ?? 1
        guard let mask, mask.shape.rank == 2, case .int64(let flags) = mask.elements,
            mask.shape.dimensions[0] == samples
        else {
            (length, self.mask, positions) = (nil, nil, 1)
            return
        }
        self.mask = flags.map { $0 != 0 }
        positions = mask.shape.dimensions[1]
        let counted = part.input(.attentionMask) ?? part.input(.tokens) ?? part.input(.audio)
        let dimensions = counted.map { part.type(of: $0.value).dimensions } ?? []
        length = dimensions.count == 2 && dimensions[0].name == batch ? dimensions[1].name : nil
    }

    func chunks(of positionsAtOnce: Int) -> [CalibrationSamples.Chunk] {
        guard let batch, samples > 0 else {
            return [CalibrationSamples.Chunk(inputs: inputs, bindings: bindings, counts: mask, samples: 0..<1)]
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

    /// Up to the last position that counts.
    private func lengthOfSample(_ sample: Int) -> Int {
        guard let mask, length != nil else { return positions }
        let flags = mask[sample * positions..<(sample + 1) * positions]
        return max(1, (flags.lastIndex(of: true) ?? flags.startIndex) - flags.startIndex + 1)
    }

    private func chunk(
        _ order: [Int], _ places: Range<Int>, length kept: Int, batch: String
    ) -> CalibrationSamples.Chunk {
        let chosen = Array(order[places])
        var numbers = bindings.numbers
        numbers[batch] = chosen.count
        if let length { numbers[length] = kept }
        let cut = Dictionary(
            uniqueKeysWithValues: part.inputs.compactMap { input in
                inputs[input.name].map { tensor in
                    let dimensions = part.type(of: input.value).dimensions
                    let isCut = length != nil && dimensions.count == 2 && dimensions[1].name == length
                    return (input.name, tensor.samples(chosen, keeping: isCut ? kept : nil))
                }
            })
        let counts = mask.map { mask in
            chosen.flatMap { mask[$0 * positions..<$0 * positions + (length == nil ? positions : kept)] }
        }
        return CalibrationSamples.Chunk(
            inputs: cut, bindings: ShapeBindings(numbers), counts: counts?.allSatisfy { $0 } ?? true ? nil : counts,
            samples: places)
    }
}

extension HostTensor {
    /// The samples at `indices` of the first axis, of each but the first `kept` positions of the second where that is given.
    fileprivate func samples(_ indices: [Int], keeping kept: Int?) -> HostTensor {
        let size = shape.count / max(shape.dimensions[0], 1)
        let wanted = kept ?? size
        var extents = shape.dimensions
        extents[0] = indices.count
        if let kept { extents[1] = kept }
        func cut<Element>(_ elements: [Element]) -> [Element] {
            indices.flatMap { elements[$0 * size..<$0 * size + wanted] }
        }
        switch elements {
        case .float32(let values): return HostTensor(cut(values), Shape(extents))
        case .int64(let values): return HostTensor(cut(values), Shape(extents))
        case .bool(let values): return HostTensor(cut(values), Shape(extents))
        }
    }
}

extension TensorType {
    fileprivate func binding(_ numbers: [String: Int]) -> TensorType {
        TensorType(elementType, dimensions.map { $0.binding(numbers) })
    }
}
