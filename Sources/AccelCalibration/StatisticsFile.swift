public import AccelByteIO
public import AccelTensors
public import AccelWeightCompression

/// Activation statistics in a safetensors file: for each input `moments.N` (float32, the lower triangle row by row),
/// `drift.N` (columns x columns) if there is a drift, `held.N` and `held-drift.N` (held-out vectors x columns). The
/// metadata hold the numbers of columns (`columns.N`) and vectors (`count.N`), and the input that each weight reads
/// (`input of NAME`). Those of a compression plan also name the schemes of the plan (`scheme of NAME`).
public enum StatisticsFile {
    private static let schemePrefix = "scheme of "

    /// Returns the content of a file of statistics by weight name, in parts.
    /// - Parameter schemes: the schemes of all weights when the statistics were collected, by weight name: with `method=gptq` those of
    ///   a weight depend on the schemes of the weights before it. Empty for statistics of the original weights.
    public static func parts(
        _ statistics: [String: ActivationStatistics], schemes: [String: String] = [:]
    ) throws -> [ByteView] {
        var metadata = schemes.map { (key: schemePrefix + $0.key, value: $0.value) }
        var numbers: [ObjectIdentifier: Int] = [:]
        var tensors: [StoredTensor] = []
        for (name, known) in statistics.sorted(by: { $0.key < $1.key }) {
            let number = numbers[ObjectIdentifier(known)] ?? numbers.count
            metadata.append(("input of \(name)", "\(number)"))
            guard numbers.updateValue(number, forKey: ObjectIdentifier(known)) == nil else { continue }
            let columns = known.columns
            metadata += [("columns.\(number)", "\(columns)"), ("count.\(number)", "\(known.count)")]
            let triangle = (0..<columns).flatMap { row in known.moments[row * columns...row * columns + row] }
            tensors.append(StoredTensor(name: "moments.\(number)", floats: triangle, shape: [triangle.count]))
            for (kind, values) in [
                ("drift", known.drift), ("held", known.heldOut.vectors), ("held-drift", known.heldOut.drifts),
            ] where !values.isEmpty {
                tensors.append(
                    StoredTensor(name: "\(kind).\(number)", floats: values, shape: [values.count / columns, columns]))
            }
        }
        return try SafetensorsWriter.parts(tensors, metadata: metadata.sorted { $0.key < $1.key })
    }

    /// Reads statistics by weight name.
    /// - Throws: `FormatError` if the file does not have the layout of `parts`.
    public static func read(_ path: String) throws -> [String: ActivationStatistics] {
        try read(try SafetensorsFile(path), path: path)
    }

    /// Returns the schemes of all weights when the statistics were collected, by weight name; empty if they do not depend on them.
    public static func schemes(in file: SafetensorsFile) -> [String: String] {
        let named = file.metadata.filter { $0.key.hasPrefix(schemePrefix) }
        return Dictionary(named.map { (String($0.key.dropFirst(schemePrefix.count)), $0.value) }) { first, _ in first }
    }

    /// Reads statistics from an open file.
    /// - Parameter path: the file's name in errors.
    public static func read(_ file: SafetensorsFile, path: String) throws -> [String: ActivationStatistics] {
        let reader = Reader(file: file, path: path)
        for tensor in file.tensors where !reader.knows(tensor.name) {
            throw tensor.error("statistics hold moments.N, drift.N, held.N and held-drift.N only")
        }
        var inputs: [Int: ActivationStatistics] = [:]
        for tensor in file.tensors where tensor.name.hasPrefix("moments.") {
            guard let number = Int(tensor.name.dropFirst(8)) else { continue }
            inputs[number] = try reader.input(number, triangle: tensor)
        }
        var statistics: [String: ActivationStatistics] = [:]
        for (key, _) in file.metadata where key.hasPrefix("input of ") {
            let name = String(key.dropFirst(9))
            guard let input = inputs[try reader.number(key, in: 0...Int.max)] else {
                throw FormatError(
                    file: path, location: .field("__metadata__.\(key)"), reason: "does not name any moments")
            }
            statistics[name] = input
        }
        return statistics
    }
}

private struct Reader {
    let file: SafetensorsFile
    let path: String
    private let metadata: [String: String]

    init(file: SafetensorsFile, path: String) {
        (self.file, self.path) = (file, path)
        metadata = Dictionary(file.metadata.map { ($0.key, $0.value) }) { first, _ in first }
    }

    /// Returns whether a tensor's name belongs to an input with moments.
    func knows(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, ["moments", "drift", "held", "held-drift"].contains(parts[0]),
            let number = Int(parts[1]), number >= 0, "\(number)" == parts[1]
        else { return false }
        return file["moments.\(number)"] != nil
    }

    func number(_ key: String, in range: ClosedRange<Int>) throws -> Int {
        guard let number = metadata[key].flatMap({ Int($0) }), range.contains(number) else {
            throw FormatError(
                file: path, location: .field("__metadata__.\(key)"), reason: "is not a number in \(range)")
        }
        return number
    }

    func input(_ number: Int, triangle: StoredTensor) throws -> ActivationStatistics {
        let columns = try self.number("columns.\(number)", in: 1...1 << 20)
        let count = try self.number("count.\(number)", in: 1...Int.max)
        guard triangle.elementType == .float32, triangle.shape == [columns * (columns + 1) / 2] else {
            throw triangle.error("is not a triangle of \(columns) columns in F32")
        }
        let values = try finite(triangle)
        var moments = [Float](repeating: 0, count: columns * columns)
        var next = 0
        for row in 0..<columns {
            for column in 0...row {
                moments[row * columns + column] = values[next]
                moments[column * columns + row] = values[next]
                next += 1
            }
        }
        let drift = try lines("drift.\(number)", columns: columns, count: columns)
        let held = try lines("held.\(number)", columns: columns)
        let drifts = try lines("held-drift.\(number)", columns: columns, count: held.count / columns)
        return ActivationStatistics(
            columns: columns, count: count, moments: moments, drift: drift,
            heldOut: HeldOutVectors(vectors: held, drifts: drifts))
    }

    /// Returns the elements of a matrix; empty if the tensor is missing.
    private func lines(_ name: String, columns: Int, count: Int? = nil) throws -> [Float] {
        guard let tensor = file[name] else { return [] }
        let sizes = tensor.shape.dimensions
        guard tensor.elementType == .float32, sizes.count == 2, sizes[1] == columns,
            count == nil || sizes[0] == count
        else { throw tensor.error("is not a matrix of \(count.map { "\($0) x " } ?? "")\(columns) in F32") }
        return try finite(tensor)
    }

    private func finite(_ tensor: StoredTensor) throws -> [Float] {
        let values = tensor.floats()
        if let bad = values.firstIndex(where: { !$0.isFinite }) { throw tensor.error("is not finite", index: bad) }
        return values
    }
}
