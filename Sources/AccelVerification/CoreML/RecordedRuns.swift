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
        let variants = package.model.interfaces.flatMap { interface in
            interface.enumeratedShapes.enumerated().map { Variant(interface: interface, shape: $0, sizes: $1.shapes) }
        }
        let names = variants.map(\.interface.function)
        let functions = try variants.map {
            try package.program(function: $0.interface.function, shapes: $0.sizes)
        }
        var (runs, given, made): ([Run], [HostRow], [HostRow]) = ([], [], [])
        let (sequences, drawn, leftOut) = try Self.sequences(package, variants, functions, source)
        for (number, sequence) in sequences.enumerated() {
            var states: [String: HostTensor] = [:]
            var before: [String: HostTensor] = [:]
            for step in sequence {
                let function = functions[step.function]
                let inputs = step.inputs.merging(step.carried.compactMapValues { before[$0] }) { own, _ in own }
                let outputs = try function.evaluate(inputs, states: &states)
                before.merge(outputs.map { ($0.name, $0.tensor) }) { _, new in new }
                let inputNames = inputs.keys.sorted()
                given += inputNames.compactMap { name in inputs[name].map { ("\(runs.count).\(name)", $0) } }
                made += outputs.map { ("\(runs.count).\($0.name)", $0.tensor) }
                runs.append(
                    Run(
                        function: names[step.function], sequence: number, inputs: inputNames,
                        outputs: outputs.map(\.name),
                        logits: outputs.map(\.name).filter {
                            function.program.interface.outputs[$0]?.kind == .logits
                        }))
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
        return (runs.count, drawn, leftOut)
    }

    /// A function with one of the shapes that it enumerates.
    private struct Variant {
        let interface: CoreMLModel.Interface
        /// The index of the shape.
        let shape: Int
        let sizes: [String: [Int]]
    }

    private typealias HostRow = (name: String, tensor: HostTensor)
    private struct Step {
        var function: Int
        var inputs: [String: HostTensor]
        var carried: [String: String] = [:]
    }

    /// Returns the steps of each sequence, the functions whose inputs are drawn although the source has a file, and remarks on samples that
    /// a function leaves out.
    private static func sequences(
        _ package: CoreMLPackage, _ variants: [Variant], _ functions: [FrozenProgram], _ source: InputSource
    ) throws -> (sequences: [[Step]], drawn: [String], leftOut: [String]) {
        if let golden = source.golden, golden.isDecoding {
            let sequences = try CoreMLDecoding(package, golden: golden).sequences.map {
                sequence in
                sequence.blocks.map { block in
                    Step(
                        function: variants.firstIndex {
                            $0.interface.function == package.model.interfaces[block.step.function].function
                        } ?? block.step.function, inputs: block.step.inputs.mapValues { HostTensor($0) },
                        carried: block.step.carried)
                }
            }
            return (sequences, [], [])
        }
        func recorded(_ index: Int, leavingOut leavesOut: Bool) throws -> (inputs: [[String: HostTensor]], leftOut: Int)
        {
            let run = CoreMLRun(
                package: package, interface: variants[index].interface, shape: variants[index].shape, source: source,
                stored: [:], limits: CoreMLLimits())
            do {
                let runs = source.seed == nil ? try run.bySamples(leavingOut: leavesOut) : []
                let inputs = try runs.compactMap { try $0.sourceInputs() }.filter { inputs in
                    functions[index].inputs.allSatisfy { inputs[$0.name]?.shape == $0.shape }
                }
                let taken = runs.compactMap(\.sample?.rows.own).reduce(0, +)
                return inputs.count == runs.count ? (inputs, (runs.first?.sample?.samples ?? taken) - taken) : ([], 0)
            } catch is SamplesTooLong {
                return ([], 0)
            }
        }
        var given = try functions.indices.map { try recorded($0, leavingOut: false) }
        // Where a function takes all samples, one that is too short for some takes the others.
        if given.contains(where: { !$0.inputs.isEmpty }) {
            for index in given.indices where given[index].inputs.isEmpty {
                given[index] = try recorded(index, leavingOut: true)
            }
        }
        var (sequences, drawn): ([[Step]], [String]) = ([], [])
        for (index, function) in functions.enumerated() {
            for inputs in given[index].inputs { sequences.append([Step(function: index, inputs: inputs)]) }
            guard given[index].inputs.isEmpty else { continue }
            let inputs = SeededInputs(seed: source.samplingSeed).inputs(for: function)
            sequences.append([Step(function: index, inputs: inputs)])
            if source.seed == nil { drawn.append(variants[index].interface.function) }
        }
        if drawn.count == functions.count {
            switch source {
            case .seeded: break
            case .golden(let golden): throw package.noFunction(takes: InputMatcher(golden: golden))
            case .file(let file):
                throw package.noFunction(takes: try InputMatcher(file, for: package.functionInterfaces))
            }
        }
        let leftOut = zip(variants, given).filter { $0.1.leftOut > 0 }.map {
            "\($0.interface.title(ofShape: $0.shape)) leaves out \(Wording.count($1.leftOut, "sample")) that \($1.leftOut == 1 ? "is" : "are") too long for it"
        }
        return (sequences, drawn, leftOut)
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
