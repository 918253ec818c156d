import Accel
import AccelByteIO
import AccelCPURuntime
import AccelCalibration
public import AccelFormats
import AccelPrograms
import AccelTensors

/// Runs of a Core ML package's functions with their expected outputs, as a folder: `inputs.safetensors` and
/// `expected.safetensors`, whose tensors have names `RUN.NAME`, and `runs.json`, which lists the runs. All runs of one
/// sequence share the states, which start as zeros. A Mac or a phone writes a file of outputs with the same names,
/// which `compare` checks.
public struct RecordedRuns: Sendable {
    struct Run: Sendable {
        let function: String
        /// Runs with the same number share states.
        let sequence: Int
        let inputs: [String]
        let outputs: [String]
        /// The outputs that are logits.
        let logits: [String]
    }
    private let runs: [Run]
    /// The smallest allowed SQNR of an output, in dB.
    private let sqnr: Double
    private let given: [String: StoredTensor]
    private let expected: [String: StoredTensor]

    static let (list, inputs, outputs) = ("runs.json", "inputs.safetensors", "expected.safetensors")

    /// Runs every function of the package with the reference implementation of its operations, and writes the inputs
    /// and outputs. A decoder's golden defines the runs. On a file of more samples than its batch a function runs on one
    /// after the other; otherwise it runs once. Functions that a file has no inputs for run on inputs that are drawn.
    /// - Returns: The number of runs, the functions whose inputs were drawn although there is a file, and remarks on samples that a function
    ///   leaves out since they are too long for it.
    /// - Throws: `RequestError` (unavailable) if the inputs of a file fit no function.
    public static func record(
        _ package: CoreMLPackage, on source: InputSource, to path: String
    ) throws -> (runs: Int, drawn: [String], leftOut: [String]) {
        // A function that enumerates its shapes is one of each of them.
        let functions = CoreMLFunction.all(of: package)
        let feeds = try FeedPlan(functions.plan(fitting: source), on: source, decodesSamples: false)
        let importer = CoreMLImporter(functions, feeds.program, keeping: feeds.decoded)
        var (runs, given, made): ([Run], [HostRow], [HostRow]) = ([], [], [])
        let (sequences, drawn) = try Self.sequences(feeds, importer, source)
        for (number, calls) in sequences.enumerated() {
            let sequence = CoreMLSequence(importer)
            for (index, call) in calls {
                let program = try importer.program(index)
                var call = try call()
                // Elsewhere the states of a sequence start as zeros.
                call.states = [:]
                let (inputs, values) = try sequence.run(index, call)
                let inputNames = inputs.keys.sorted()
                let outputs = program.program.outputs.map(\.name)
                given += inputNames.compactMap { name in inputs[name].map { ("\(runs.count).\(name)", $0) } }
                made += outputs.compactMap { name in values[name].map { ("\(runs.count).\(name)", $0) } }
                runs.append(
                    Run(
                        function: functions[index].interface.function, sequence: number, inputs: inputNames,
                        outputs: outputs,
                        logits: outputs.filter { program.program.interface.outputs[$0]?.kind == .logits }))
            }
        }
        let folder = try AtomicFolder(replacing: path, as: .recordedRuns)
        try write(given, to: "\(folder.path)/\(Self.inputs)")
        try write(made, to: "\(folder.path)/\(Self.outputs)")
        let members: [JSON.Member] = [
            .init("accelc", "recorded runs"), .init("version", 1),
            .init("model", .string(SHA256.digest(of: ByteView(package.encodedModel)).description)),
            .init("inputs", .string(source.summary(drawing: drawn))),
            .init("sqnr", .number(Tolerance.halves.sqnr ?? 0)),
            .init(
                "runs",
                .array(
                    runs.map { run in
                        [
                            "function": .string(run.function), "sequence": .integer(Int64(run.sequence)),
                            "inputs": .array(run.inputs.map { .string($0) }),
                            "outputs": .array(run.outputs.map { .string($0) }),
                            "logits": .array(run.logits.map { .string($0) }),
                        ]
                    })),
        ]
        let document = try WrittenDocument.text(
            of: members, listing: [Self.inputs, Self.outputs], in: folder.path)
        try AtomicFile.write(document, to: "\(folder.path)/\(list)", as: .internal)
        try folder.commit()
        let leftOut = feeds.leftOut.map { function, taken, samples in
            let count = samples - taken
            return
                "\(function) leaves out \(Wording.count(count, "sample")) that \(count == 1 ? "is" : "are") too long for it"
        }
        return (runs.count, drawn, leftOut)
    }

    private typealias HostRow = (name: String, tensor: HostTensor)
    private typealias Sequence = [(function: Int, call: () throws -> FeedCall)]

