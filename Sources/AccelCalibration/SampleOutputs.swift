import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The outputs of a run, to compare other runs of the same samples with. None are kept in memory beyond the limit of a `SampleStore`.
final class ReferenceOutputs: Sendable {
    private struct Output: Sendable {
        let name: String
        let elementType: ElementType
        let shape: Shape
    }
    private let outputs: [[Output]]
    private let store: SampleStore

    /// Runs the samples from where they are to the end.
    init(of run: SampleRun) throws {
        let store = SampleStore(in: run.memory)
        self.store = store
        outputs = try run.finish { chunk, tensors in
            try store.store(chunk, count: tensors.reduce(0) { $0 + $1.bytes.count }) { target in
                var place = 0
                for tensor in tensors {
                    let end = place + tensor.bytes.count
                    tensor.bytes.read(
                        0..<tensor.bytes.count, into: UnsafeMutableRawBufferPointer(rebasing: target[place..<end]))
                    place = end
                }
            }
            return tensors.map { Output(name: $0.name, elementType: $0.elementType, shape: $0.shape) }
        }
    }

    /// Calls `body` with the bytes of each float output of a chunk: its name, its shape, and its elements.
    fileprivate func forEachFloats(
        of chunk: Int, _ body: (_ index: Int, _ name: String, Shape, UnsafeBufferPointer<Float>) -> Void
    ) throws {
        let count = outputs[chunk].reduce(0) { $0 + $1.shape.count * $1.elementType.byteCount }
        try store.read(chunk, count: count) { bytes in
            var place = 0
            for (index, output) in outputs[chunk].enumerated() {
                let end = place + output.shape.count * output.elementType.byteCount
                if output.elementType == .float32 {
                    let floats = UnsafeRawBufferPointer(rebasing: bytes[place..<end]).bindMemory(to: Float.self)
                    body(index, output.name, output.shape, floats)
                }
                place = end
            }
        }
    }
}

/// Sums of squared errors and of squares, over all samples and over those that are held out.
struct ErrorSums: Sendable {
    var all = (error: 0.0, energy: 0.0)
    var held = (error: 0.0, energy: 0.0)
    var hasHeld = false

    mutating func merge(_ other: ErrorSums) {
        all = (all.error + other.all.error, all.energy + other.all.energy)
        held = (held.error + other.held.error, held.energy + other.held.energy)
        hasHeld = hasHeld || other.hasHeld
    }
}

extension SampledErrors {
    /// - Parameter chunks: the sums of each output, in the order of chunks.
    init(_ chunks: [[String: ErrorSums]]) {
        var all: [String: ErrorSums] = [:]
        for chunk in chunks {
            for (name, sums) in chunk { all[name, default: ErrorSums()].merge(sums) }
        }
        func errors(_ sums: (error: Double, energy: Double)) -> Double { sums.error / max(sums.energy, 1e-30) }
        let held = all.filter(\.value.hasHeld).mapValues { errors($0.held) }
        self.init(all: all.mapValues { errors($0.all) }, heldOut: held.isEmpty ? nil : held)
    }
}

extension SampleRun {
    /// Runs the samples from where they are to the end.
    /// - Parameters:
    ///   - reference: outputs of another run of the same samples.
    ///   - kept: the names of outputs to return.
    /// - Returns: The error of each float output against the reference, and outputs by name, of all samples in the order of the file.
    ///   Masked positions are ignored.
    func finish(
        comparing reference: ReferenceOutputs, keeping kept: Set<String> = []
    ) throws -> (errors: SampledErrors, outputs: [String: HostTensor]) {
        let (counts, samples) = (counts, samples)
        let parts = try finish { chunk, outputs in
            var sums: [String: ErrorSums] = [:]
            try reference.forEachFloats(of: chunk) { index, name, shape, targets in
                let held = samples[chunk].map(CalibrationSamples.isHeldOut)
                outputs[index].bytes.withBytes { bytes in
                    sums[name] = Self.sums(
                        of: bytes.bindMemory(to: Float.self), from: targets, shape, counts[chunk], heldOut: held)
                }
            }
            return (sums: sums, kept: outputs.filter { kept.contains($0.name) }.map { ($0.name, HostTensor($0)) })
        }
        return (SampledErrors(parts.map(\.sums)), gathered(parts.map(\.kept), named: kept))
    }

