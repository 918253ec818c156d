import AccelByteIO
import AccelCPURuntime
import AccelPlatform
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import CAccelKernels

extension Speed {
    /// Specifications that stand for every codec: its options that change how codes are stored.
    private static let schemes = [
        "float32", "float16", "bfloat16", "float8", "float8:type=e5m2,scale=block", "int8",
        "int8:mode=asymmetric", "int8:axis=tensor", "int4", "int4:block=32", "int4:block=channel",
        "int4:mode=asymmetric", "affine:bits=2", "affine:bits=3", "affine:bits=4", "affine:bits=5", "affine:bits=6",
        "affine:bits=8", "nf4", "fp4", "hqq:bits=4", "hqq:bits=4,axis=0", "mxfp4", "nvfp4", "mxfp8", "palette:bits=1",
        "palette:bits=2", "palette:bits=3",
        "palette:bits=4",
        "palette:bits=4,group=16", "palette:bits=4,scale=channel", "palette:bits=6", "palette:bits=8",
        "palette:bits=8,group=16", "vector", "sparse:target=0.5+float16", "sparse:target=0.5+int8",
        "outliers:share=0.005+int4", "permuted+int4", "flat+nf4", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k",
        "q3_k", "q4_k", "q5_k", "q6_k",
        "iq4_nl", "iq4_xs", "iq3_s", "iq3_xxs", "iq2_s", "iq2_xs", "iq2_xxs", "tq1_0", "tq2_0",
    ]
    static let threads = 2

    /// The time of one product with a weight in every scheme, beside that of float32 weights, and beside the machine's limits.
    ///
    /// Bars: with 128 rows of input or more, 1.1 times the time of float32 weights; with 64, 1.3 times; with one, half of the
    /// bandwidth at which the stored bytes can be read, or half of the multiply-adds that the machine can do.
    static func schemes(_ names: [String]) throws {
        let weights = Weights(rows: 4096, columns: 2048)
        let source = weights.tensor(.float32)
        let limits = try MachineLimits(measuring: threads)
        let (bandwidth, roof) = (limits.bytesPerSecond, limits.multiplyAddsPerSecond)
        print(
            "\(threads) threads; memory is read at \(text(bandwidth / 1e9, 1)) GB/s; "
                + "\(text(roof / 1e9, 0)) billion multiply-adds a second")
        let rows = [1, 8, 64, 512]
        var plain: [Int: Double] = [:]
        var misses = 0
        let missing = Codecs.all.map { $0.name }.filter { name in
            name != StoredCodec.name && !schemes.contains { $0.prefix { !":+".contains($0) } == name }
        }
        guard missing.isEmpty else { throw RequestError("no scheme stands for \(missing.joined(separator: ", "))") }
        for scheme in names.isEmpty ? schemes : ["float32"] + names {
            let codec = try Codecs.codec(scheme)
            let weight = try CompressedTensor.compressing(source, with: codec, threads: threads).tensor
            let bytes = Double(weight.sections.reduce(0) { $0 + $1.count })
            var figures: [String] = []
            for m in rows {
                let seconds = try seconds(of: weight, rows: m)
                if scheme == "float32" { plain[m] = seconds }
                let ratio = seconds / (plain[m] ?? .nan)
                let work = Double(m * weights.count) / seconds / roof
                let isMet =
                    switch m {
                    case 1: bytes / seconds >= 0.5 * bandwidth || work >= 0.5
                    case 64: ratio <= 1.3
                    case 128...: ratio <= 1.1
                    default: true
                    }
                if !isMet { misses += 1 }
                let share = m == 1 ? "\(text(100 * bytes / seconds / bandwidth, 0)) %" : "x\(text(ratio, 2))"
                figures.append(
                    pad(
                        "\(m): \(text(seconds * 1000, 2)) ms \(share) (\(text(100 * work, 0)))\(isMet ? "" : " MISSED")",
                        30))
            }
            print(pad(scheme, 30) + figures.joined())
        }
        guard misses == 0 else {
            print("\(misses) products missed their bar")
            exit(1)
        }
    }

    /// The best of several runs, as the runtime itself measures the call, with helper threads that are awake.
    private static func seconds(of weight: CompressedTensor, rows: Int) throws -> Double {
        var builder = ProgramBuilder(name: "product")
        let x = builder.input("x", TensorType(.float32, shape: [rows, weight.shape.columns]))
        let stored = StoredTensor(name: weight.name, floats: weight.floats(), shape: weight.shape)
        // A product before the measured one wakes the helper threads, as the first of a model's many calls does.
        let first = StoredTensor(
            name: "first", floats: [Float](repeating: 1, count: 1024 * weight.shape.columns),
            shape: [1024, weight.shape.columns])
        for (name, constant) in [("first", first), ("y", stored)] {
            builder.output(name, try builder.apply(Linear(), [x, builder.constant(constant, isWeight: true)]))
        }
        let frozen = try builder.finish().freezing(ShapeBindings())
        let float32 = try CompressedTensor.compressing(first, with: try Codecs.codec("float32"), threads: threads)
            .tensor
        let plan = try ModelGraph(functions: [frozen], tensors: [float32, weight]).planned()
        let executor = try Executor(plan, threads: threads)
        let count = rows * weight.shape.columns
        let inputs = [
            "x": StoredTensor(
                name: "x", floats: (0..<count).map { Float($0 % 17) / 17 - 0.5 }, shape: [rows, weight.shape.columns])
        ]
        let other = ByteBuffer(count: rows == 1 ? 1 << 28 : 1)
        other.bytes.initializeMemory(as: UInt8.self, repeating: 1)
        var best = Double.infinity
        for _ in 0..<(rows >= 512 ? 5 : 12) {
            // One row meets each weight once, so that in a model weights come from memory.
            ck_read_memory(other.bytes.baseAddress?.assumingMemoryBound(to: UInt64.self), other.bytes.count / 8)
            _ = try executor.run(inputs)
            best = min(best, (executor.durations.last ?? .zero) / .seconds(1))
        }
        return best
    }
}
