import AccelByteIO
import AccelCPURuntime
import AccelTensors
import AccelWeightCompression
import CAccelKernels

/// Speed of the compression's inner parts on one thread, each beside its peer in the same run; scripts/bench.sh runs it.
/// usage: speed [ROUNDS]                      the table
///        speed palette BITS FILE TYPE        processor seconds of one palette of raw weights, and its squared error
///        speed hash                          GB/s of SHA-256, one stream
///        speed gptq [ROUNDS]                 the lines of GPTQ alone
///        speed schemes [SCHEME...]           a product with a weight in each scheme, beside float32 and the machine's limits
///        speed limits                        multiply-adds and bytes read in a second, of two threads
///        speed open PACKAGE DECODER          milliseconds of opening a package, and one of the decoder's architecture with 32 layers
@main struct Speed {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "palette", arguments.count == 4, let type = ElementType(rawValue: arguments[3]) {
            return try palette(bits: arguments[1], of: MappedFile(arguments[2]).bytes, type)
        }
        if arguments.first == "hash" { return print(text(hashing(9), 3)) }
        if arguments.first == "open", arguments.count == 3 { return try open(arguments[1], decoder: arguments[2]) }
        if arguments.first == "limits" {
            let limits = try MachineLimits(measuring: threads)
            return print(text(limits.multiplyAddsPerSecond, 0), text(limits.bytesPerSecond, 0))
        }
        if arguments.first == "schemes" { return try schemes(Array(arguments.dropFirst())) }
        if arguments.first == "gptq" { return try feedback(arguments.dropFirst().first.flatMap(Int.init) ?? 15) }
        let rounds = arguments.first.flatMap(Int.init) ?? 15
        let weights = Weights(rows: 4096, columns: 4096)
        conversions(weights, rounds)
        try integers(weights, rounds)
        try palettes(weights, rounds)
        try feedback(rounds)
    }

    private static func feedback(_ rounds: Int) throws {
        let feedback = Feedback()
        for scheme in ["int4", "palette:bits=4", "palette:bits=4,group=16", "palette:bits=3,group=16"] {
            let specification = scheme + (scheme.contains(":") ? "," : ":") + "method=gptq"
            let seconds = try feedback.seconds(specification, max(2, rounds / 5))
            line("\(specification), MiniLM's sizes", "\(text(seconds, 2)) s", "on all cores", "<= 2 s", seconds <= 2)
        }
    }

    private static func conversions(_ weights: Weights, _ rounds: Int) {
        var target = [UInt8](repeating: 1, count: weights.count * 4)
        target.withUnsafeMutableBytes { target in
            for type in [ElementType.float16, .bfloat16] {
                let halves = weights.tensor(type).bytes
                let floats = weights.tensor(.float32).bytes
                let isHalf = type == .float16
                // Both read and write six bytes a value; memcpy of three bytes a value reads and writes as much.
                let bytes = weights.count * 3
                halves.withBytes { halves in
                    floats.withBytes { floats in
                        let source = halves.bindMemory(to: UInt16.self).baseAddress!
                        let wide = floats.bindMemory(to: Float.self).baseAddress!
                        let floatTarget = target.bindMemory(to: Float.self).baseAddress!
                        let halfTarget = target.bindMemory(to: UInt16.self).baseAddress!
                        let times = best(
                            rounds,
                            [
                                { target.baseAddress!.copyMemory(from: wide, byteCount: bytes) },
                                {
                                    isHalf
                                        ? ck_f16_to_f32(source, floatTarget, weights.count)
                                        : ck_bf16_to_f32(source, floatTarget, weights.count)
                                },
                                {
                                    isHalf
                                        ? ck_f32_to_f16(wide, halfTarget, weights.count)
                                        : ck_f32_to_bf16(wide, halfTarget, weights.count)
                                },
                            ])
                        for (index, name) in [(1, "\(type.rawValue) to F32"), (2, "F32 to \(type.rawValue)")] {
                            compare(name, 2 * bytes, times[index], "memcpy", 2 * bytes, times[0], 0.95)
                        }
                    }
                }
            }
        }
    }

    private static func integers(_ weights: Weights, _ rounds: Int) throws {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: weights.count * 4, alignment: 4096)
        defer { copy.deallocate() }
        copy.initializeMemory(as: UInt8.self, repeating: 1)
        for (specification, bars) in [
            ("int8", [1.0, 1.0, 1.0]), ("int4:block=32,range=7,fit=absmax", [0.9, 0.5, 0.5]),
            ("int4:block=32,fit=absmax", [0.9, 0.5, 0.5]), ("int4:block=32", []),
        ] {
            let codec = try Codecs.codec(specification)
            for (index, type) in [ElementType.float32, .float16, .bfloat16].enumerated() {
                let source = weights.tensor(type)
                let sections = codec.sections(elementType: type, shape: source.shape).map {
                    ByteBuffer(count: $0.byteCount)
                }
                let units = codec.units(shape: source.shape)
                let times = best(
                    rounds,
                    [
                        { source.bytes.withBytes { copy.copyMemory(from: $0) } },
                        {
                            for unit in units {
                                _ = try? codec.encode(unit, of: source, given: nil, into: sections.map(\.bytes))
                            }
                        },
                    ])
                compare(
                    "\(specification) of \(type.rawValue)", source.bytes.count, times[1], "memcpy", source.bytes.count,
                    times[0], bars.isEmpty ? nil : bars[index])
            }
        }
    }

    private static func hashing(_ rounds: Int) -> Double {
        let bytes = ByteView([UInt8](repeating: 7, count: 1 << 20))
        let times = best(rounds, [{ for _ in 0..<64 { _ = SHA256.digest(of: bytes) } }])
        return Double(64 * bytes.count) / times[0] / 1e9
    }

    private static func palette(bits: String, of bytes: ByteView, _ type: ElementType) throws {
        let source = StoredTensor(
            name: "w", elementType: type, shape: [1, bytes.count / type.byteCount], bytes: bytes)
        let codec = try Codecs.codec("palette:bits=\(bits)")
        var error = 0.0
        let times = best(
            5,
            [
                {
                    let made = try? CompressedTensor.compressing(source, with: codec, threads: 1)
                    error = made?.distortion.squaredError ?? .nan
                }
            ])
        print("\(times[0]) \(error)")
    }

    private static func palettes(_ weights: Weights, _ rounds: Int) throws {
        for (type, name) in [(ElementType.float16, "F16"), (.bfloat16, "BF16")] {
            let source = weights.tensor(type)
            for bits in [4, 6, 8] {
                let time = try encode("palette:bits=\(bits)", source, max(3, rounds / 3))
                let milliseconds = time * 1e3
                line(
                    "palette, k=\(1 << bits), 16.8 M \(name) a tensor", "\(text(milliseconds, 1)) ms", "", "<= 25 ms",
                    milliseconds <= 25)
            }
        }
        let part = weights.part(rows: 256)
        for type in [ElementType.float16, .bfloat16, .float32] {
            // The bar of float32 is kmeans1d's speed (kmeans_speed.py).
            for (bits, bar) in [(4, 10.0), (6, 25), (8, 25)] {
                let source = part.tensor(type)
                let time = try encode("palette:bits=\(bits),group=16", source, max(2, rounds / 5))
                let nanoseconds = time * 1e9 / Double(source.shape.count)
                line(
                    "palette, k=\(1 << bits), 16 rows of \(type.rawValue) a table",
                    "\(text(nanoseconds, 1)) ns a weight",
                    "", type == .float32 ? "" : "<= \(text(bar, 0)) ns",
                    type == .float32 ? nil : nanoseconds <= bar)
            }
        }
    }

    private static func encode(_ specification: String, _ source: StoredTensor, _ rounds: Int) throws -> Double {
        let codec = try Codecs.codec(specification)
        return best(rounds, [{ _ = try? CompressedTensor.compressing(source, with: codec, threads: 1) }])[0]
    }

    /// Bytes a second against a peer's.
    private static func compare(
        _ name: String, _ bytes: Int, _ seconds: Double, _ peer: String, _ peerBytes: Int, _ peerSeconds: Double,
        _ bar: Double?
    ) {
        let (speed, peerSpeed) = (Double(bytes) / seconds / 1e9, Double(peerBytes) / peerSeconds / 1e9)
        line(
            name, "\(text(speed, 2)) GB/s", "\(peer) \(text(peerSpeed, 2)) GB/s, ratio \(text(speed / peerSpeed, 2))",
            bar.map { ">= \(text($0, 2))" } ?? "", bar.map { speed >= $0 * peerSpeed })
    }
}

