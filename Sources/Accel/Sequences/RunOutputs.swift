package import AccelByteIO
import AccelCPURuntime
import AccelPrograms
package import AccelTensors

/// The outputs of a plan's runs: of those with a row for each token the rows of all blocks after each other; of runs on the rows of
/// a file's tensors the rows of all; of others, such as logits of the last position only, the values of the last run. Of several
/// samples the rows of all. Outputs of several parts of the model are not joined: where they have one name, that of the part is before it.
package final class RunOutputs {
    /// The stored part of the outputs.
    package enum Storage {
        /// Names, types and shapes.
        case shapes
        /// All elements, in memory.
        case memory
        /// All elements, in a file, so that memory does not grow with the runs.
        case file(ScratchFile)
    }
    private let storage: Storage
    private var samples: [[Output]] = []

    /// Creates an empty collection.
    package init(_ storage: Storage) { self.storage = storage }

    /// The elements are kept, so that every output is needed.
    var areKept: Bool { if case .shapes = storage { false } else { true } }

    /// The part of an output that one run made.
    private struct Part {
        enum Content {
            case none
            case tensor(StoredTensor)
            /// The offset of the elements in the file.
            case stored(Int)
        }
        let elementType: ElementType
        let shape: Shape
        /// The axis on which it follows the parts before.
        let axis: Int
        /// The range that counts on the axis; nil for all.
        let rows: Range<Int>?
        let content: Content

        /// The size of the axis.
        var size: Int { shape.rank == 0 ? 1 : shape.dimensions[axis] }
        var outer: Int { shape.rank == 0 ? 1 : shape.dimensions[..<axis].reduce(1, *) }
        var counted: Range<Int> { rows ?? 0..<size }

        /// The range of the bytes that count, by the index on the axes before.
        func range(_ index: Int) -> Range<Int> {
            let width = shape.count * elementType.byteCount / max(outer * size, 1)
            return (index * size + counted.lowerBound) * width..<(index * size + counted.upperBound) * width
        }
    }

    /// An output of all functions of one part of the model, in one sample.
    private struct Output {
        let name: String
        /// The part of the model.
        let model: String
        var parts: [Part] = []

        var shape: Shape {
            guard let first = parts.first else { return Shape([0]) }
            guard parts.count > 1 || first.rows != nil else { return first.shape }
            var shape = first.shape.rank == 0 ? Shape([1]) : first.shape
            shape.dimensions[first.axis] = parts.reduce(0) { $0 + $1.counted.count }
            return shape
        }
    }

    func beginSample() { samples.append([]) }

    /// The outputs of a step that are written when they are added, and not read afterwards.
    func transient(of step: RunStep, _ function: FunctionPlan) -> Set<String> {
        guard case .file = storage else { return [] }
        return Set(function.outputs.map(\.name).filter { isJoined($0, of: step, function) })
    }

    /// Whether an output follows those of earlier steps, and does not replace them.
    private func isJoined(_ name: String, of step: RunStep, _ function: FunctionPlan) -> Bool {
        step.isOfRows || isByToken(name, of: step, function)
    }

    private func isByToken(_ name: String, of step: RunStep, _ function: FunctionPlan) -> Bool {
        step.positions != nil && function.interface.role(of: name, .output).positionAxis == 1
    }

    /// Adds the outputs of a step.
    /// - Parameters:
    ///   - outputs: those that were asked for; all of them if elements are kept.
    ///   - function: that made them.
    func add(_ outputs: [StoredTensor], of step: RunStep, _ function: FunctionPlan) throws {
        let made = Dictionary(outputs.map { ($0.name, $0) }) { first, _ in first }
        for port in function.outputs {
            let isJoined = isJoined(port.name, of: step, function)
            let name = port.name + step.suffix
            func isSame(_ output: Output) -> Bool { output.name == name && output.model == function.part }
            if !samples[samples.count - 1].contains(where: isSame) {
                samples[samples.count - 1].append(Output(name: name, model: function.part))
            }
            let index = samples[samples.count - 1].firstIndex(where: isSame) ?? 0
            // Of an output that is not kept, a run may have returned one position only.
            let tensor = areKept ? made[port.name] : nil
            var part = Part(
                elementType: tensor?.elementType ?? port.operand.elementType,
                shape: tensor?.shape ?? port.operand.shape, axis: step.isOfRows ? 0 : 1,
                rows: isByToken(port.name, of: step, function) ? step.rows : nil, content: .none)
            // Of an output that the next run replaces, nothing is written.
            if let tensor { part = try kept(part, tensor, inFile: isJoined) }
            if !isJoined { samples[samples.count - 1][index].parts = [] }
            samples[samples.count - 1][index].parts.append(part)
        }
    }

    private func kept(_ part: Part, _ tensor: StoredTensor, inFile: Bool) throws -> Part {
        guard inFile, case .file(let file) = storage else {
            return Part(
                elementType: part.elementType, shape: part.shape, axis: part.axis, rows: part.rows,
                content: .tensor(tensor))
        }
        let start = file.count
        for index in 0..<part.outer { try tensor.bytes[part.range(index)].withBytes { try file.append($0) } }
        var shape = part.shape
        if shape.rank > 0 { shape.dimensions[part.axis] = part.counted.count }
        return Part(
            elementType: part.elementType, shape: shape, axis: part.axis, rows: part.rows.map { 0..<$0.count },
            content: .stored(start))
    }

    /// The outputs with one name at the end: of one sample, or of all, with their rows after each other.
    private struct Group {
        let name: String
        let outputs: [Output]

        init(name: String, outputs: [Output]) { (self.name, self.outputs) = (name, outputs) }

        init(of tensor: StoredTensor) {
            let part = Part(
                elementType: tensor.elementType, shape: tensor.shape, axis: 0, rows: nil, content: .tensor(tensor))
            self.init(name: tensor.name, outputs: [Output(name: tensor.name, model: "", parts: [part])])
        }

        var entry: SafetensorsWriter.Entry {
            var shape = outputs[0].shape
            if outputs.count > 1 { shape.dimensions[0] = outputs.reduce(0) { $0 + $1.shape.dimensions[0] } }
            return SafetensorsWriter.Entry(
                name: name, elementType: outputs[0].parts.first?.elementType ?? .float32, shape: shape)
        }
    }

    /// In the order in which they were first made. Outputs whose sizes differ by sample have the sample's number at the end of their
    /// names.
    private var groups: [Group] {
        guard let first = samples.first else { return [] }
        return first.flatMap { output -> [Group] in
            let isShared = first.contains { $0.name == output.name && $0.model != output.model }
            let title = isShared ? "\(output.model).\(output.name)" : output.name
            let all = samples.compactMap { sample in
                sample.first { $0.name == output.name && $0.model == output.model }
            }
            guard all.count > 1 else { return [Group(name: title, outputs: all)] }
            let isEven = all.allSatisfy { $0.shape == output.shape && $0.shape.rank > 0 }
            return isEven
                ? [Group(name: title, outputs: all)]
                : all.enumerated().map { Group(name: "\(title).\($0)", outputs: [$1]) }
        }
    }

    /// The names, types and shapes, in the order in which the outputs were first made.
    package var entries: [SafetensorsWriter.Entry] { groups.map(\.entry) }

    /// The outputs, whose elements were kept.
    package func tensors() throws -> [StoredTensor] {
        try groups.map { group in
            if group.outputs.count == 1, group.outputs[0].parts.count == 1, let part = group.outputs[0].parts.first,
                part.rows == nil, case .tensor(let tensor) = part.content
            {
                return tensor.renamed(group.name)
            }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(group.entry.shape.count * group.entry.elementType.byteCount)
            try emit(group) { bytes.append(contentsOf: $0) }
            return StoredTensor(
                name: group.name, elementType: group.entry.elementType, shape: group.entry.shape, bytes: ByteView(bytes)
            )
        }
    }

    /// Writes the outputs, whose elements were kept, to a safetensors file.
    /// - Parameter others: further tensors for the file.
    /// - Throws: `RequestError` if the file cannot be written.
    package func write(to path: String, as kind: TensorFileKind, with others: [StoredTensor] = []) throws {
        let groups = groups + others.map { Group(of: $0) }
        let ordered = groups.sorted { SafetensorsWriter.isOrdered($0.entry, $1.entry) }
        var writer = try SafetensorsWriter(replacing: path, as: kind, entries: ordered.map(\.entry))
        for group in ordered { try emit(group) { try writer.append($0) } }
        try writer.finish()
    }

    private func emit(_ group: Group, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        for output in group.outputs {
            for index in 0..<(output.parts.first?.outer ?? 0) {
                for part in output.parts { try emit(part, part.range(index), body) }
            }
        }
    }

    private static let chunkBytes = 1 << 20

    private func emit(_ part: Part, _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        switch part.content {
        case .none: throw RequestError("the elements of an output were not kept", status: .internalFailure)
        case .tensor(let tensor): try tensor.bytes[range].withBytes { try body($0) }
        case .stored(let start):
            guard case .file(let file) = storage else { return }
            let buffer = ByteBuffer(count: min(range.count, Self.chunkBytes))
            for first in stride(from: range.lowerBound, to: range.upperBound, by: Self.chunkBytes) {
                let count = min(Self.chunkBytes, range.upperBound - first)
                let chunk = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<count])
                try file.read(at: start + first, into: chunk)
                try body(UnsafeRawBufferPointer(chunk))
            }
        }
    }
}
