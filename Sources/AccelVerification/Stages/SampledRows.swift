import AccelByteIO
import AccelPrograms
import AccelTensors

/// The rows of large weights that are compared with the float64 meaning of their operator. A product whose weight has
/// more elements than `mostElements` is compared on `count` rows of it, for all vectors that meet them: the first, the
/// last, and others drawn by the seed and the call's label. The whole product is in the graph's outputs, too.
struct SampledRows {
    /// The elements of the largest weight that is compared whole.
    static let mostElements = 1 << 20
    /// The number of rows that are compared of a larger one.
    static let count = 64
    let seed: UInt64

    /// Returns the rows to compare, ascending; nil if all are to be compared.
    /// - Parameter weight: the shape of the call's weight.
    func rows(of label: String, weight: Shape) -> [Int]? {
        let all = weight.dimensions[0]
        guard weight.count > Self.mostElements, all > 2 * Self.count else { return nil }
        let stream = SeededStream(seed: seed, name: label)
        var rows: Set<Int> = [0, all - 1]
        var index = 0
        while rows.count < Self.count {
            rows.insert(stream.integer(index, below: all))
            index += 1
        }
        return rows.sorted()
    }
}

extension ParityReport {
    /// The number of calls that were compared on some rows of their weight only.
    var sampledCalls: Int { operators.count { $0.sampledRows != nil } }

    /// A phrase about the sampled rows, such as `161 of them on 64 rows of a weight of more than 1048576 elements, by seed
    /// 1`; nil if all calls were compared whole.
    var samplingWords: String? {
        sampledCalls == 0
            ? nil
            : "\(sampledCalls) of them on \(SampledRows.count) rows of a weight of more than "
                + "\(SampledRows.mostElements) elements, by seed \(samplingSeed)"
    }

    /// The member `sampling`; null if all calls were compared whole.
    var samplingJSON: JSON {
        guard sampledCalls > 0 else { return .null }
        return [
            "calls": .integer(Int64(sampledCalls)), "rows": .integer(Int64(SampledRows.count)),
            "largestWhole": .integer(Int64(SampledRows.mostElements)), "seed": .string(String(samplingSeed)),
        ]
    }
}

extension HostTensor {
    /// Returns some elements of the last axis.
    func choosing(_ columns: [Int]) -> HostTensor {
        guard let width = shape.dimensions.last else { return self }
        let floats = floats
        let chosen = stride(from: 0, to: floats.count, by: max(width, 1)).flatMap { start in
            columns.map { floats[start + $0] }
        }
        return HostTensor(chosen, Shape(shape.dimensions.dropLast() + [columns.count]))
    }
}
