import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import CCounting
import TestSupport

/// Counts what runs ask of the C library, in a process of its own: see ExecutionTests.
///
///     families THREADS FIXTURE...   runs all functions of these models, to their usual shapes
///     operators THREADS             runs each sample of an operator, on inputs and on weights
///     codecs THREADS                runs products, lookups and views of weights of every codec
///     plant                         allocates and locks by intent, for control
///
/// Prints a line for each function: the name, and allocations, locks and wakes of its later runs.
@main
enum AllocationCounter {
    static func main() throws {
        let words = CommandLine.arguments
        guard counting_is_possible() != 0 else { return print("impossible") }
        let threads = words.count > 2 ? Int(words[2]) ?? 1 : 1
        switch words.dropFirst().first {
        case "families":
            for (index, fixture) in words.dropFirst(3).enumerated() {
                try measure(family(fixture, codec: codecs[index % codecs.count]), fixture, threads)
            }
        case "operators": for sample in OperatorSample.all { try operators(sample, threads) }
        case "codecs":
            for codec in Codecs.all.map({ $0.name }) {
                try measure(CounterPrograms.reading(Codecs.codec(codec)), codec, threads)
            }
        case "plant": plant()
        default: print("usage: families THREADS FIXTURE... | operators THREADS | codecs THREADS | plant")
        }
    }

    /// Each is used for another family.
    private static let codecs = [
        "int4:block=32", "palette:bits=4,group=16", "float32", "int8", "nf4", "nvfp4", "affine", "float16", "sparse",
    ]

    private static func family(_ fixture: String, codec: String) throws -> ModelPlan {
        let checkpoint = try Checkpoint(model: Fixtures.path(fixture))
        let programs = try Families.matching(checkpoint.configuration).model(for: checkpoint).programs
        // By one thread: a helper that starts or wakes late would be counted with the runs.
        return try Recipe(default: Codecs.codec(codec))
            .compressing(try programs.freezingToUsualShapes(), threads: 1).planned()
    }

    private static func operators(_ sample: OperatorSample, _ threads: Int) throws {
        let inputs = try sample.portInputs()
        for weight in [nil] + inputs.indices.map({ $0 })
        where weight.map({ inputs[$0].floats.allSatisfy(\.isFinite) }) ?? true {
            let program = try CounterPrograms.applying(sample, weight: weight)
            let values = Dictionary(uniqueKeysWithValues: inputs.enumerated().map { ("x\($0)", $1) })
            let name = weight.map { "\(sample.name), weight \($0)" } ?? sample.name
            try measure(program, name, threads, inputs: values)
        }
    }

    private static func measure(
        _ program: ModelPlan, _ name: String, _ threads: Int, inputs: [String: HostTensor] = [:]
    ) throws {
        let session = try Session(program, threads: threads)
        let executions = try program.functions.indices.map { try session.makeExecution(of: $0) }
        for execution in executions {
            let names = execution.function.inputs.map(\.name)
            for port in execution.function.inputs {
                let tensor =
                    inputs[port.name] ?? HostTensor(0, filling: TensorType(port.elementType, shape: port.shape))
                try execution.setInput(port.name, to: tensor.stored(name: port.name))
            }
            try execution.run()
            let wakes = execution.wakes
            counting_start()
            for _ in 0..<2 { try execution.run() }
            counting_stop()
            let woken = execution.wakes - wakes
            let (allocations, locks) = (counting_allocations(), counting_locks())
            print("\(name) \(execution.function.name)(\(names.count)): \(allocations) \(locks) \(woken)")
        }
    }

    /// What a run must not do.
    private static func plant() {
        let lock = Locked(0)
        // What a first time costs is not planted.
        for _ in 0..<2 {
            counting_start()
            let memory = UnsafeMutableRawPointer.allocate(byteCount: 1000, alignment: 64)
            lock.withLock { $0 += memory == UnsafeMutableRawPointer(bitPattern: 1) ? 1 : 0 }
            counting_stop()
            memory.deallocate()
        }
        print("planted: \(counting_allocations()) \(counting_locks()) 0")
    }
}
