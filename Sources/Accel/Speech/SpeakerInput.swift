import AccelByteIO
import AccelTensors

/// Numbers for an input of a function.
protocol SpeakerInput {
    /// - Throws: `AccelError` (invalid) if the port takes others.
    func tensor(for port: FunctionDescription.Port, of function: FunctionDescription) throws(AccelError) -> AccelTensor
}

/// As many numbers as the port has, such as a style.
extension [Float]: SpeakerInput {
    func tensor(for port: FunctionDescription.Port, of function: FunctionDescription) throws(AccelError) -> AccelTensor
    {
        guard port.shape.count == count else {
            throw AccelError(
                .invalid, expected: "\(port.shape.count) numbers", found: "\(count)",
                at: "\(function.name), input \"\(port.name)\"")
        }
        return try AccelTensor(self).reshaped(port.shape)
    }
}

extension [Int64] {
    func tensor(_ dimensions: Int...) throws(AccelError) -> AccelTensor {
        try AccelTensor(self).reshaped(Shape(dimensions))
    }
}

/// Values over time, one column a step. A port of another length takes the first columns, and zeros after them: those after the valid ones
/// have no effect.
struct Columns: SpeakerInput {
    private let rows, count: Int
    /// Row by row.
    private let values: [Float]

    private init(rows: Int, count: Int, _ values: [Float]) {
        (self.rows, self.count, self.values) = (rows, count, values)
    }

    /// - Parameter tensor: F32[1, count] or F32[1, rows, count]
    init(_ tensor: AccelTensor) throws(AccelError) {
        count = tensor.shape.dimensions.last ?? 0
        rows = tensor.shape.count / Swift.max(count, 1)
        values = try tensor.array(of: Float.self)
    }

    /// - Parameter tensor: F32[1, count, rows], which is transposed.
    init(rows tensor: AccelTensor) throws(AccelError) {
        let (count, rows) = (tensor.shape.dimensions[1], tensor.shape.dimensions[2])
        let stored = try tensor.array(of: Float.self)
        self.init(
            rows: rows, count: count, (0..<rows * count).map { stored[$0 % count * rows + $0 / count] })
    }

    /// Returns the first columns, each as often as `times` says.
    func repeated(_ times: [Int]) throws(AccelError) -> Columns {
        guard times.count <= count else {
            throw AccelError(.internalFailure, "\(times.count) of \(count) columns", at: "features of phonemes")
        }
        let columns = times.enumerated().flatMap { [Int](repeating: $0, count: $1) }
        return Columns(
            rows: rows, count: columns.count, (0..<rows).flatMap { row in columns.map { values[row * count + $0] } })
    }

    func tensor(for port: FunctionDescription.Port, of function: FunctionDescription) throws(AccelError) -> AccelTensor
    {
        let size = port.shape.dimensions.last ?? 0
        guard port.shape.count == rows * size else {
            throw AccelError(
                .invalid, expected: "\(port.typeText)", found: "\(rows) rows",
                at: "\(function.name), input \"\(port.name)\"")
        }
        let kept = Swift.min(size, count)
        let zeros = [Float](repeating: 0, count: size - kept)
        return try AccelTensor((0..<rows).flatMap { values[$0 * count..<$0 * count + kept] + zeros })
            .reshaped(port.shape)
    }
}
