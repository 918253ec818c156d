import ByteIO
import Tensors
public import WeightCompression

/// Statistics of weights' inputs as a safetensors file: `moments.N` (float32, the lower triangle row by row) for each
/// input; the metadata say how many columns (`columns.N`) and vectors (`count.N`) it has, and which one a weight
/// reads (`input of NAME`).
public enum StatisticsFile {
    public static func write(_ statistics: [String: ActivationStatistics], to path: String) throws {
        var metadata: [(key: String, value: String)] = []
        var numbers: [ObjectIdentifier: Int] = [:]
        var tensors: [StoredTensor] = []
        for (name, known) in statistics.sorted(by: { $0.key < $1.key }) {
            let number = numbers[ObjectIdentifier(known)] ?? tensors.count
            metadata.append(("input of \(name)", "\(number)"))
            guard numbers.updateValue(number, forKey: ObjectIdentifier(known)) == nil else { continue }
            metadata += [("columns.\(number)", "\(known.columns)"), ("count.\(number)", "\(known.count)")]
            let triangle = (0..<known.columns).flatMap { row in
                known.moments[row * known.columns...row * known.columns + row]
            }
            tensors.append(StoredTensor(name: "moments.\(number)", floats: triangle, shape: [triangle.count]))
        }
        try SafetensorsWriter.write(tensors, to: path, metadata: metadata.sorted { $0.key < $1.key })
    }

    /// By the weight's name.
    /// - Throws: `FormatError` where the file is not as `write` makes it.
    public static func read(_ path: String) throws -> [String: ActivationStatistics] {
        let file = try SafetensorsFile(path)
        let metadata = Dictionary(file.metadata.map { ($0.key, $0.value) }) { first, _ in first }
        func number(_ key: String, in range: ClosedRange<Int>) throws -> Int {
            guard let number = metadata[key].flatMap({ Int($0) }), range.contains(number) else {
                throw FormatError(file: path, place: .field("__metadata__.\(key)"), reason: "is no number in \(range)")
            }
            return number
        }
        var inputs: [Int: ActivationStatistics] = [:]
        for tensor in file.tensors {
            guard tensor.name.hasPrefix("moments."), let index = Int(tensor.name.dropFirst(8)) else {
                throw tensor.error("statistics hold moments.N only")
            }
            let columns = try number("columns.\(index)", in: 1...1 << 20)
            let count = try number("count.\(index)", in: 1...Int.max)
            guard tensor.elementType == .float32, tensor.shape == [columns * (columns + 1) / 2] else {
                throw tensor.error("is no triangle of \(columns) columns in F32")
            }
            let triangle = tensor.floats()
            if let bad = triangle.firstIndex(where: { !$0.isFinite }) {
                throw tensor.error("is not finite", index: bad)
            }
            var moments = [Float](repeating: 0, count: columns * columns)
            var next = 0
            for row in 0..<columns {
                for column in 0...row {
                    moments[row * columns + column] = triangle[next]
                    moments[column * columns + row] = triangle[next]
                    next += 1
                }
            }
            inputs[index] = ActivationStatistics(columns: columns, count: count, moments: moments)
        }
        var statistics: [String: ActivationStatistics] = [:]
        for (key, _) in file.metadata where key.hasPrefix("input of ") {
            statistics[String(key.dropFirst(9))] = inputs[try number(key, in: 0...Int.max)]
        }
        return statistics
    }
}
