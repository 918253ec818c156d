import ByteIO
import Programs
import Tensors
import WeightCompression

/// S1: decodes every stored tensor from the written bytes and compares it with the checkpoint's, a block of rows at a
/// time on several threads.
struct WeightStage {
    let program: CompiledProgram
    let model: ReferenceModel
    let budget: Budget?
    let threads: Int
    /// Elements a block; the sums of a tensor depend on it, so it is the same for any number of threads.
    private static let blockElements = 1 << 18

    struct Result {
        var weights: [WeightFinding] = []
        /// Weights of the model that the package lacks, and the other way round.
        var misfits: [String] = []
    }

    func run(progress: (Double) -> Void = { _ in }) throws -> Result {
        var result = Result()
        for (index, weight) in program.weights.enumerated() {
            progress(Double(index) / Double(program.weights.count))
            let sources = model.sources(of: weight.name)
            guard !sources.isEmpty else {
                result.misfits.append("the package stores \"\(weight.name)\", which the model does not have")
                continue
            }
            guard let source = source(for: weight, among: sources) else {
                result.misfits.append(
                    "\"\(weight.name)\" is stored as \(weight.shape), but the model has \(sources[0].shape)")
                continue
            }
            result.weights.append(try finding(weight, source))
        }
        let stored = Set(program.weights.map(\.name))
        result.misfits += model.weights.keys.sorted().filter { !stored.contains($0) }.map {
            "the model's weight \"\($0)\" is missing in the package"
        }
        return result
    }

    /// The tensor of the model that a stored one stands for; of several tables of one name, the one that it equals.
    private func source(for weight: CompressedTensor, among sources: [StoredTensor]) -> StoredTensor? {
        let fitting = sources.filter { $0.shape == weight.shape && $0.elementType == weight.elementType }
        return fitting.first { weight.sections == [$0.bytes] } ?? fitting.first
    }

    private func finding(_ weight: CompressedTensor, _ source: StoredTensor) throws -> WeightFinding {
        let (rows, columns) = (weight.shape.rows, weight.shape.columns)
        let rowsPerBlock = max(1, Self.blockElements / max(columns, 1))
        let blocks = try Parallel.map((rows + rowsPerBlock - 1) / rowsPerBlock, threads: threads) { block in
            compare(block * rowsPerBlock..<min((block + 1) * rowsPerBlock, rows), of: weight, source)
        }
        var metrics = Metrics()
        for block in blocks { metrics.merge(block.metrics) }
        let violation = blocks.lazy.compactMap(\.violation).first
        let isTable = model.weights[weight.name] == nil
        let tolerance =
            isTable
            ? .exact(origin: "a table is stored as it is")
            : budget?.tolerance(forWeight: weight.name) ?? .scheme(ofWeight: weight)
        return WeightFinding(
            name: weight.name, shape: weight.shape, codec: weight.codec.specification, byteCount: weight.byteCount,
            sourceByteCount: source.bytes.count, metrics: metrics, tolerance: tolerance,
            failure: violation.map { "element \($0.index): \($0.reason)" } ?? tolerance.objection(to: metrics))
    }

    private func compare(
        _ rows: Range<Int>, of weight: CompressedTensor, _ source: StoredTensor
    ) -> (metrics: Metrics, violation: (index: Int, reason: String)?) {
        let columns = weight.shape.columns
        let count = rows.count * columns
        let decoded = [Float](unsafeUninitializedCapacity: count) { target, written in
            target.initialize(repeating: 0)
            weight.codec.decode(rows, of: weight, into: target)
            written = count
        }
        let original = [Float](unsafeUninitializedCapacity: count) { target, written in
            target.initialize(repeating: 0)
            source.readFloats(rows.lowerBound * columns..<rows.upperBound * columns, into: target)
            written = count
        }
        return (Metrics(decoded, against: original), weight.codec.violation(rows, of: weight, source: source))
    }
}