/// Weights of a normal distribution, in every type.
struct Weights {
    let shape: Shape
    private let floats: [Float]
    var count: Int { floats.count }

    init(rows: Int, columns: Int) {
        shape = [rows, columns]
        var state: UInt64 = 1
        floats = (0..<rows * columns).map { _ in
            var sum: Float = 0
            for _ in 0..<2 {
                // SplitMix64; four 16-bit numbers of each.
                state &+= 0x9E37_79B9_7F4A_7C15
                var z = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
                z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
                z ^= z >> 31
                for part in 0..<4 { sum += Float(Int16(truncatingIfNeeded: z >> UInt64(16 * part))) }
            }
            return sum * (0.02 / (32768 * 1.633))
        }
    }

    private init(shape: Shape, floats: [Float]) {
        self.shape = shape
        self.floats = floats
    }

    func part(rows: Int) -> Weights {
        Weights(shape: [rows, shape.columns], floats: Array(floats[..<(rows * shape.columns)]))
    }

    func tensor(_ type: ElementType) -> StoredTensor {
        var halves = [UInt16](repeating: 0, count: type == .float32 ? 0 : count)
        switch type {
        case .float16: ck_f32_to_f16(floats, &halves, count)
        case .bfloat16: ck_f32_to_bf16(floats, &halves, count)
        default: return StoredTensor(name: "w", floats: floats, shape: shape)
        }
        return StoredTensor(name: "w", elementType: type, shape: shape, bytes: ByteView(halves))
    }
}
