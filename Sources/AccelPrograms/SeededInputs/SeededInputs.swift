import AccelTensors

/// Inputs drawn by a counter-based generator: element i of an input depends on the seed, the input's name and i, and on
/// nothing else, so the same seed gives the same bits on every machine and for every order of drawing.
///
/// - Tokens, token types and codes are below the count that their roles state; the position of a block is such that the
///   block fits within the cache length; a valid length is from 1 to the size of its axis.
/// - A mask is of 0 and 1 along its last axis: the first of several rows is all ones; the others are padded alternately
///   at the end and at the start, by a drawn length, and keep at least one 1. A single row is padded at the end and
///   keeps at least half of its ones.
/// - A float input is close to standard normal: the sum of four uniform numbers, which is exact in float32.
/// - An integer input without a role is a valid index for the operators that read it, or a mask if they accept any
///   integer. A boolean input is a mask.
///
/// States are drawn in the same way, so that the comparison covers how a function uses them.
public struct SeededInputs: Sendable {
    /// The generator's name in reports.
    public static let generator = "SplitMix64, counter-based"
    /// The seed; equal seeds draw equal inputs.
    public let seed: UInt64

    /// e.g. `seed 1 (SplitMix64, counter-based)`
    package static func words(_ seed: UInt64) -> String { "seed \(seed) (\(generator))" }

    /// Creates a generator from a seed.
    public init(seed: UInt64) { self.seed = seed }

    /// Draws all inputs of a function, by name.
    package func inputs(for function: FrozenProgram) -> [String: HostTensor] {
        let ranges = IntegerRanges(function)
        let drawn = function.program.inputs.map { ($0.name, draw($0.name, $0.value, of: function, ranges)) }
        return Dictionary(drawn) { _, last in last }
    }

    /// Draws the initial value of a state.
    package func state(_ name: String, of function: FrozenProgram) -> HostTensor? {
        function.program.states.first { $0.name == name }
            .map { draw(name, $0.value, of: function, IntegerRanges(function)) }
    }

    private func draw(
        _ name: String, _ value: Value, of function: FrozenProgram, _ ranges: IntegerRanges
    ) -> HostTensor {
        draw(
            SeededStream(seed: seed, name: name), function.program.type(of: value).elementType,
            function.shape(of: value), ranges.range(of: name, value))
    }

    /// - Parameter range: the range of integers; nil for a mask.
    private func draw(
        _ stream: SeededStream, _ elementType: ElementType, _ shape: Shape, _ range: Range<Int>?
    ) -> HostTensor {
        switch elementType {
        case .bool: return HostTensor(mask(stream, shape).map { $0 != 0 }, shape)
        case .float32:
            let width = 1 << 12
            let floats = Reference.rows((shape.count + width - 1) / width, width: width) { row, target in
                for index in 0..<width { target[index] = stream.normal(row * width + index) }
            }
            return HostTensor(shape.count == floats.count ? floats : Array(floats[..<shape.count]), shape)
        case .float16: return HostTensor(rounding: (0..<shape.count).map(stream.normal), shape)
        case .int8:
            // A cache of rows of codes, of the numbers that a cache of float32 would have.
            let rows = HostTensor(0, filling: TensorType(.int8, shape: shape)).wideningRows().shape
            return draw(stream, .float32, rows, nil).roundingRows()
        default:
            guard let range, !range.isEmpty else { return HostTensor(mask(stream, shape), shape) }
            return HostTensor(
                (0..<shape.count).map { Int64(range.lowerBound + stream.integer($0, below: range.count)) }, shape)
        }
    }

    private func mask(_ stream: SeededStream, _ shape: Shape) -> [Int64] {
        let length = shape.dimensions.last ?? 1
        let rows = length == 0 ? 0 : shape.count / length
        var flags: [Int64] = []
        for row in 0..<rows {
            let least = rows == 1 ? (length + 1) / 2 : 1
            let kept = row == 0 && rows > 1 ? length : least + stream.integer(row, below: length - least + 1)
            let padding = [Int64](repeating: 0, count: length - kept)
            let ones = [Int64](repeating: 1, count: kept)
            flags += row > 0 && row % 2 == 0 ? padding + ones : ones + padding
        }
        return flags
    }
}

/// A counter-based random number generator (SplitMix64).
package struct SeededStream: Sendable {
    private let base: UInt64

    package init(seed: UInt64, name: String) {
        // FNV-1a of the name keeps the inputs' streams apart.
        let hash = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        base = Self.mixed(seed &+ 0x9E37_79B9_7F4A_7C15) ^ hash
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        var z = value
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    private func bits(_ index: Int) -> UInt64 { Self.mixed(base &+ UInt64(index + 1) &* 0x9E37_79B9_7F4A_7C15) }

    /// In `0..<limit`; the bias of the multiplication is below 2^-32 for any real limit.
    package func integer(_ index: Int, below limit: Int) -> Int {
        Int(bits(index).multipliedFullWidth(by: UInt64(max(limit, 1))).high)
    }

    /// Mean 0, variance 1: four 16-bit numbers summed (variance of each: (2^32 - 1) / 12).
    package func normal(_ index: Int) -> Float {
        let word = bits(index)
        let sum = (0..<4).reduce(0) { $0 + Int((word >> ($1 * 16)) & 0xFFFF) }
        return Float(sum - 2 * 0xFFFF) * (3 as Float).squareRoot() / 65536
    }
}