    /// Runs the samples of both runs from where they are to the end.
    /// - Parameter original: a run of the same samples with the original weights.
    /// - Returns: The error of each float output against the original run's. Masked positions are ignored.
    func finish(comparing original: SampleRun) throws -> SampledErrors {
        SampledErrors(try errorSums(comparing: original))
    }

    /// Returns the sums of each chunk for the errors of float outputs.
    /// - Parameter wanted: the slices; nil for all.
    func errorSums(_ wanted: Range<Int>? = nil, comparing original: SampleRun) throws -> [[String: ErrorSums]] {
        let (counts, samples) = (counts, samples)
        return try finish(wanted, besides: original) { chunk, executor, original in
            let held = samples[chunk].map(CalibrationSamples.isHeldOut)
            var sums: [String: ErrorSums] = [:]
            for (index, output) in executor.function.outputs.enumerated() {
                _ = executor.withFloats(ofOutput: index) { values in
                    original.withFloats(ofOutput: index) { targets in
                        sums[output.name] = Self.sums(
                            of: values, from: targets, output.operand.shape, counts[chunk], heldOut: held)
                    }
                }
            }
            return sums
        }
    }

    /// Runs the samples from where they are to the end.
    /// - Returns: The mean error of the outputs against the reference.
    func error(from reference: ReferenceOutputs) throws -> Double {
        try finish(comparing: reference).errors.all.mean
    }

    /// Runs the samples from where they are to the end, and returns some outputs.
    func outputs(named names: Set<String>) throws -> [String: HostTensor] {
        gathered(
            try finish { _, outputs in outputs.filter { names.contains($0.name) }.map { ($0.name, HostTensor($0)) } },
            named: names)
    }

    private static func sums(
        of values: UnsafeBufferPointer<Float>, from targets: UnsafeBufferPointer<Float>, _ shape: Shape,
        _ mask: [Bool]?,
        heldOut held: [Bool]
    ) -> ErrorSums {
        var sums = ErrorSums()
        sums.hasHeld = held.contains(true)
        let each = max(1, targets.count / max(held.count, 1))
        let sizes = shape.dimensions
        let positionCount = sizes.count > 2 ? sizes[0] * sizes[1] : 0
        let mask = mask?.count == positionCount ? mask : nil
        let width = max(1, targets.count / max(positionCount, 1))
        // Rows of equal treatment: a position of a sample, or all that a sample has.
        let step = mask == nil ? each : width
        for start in stride(from: 0, to: targets.count, by: step) {
            guard mask?[start / width] ?? true else { continue }
            let part = start..<min(start + step, targets.count)
            var distortion = Distortion()
            distortion.add(
                UnsafeBufferPointer(rebasing: targets[part]), storedAs: UnsafeBufferPointer(rebasing: values[part]))
            let (error, energy) = (distortion.squaredError, distortion.energy)
            sums.all = (sums.all.error + error, sums.all.energy + energy)
            if held[min(start / each, held.count - 1)] {
                sums.held = (sums.held.error + error, sums.held.energy + energy)
            }
        }
        return sums
    }
}

extension SampleRun {
    /// Joins outputs of chunks, in the order of the file. An output is left out if the sizes of samples differ.
    private func gathered(
        _ parts: [[(name: String, tensor: HostTensor)]], named names: Set<String>
    ) -> [String: HostTensor] {
        var found: [String: HostTensor] = [:]
        for name in names {
            found[name] = joined(parts.compactMap { $0.first { $0.name == name }?.tensor })
        }
        return found
    }

    private func joined(_ parts: [HostTensor]) -> HostTensor? {
        if rows == [nil] { return parts.first }
        let rows = rows.compactMap(\.self)
        guard parts.count == rows.count, let first = parts.first, first.elementType == .float32, first.shape.rank > 0,
            Set(parts.map { Array($0.shape.dimensions.dropFirst()) }).count == 1
        else { return nil }
        var sizes = first.shape.dimensions
        let width = first.shape.count / max(sizes[0], 1)
        sizes[0] = rows.reduce(0) { $0 + $1.count }
        var all = [Float](repeating: 0, count: sizes[0] * width)
        for (part, rows) in zip(parts, rows) {
            let floats = part.floats
            for (place, row) in rows.enumerated() {
                all.replaceSubrange(row * width..<(row + 1) * width, with: floats[place * width..<(place + 1) * width])
            }
        }
        return HostTensor(all, Shape(sizes))
    }
}
