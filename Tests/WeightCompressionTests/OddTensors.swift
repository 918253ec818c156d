import AccelByteIO
import TestSupport
import Testing

@testable import AccelTensors
@testable import AccelWeightCompression

/// Weights that break careless codecs. A new kind of trouble is a line in `all`, and every codec meets it.
struct OddTensor: Sendable, CustomTestStringConvertible {
    let tensor: StoredTensor
    var testDescription: String { tensor.name }

    init(_ name: String, _ shape: Shape, _ floats: [Float]) {
        tensor = StoredTensor(name: name, floats: floats, shape: shape)
    }

    init<Element: BitwiseCopyable>(_ name: String, _ type: ElementType, _ shape: Shape, _ elements: [Element]) {
        tensor = StoredTensor(name: name, elementType: type, shape: shape, bytes: ByteView(elements))
    }

    static func normal(_ count: Int, seed: UInt64, scale: Float = 1) -> [Float] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in
            (0..<6).reduce(Float(0)) { sum, _ in sum + Float.random(in: -1...1, using: &generator) } * scale
        }
    }

    private static func halves(from start: Int, step: Int) -> [UInt16] {
        (0..<21).map { UInt16(start + $0 * step | $0 % 2 << 15) }
    }
    private static let subnormals = (0..<40).map { index -> Float in
        let value = Float(bitPattern: UInt32(index * index * 3))
        return index % 3 == 0 ? -value : value
    }
    private static let nearlyInfinite = (0..<32).map { index -> Float in
        let value = 0x1p127 * (1 + Float(index) / 33)
        return index % 3 == 0 ? -value : value
    }

    /// Finite weights that quantizing codecs take.
    static let matrices: [OddTensor] = [
        OddTensor("one element", [1, 1], [0.75]),
        OddTensor("one negative element", [1, 1], [-3e-3]),
        OddTensor("zeros", [3, 5], [Float](repeating: 0, count: 15)),
        OddTensor("minus zeros", [2, 3], [0, -0.0, 0, -0.0, 1, -0.0]),
        OddTensor("a row of zeros", [3, 4], [1, 2, 3, 4, 0, 0, 0, 0, -1, 5, 0.5, 0]),
        OddTensor("constant", [2, 33], [Float](repeating: 0.1, count: 66)),
        OddTensor("smallest subnormal", [1, 4], [.leastNonzeroMagnitude, 0, 0, 0]),
        OddTensor("subnormals", [2, 20], subnormals),
        OddTensor("subnormals of float16", [2, 17], normal(34, seed: 1, scale: 1e-7)),
        OddTensor("large for float16", [2, 18], normal(36, seed: 2, scale: 30_000)),
        OddTensor(
            "mixed magnitudes", [3, 32],
            normal(32, seed: 3, scale: 1e-9) + normal(32, seed: 4) + normal(32, seed: 5, scale: 1e4)),
        OddTensor("only positive", [2, 40], normal(80, seed: 6).map { abs($0) + 0.01 }),
        OddTensor("only negative", [2, 40], normal(80, seed: 7).map { -abs($0) }),
        OddTensor("one outlier", [2, 64], normal(127, seed: 8) + [1000]),
        OddTensor("offset", [4, 16], normal(64, seed: 9).map { 1e4 + $0 }),
        OddTensor("ties", [4, 24], (0..<96).map { Float($0 % 7) * 0.5 - 1.5 }),
        OddTensor("one column", [19, 1], normal(19, seed: 10)),
        OddTensor("ragged", [5, 37], normal(185, seed: 11, scale: 0.02)),
        OddTensor("ragged groups", [19, 48], normal(912, seed: 12)),
        OddTensor("a long row", [2, 301], normal(602, seed: 13)),
        OddTensor("rank 3", [3, 4, 5], normal(60, seed: 14)),
        OddTensor("rank 4", [2, 3, 2, 3], normal(36, seed: 15)),
        OddTensor("float16", .float16, [3, 7], halves(from: 0x2C00, step: 97)),
        OddTensor("bfloat16", .bfloat16, [3, 7], halves(from: 0x3D00, step: 11)),
        OddTensor("float64", .float64, [2, 5], (0..<10).map { Double($0) / 7 - 0.6 }),
        OddTensor("float8", .float8e4m3, [2, 8], (0..<16).map { UInt8($0 * 15) }),
    ]

    /// Finite, and beyond what float16 can scale.
    static let huge: [OddTensor] = [
        OddTensor("huge", [2, 16], nearlyInfinite),
        OddTensor(
            "largest", [2, 2], [.greatestFiniteMagnitude, -.greatestFiniteMagnitude, 1, -.greatestFiniteMagnitude]),
        OddTensor("largest, uneven", [1, 3], [.greatestFiniteMagnitude, -0x1.6p127, 0x1.2p126]),
    ]

    /// What quantizing codecs object to.
    static let objectionable: [OddTensor] = [
        OddTensor("vector", [7], normal(7, seed: 16)),
        OddTensor("scalar", [], [0.5]),
        OddTensor("no rows", [0, 4], []),
        OddTensor("no columns", [4, 0], []),
        OddTensor("integers", .int64, [2, 3], [Int64](0..<6)),
        OddTensor("booleans", .bool, [2, 2], [UInt8]([0, 1, 1, 0])),
    ]

    /// With the index of an element that is not finite.
    static let notFinite: [(tensor: OddTensor, index: Int)] = [
        (OddTensor("nan", [3, 5], (0..<15).map { $0 == 7 ? .nan : Float($0) }), 7),
        (OddTensor("infinity", [2, 40], (0..<80).map { $0 == 79 ? -.infinity : Float($0) }), 79),
        (OddTensor("first of two", [2, 40], (0..<80).map { $0 == 3 || $0 == 50 ? .infinity : Float($0) }), 3),
        (OddTensor("nan in float16", .float16, [2, 2], [UInt16]([0x3C00, 0x7E01, 0, 0])), 1),
        (OddTensor("infinity in bfloat16", .bfloat16, [1, 3], [UInt16]([0x3F80, 0, 0xFF80])), 2),
        (OddTensor("float64 beyond float32", .float64, [1, 2], [1, 1e39]), 1),
    ]
}