    /// Returns the calls of each sequence, and the functions whose inputs are random although the source has a file.
    private static func sequences(
        _ feeds: FeedPlan, _ importer: CoreMLImporter, _ source: InputSource
    ) throws -> (sequences: [Sequence], drawn: [String]) {
        guard feeds.sequences.isEmpty else {
            let blocks = feeds.sequences.map { $0.blocks.map { block in (block.step.function, { FeedCall(block) }) } }
            return (blocks, [])
        }
        var (sequences, drawn): ([Sequence], [String]) = ([], [])
        for (index, function) in importer.functions.enumerated() {
            let runs = feeds.runs.filter { $0.function == index }
            sequences += runs.map { run in [(index, { FeedCall(inputs: try run.feed.completed().inputs) })] }
            guard runs.isEmpty else { continue }
            sequences.append([
                (
                    index,
                    {
                        FeedCall(
                            inputs: SeededInputs(seed: source.samplingSeed).inputs(for: try importer.program(index)))
                    }
                )
            ])
            if source.seed == nil { drawn.append(function.interface.function) }
        }
        return (sequences, drawn)
    }

    /// Writes integers as I32, the integer type of Core ML.
    private static func write(_ rows: [HostRow], to path: String) throws {
        var writer = try SafetensorsWriter(
            replacing: path, as: .part,
            entries: rows.map { row in
                let isFloat = row.tensor.elementType.isFloatingPoint
                return .init(name: row.name, elementType: isFloat ? .float32 : .int32, shape: row.tensor.shape)
            })
        for (_, tensor) in rows {
            if tensor.elementType.isFloatingPoint {
                try tensor.floats.withUnsafeBytes { try writer.append($0) }
            } else {
                try tensor.integers.map(Int32.init(clamping:)).withUnsafeBytes { try writer.append($0) }
            }
        }
        try writer.finish()
    }

    /// Reads recorded runs.
    /// - Throws: `FormatError` for a folder that `record` has not written.
    public init(_ path: String) throws {
        let file = "\(path)/\(Self.list)"
        let document = JSONField(try JSON.read(file), file: file)
        guard try document["version"].int() == 1 else { throw document["version"].error("is not 1") }
        sqnr = try document["sqnr"].double()
        runs = try document["runs"].array().map { run in
            Run(
                function: try run["function"].string(), sequence: try run["sequence"].int(in: 0...Int.max),
                inputs: try run["inputs"].array().map { try $0.string() },
                outputs: try run["outputs"].array().map { try $0.string() },
                logits: run["logits"].exists ? try run["logits"].array().map { try $0.string() } : [])
        }
        func tensors(_ name: String) throws -> [String: StoredTensor] {
            let tensors = try SafetensorsFile("\(path)/\(name)").tensors
            return Dictionary(tensors.map { ($0.name, $0) }) { first, _ in first }
        }
        (given, expected) = (try tensors(Self.inputs), try tensors(Self.outputs))
    }

    /// Compares outputs from elsewhere with the recorded ones.
    /// - Parameter path: a safetensors file of tensors called `RUN.NAME`.
    public func compare(_ path: String, budget: Budget?) throws -> ParityReport {
        let found = try SafetensorsFile(path).tensors
        let made = Dictionary(found.map { ($0.name, $0) }) { first, _ in first }
        var report = ParityReport(
            functions: runs.map(\.function).distinct, storedBytes: 0,
            storedElements: 0, inputs: .file(InputFile(path)), budget: budget)
        (report.stages, report.recordedLimit) = ([.outputs], sqnr)
        for (number, run) in runs.enumerated() {
            let positions = CountedPositions(
                run.inputs.reduce(into: [:]) { $0[$1] = given["\(number).\($1)"].map { HostTensor($0) } }, of: nil)
            for output in run.outputs {
                let name = "\(number).\(output)"
                guard let wanted = expected[name], let actual = made[name], wanted.shape == actual.shape else {
                    let reason =
                        made[name].map { "is \($0.shape), expected \(expected[name]?.shape.description ?? "nothing")" }
                        ?? "\(path) has no such tensor"
                    report.skip(.outputs, name, reason, isRequired: true)
                    continue
                }
                report.outputs.append(
                    OutputFinding(
                        .outputs, function: run.function, name: name,
                        run.logits.contains(output) ? .logits(over: .vocabulary) : nil, against: .recorded,
                        HostTensor(actual), HostTensor(wanted),
                        budget?.tolerance(forOutput: output)
                            ?? Tolerance(sqnr: sqnr, origin: "what was recorded"),
                        at: positions))
            }
        }
        if let budget { report.allow(by: budget) }
        report.checkUse(of: budget, asked: [.outputs], measured: [])
        return report
    }
}
