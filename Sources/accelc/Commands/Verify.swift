import AccelByteIO
import AccelFormats
import AccelPackages
import AccelTensors
import AccelVerification

enum VerifyCommand: Command {
    static let name = "verify"
    static let summary = "compare a package with its original model, or with golden outputs"
    static let package = Positional(
        "PACKAGE",
        "a package, a Core ML package, or an export. Models of Core AI need --runtime",
        takes: PathKind.models)
    static let against = Option(
        "against", .input("MODEL"), in: .input,
        "the original model, as convert takes it. It is converted again, and every output must be compared",
        isCommon: true, takes: PathKind.models)
    static let inputs = Option(
        "inputs", .input("FILE"), in: .input,
        "run on inputs of a safetensors file, or on a text. The file is one as --calibrate of convert takes it. More samples than "
            + "a function's batch run one after the other; positions that attention_mask hides do not count",
        isCommon: true, excludes: ["golden", "seed"],
        takes: [.tensors])
    static let golden = Option(
        "golden", .input("FILE"), in: .input,
        "run on in.NAME of a safetensors file, and compare with its out.NAME", isCommon: true, excludes: ["seed"],
        takes: [.tensors])
    static let seed = Option(
        "seed", .integer(0...Int.max), in: .input, "the seed of random inputs", default: "\(InputSource.defaultSeed)")
    static let budget = Option(
        "budget", .input("FILE"), in: .comparison,
        "a JSON file of limits for outputs, weights, resources and quality. Its schema is \(CommonOptions.schema("budget"))",
        isCommon: true)
    static let minimumSQNR = Option(
        "min-sqnr", .text("DB"), in: .comparison,
        "the least SQNR in dB of each output. It is the budget {\"outputs\": [{\"match\": \"*\", \"sqnr\": DB}]}",
        isCommon: true, excludes: ["budget"])
    static let only = Option(
        "only", .text("STAGE,.."), in: .comparison,
        "run only these stages. They are \(Stage.allCases.map(\.rawValue).joined(separator: ", ")). The container is always "
            + "checked. The report in the package does not change",
        isRepeatable: true, excludes: ["self-test"])
    static let report = Option(
        "report", .output("FILE") { _ in .parityReport }, in: .output,
        "write the report as JSON. Its schema is \(CommonOptions.schema("report"))", isCommon: true)
    static let html = Option(
        "html", .output("FILE") { _ in .parityPage }, in: .output, "write the report as one HTML page", isCommon: true)
    static let selfTest = Option(
        "self-test", .flag, in: .comparison,
        "also inject faults into a copy in memory. The test fails if the comparison misses one",
        needs: [.option("against")])
    static let runtime = Option(
        "runtime", .words(ModelRuntimes.all.map(\.name)), in: .execution,
        "compute the outputs in the export's own runtime. A Python program in share/accelc/runtimes of a release runs it. Of a "
            + "model with an encoder and a decoder, the encoder runs",
        isCommon: true, needs: [.option("against")])
    static let runtimes = Option(
        "runtimes", .input("DIR"), in: .execution,
        "the folder of the programs of --runtime. Without it $ACCELC_RUNTIMES is used, or the folder of this installation",
        needs: [.option("runtime")])
    static let python = Option(
        "python", .text("PROGRAM"), in: .execution,
        "the Python that has the runtime (default: $ACCELC_PYTHON, else python3)",
        needs: [.option("runtime")])
    static let runtimeTimeout = Option(
        "runtime-timeout", .seconds, in: .execution, "the most seconds for each run of the runtime (default: 600)",
        needs: [.option("runtime")])
    static let positionals = [package]
    static let options = [
        against, ConversionArguments.configuration.option.needing([.option("against")]),
        ConversionArguments.ignoredFields.option.needing([.option("against")]),
        ConversionArguments.adapter.option.needing([.option("against")]),
        ConversionArguments.interface.option.needing([.option("against")]), inputs,
        ConversionArguments.sampleCount.option.needing([.option("inputs")]),
        ConversionArguments.sampleLength.option.needing([.option("inputs")]),
        ConversionArguments.memory.option.needing([.option("inputs"), .option("golden")]),
        golden, seed, Evaluation.text, Evaluation.context, Evaluation.chunks, CacheChoice.folder, only, budget,
        minimumSQNR,
        ProfileArguments.profile, selfTest,
        runtime, runtimes, python, runtimeTimeout, report, html,
        CommonOptions.json,
    ]

    static let examples = [
        "accelc verify minilm.accelpkg --against all-MiniLM-L6-v2",
        "accelc verify minilm.accelpkg --against all-MiniLM-L6-v2 --min-sqnr 25 --html report.html",
        "accelc verify minilm.accelpkg --against all-MiniLM-L6-v2 --budget budget.json",
        "accelc verify smollm2.accelpkg --against smollm2 --text wiki.txt",
        "accelc verify minilm.mlpackage --against all-MiniLM-L6-v2 --inputs samples.safetensors",
    ]
    static let subjects = ["budgets", "profiles"]
    static var details: String { "\(budgets)\n\n\(ProfileArguments.notes)" }
    private static let budgets = """
        Budgets: without a budget the limits follow from the rounding of the arithmetic and of the stored
        weights. They find errors of the tool, not a loss of accuracy. A budget has any of these fields; the
        first entry of a list that matches a name applies.
          {"outputs": [{"match": "*", "sqnr": 25, "cosine": 0.98}],
           "weights": [{"match": "*.query.weight", "sqnr": 18, "relativeL2": 0.2, "maximumError": 0.1}],
           "operators": [{"match": "encoder.*", "injected": {"sqnr": 15}, "propagated": {"sqnr": 12}}],
           "size": {"bytes": 12000000, "bitsPerWeight": 4.2, "packageBytes": 13000000},
           "memory": {"bytes": 40000000}, "speed": {"relativeToFloat32": 0.9}, "together": {"sqnr": 24},
           "quality": {"perplexityRatio": 1.1, "cosine": 0.98},
           "allow": {"structure": ["assets/vocab.txt"], "notCompared": ["pooler_output"]}}
        size.bytes counts the stored weights; equal weights that share their bytes are all counted.
        size.packageBytes counts all files but verify.json, where verify stores the report ("report") and
        the digest of the package. The speed is measured in five rounds, and one round within the limit is
        enough. Speeds vary from run to run, so choose its limit with a margin. Limits of memory and speed
        need a package of accelc; a limit of package bytes also takes a Core ML package. For other models
        they are an error before anything runs, and so is an unknown field, with exit status 2. A rule that
        matches nothing is found after the comparison: it is one of the report's failures, and the exit
        status is 2 if there is no other.
        """

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        try removeEarlierReports(arguments)
        let source = try ModelFormats.open(try arguments.required(package))
        // The package and its inputs are checked before the model is looked at.
        lazy var original = Result { try arguments[against].map { try ModelFormats.open($0, try arguments.opening) } }
        let subject = try subject(source, of: original.get(), arguments, console)
        if arguments.has(ProfileArguments.profile), !(source is PackagedModel) {
            throw arguments.usage("has no --profile for \(source.format.title): its limits are for packages")
        }
        let stages = try stages(arguments)
        var options = Parity.Options(
            stages: stages, inputs: try inputSource(arguments, for: original.get() ?? source),
            budget: try limits(arguments, stages), profile: ProfileArguments.profile(arguments),
            threads: console.threads)
        options.sampleMemory = try arguments.bytes(ConversionArguments.memory.option)
        if case .file(let file) = options.inputs { file.remark.map { console.note("note: \($0)") } }
        options.ranksWeights = source.format.exporter?.mixesSchemes ?? true
        if let exporter = source.format.exporter {
            options.isExpressible = { exporter.unsupportedReason(of: $0, shape: $1) == nil }
        }
        if case .planned = subject {
            options.storedBits = Dictionary(try source.weights.map { ($0.name, $0.storedBits) }) { first, _ in first }
            options.freeCodes = source.freeCodes
        }
        if case .file = options.inputs, !arguments.has(against), options.stages != [.container] {
            throw RequestError(
                "there is nothing to compare the outputs with: --inputs needs --against MODEL; --golden FILE has outputs of its own",
                status: .unavailable)
        }
        if options.budget?.limitsQuality == true, !arguments.has(Evaluation.text) {
            throw RequestError("the budget limits figures on a text: give --\(Evaluation.text.name) FILE")
        }
        // Before the model is read and converted.
        if let budget = options.budget {
            try subject.requireResources(of: budget, hasReference: arguments.has(against))
        }
        try subject.requireInputs(options.inputs)
        let reference = try original.get().map {
            Subject.model(try OriginalModel($0, for: subject, in: source.format.exporter, threads: console.threads))
        }
        let parity = Parity(of: subject, against: reference)
        if arguments.has(selfTest), !parity.hasSelfTest {
            throw arguments.usage(
                "has no --self-test for \(arguments.has(runtime) ? "other runtimes" : source.format.title)")
        }
        let progress = VerificationProgress(console)
        var report = try parity.check(options, progress: progress.show)
        if arguments.has(Evaluation.text) {
            guard let package = (source as? PackagedModel)?.package else {
                throw arguments.usage("has no --text for \(source.format.title): it runs packages")
            }
            if report.foreignModel == nil, let quality = try Evaluation.finding(package, arguments, console) {
                try report.add(quality, budget: options.budget)
            }
        }
        if let reference, arguments.has(selfTest) {
            let progress = console.progress("injecting faults")
            report.selfTest = try SelfTest(of: subject, against: reference)
                .run(threads: console.threads) { progress.step($0) }
        }
        // A comparison with another model says nothing of the package.
        if let package = (source as? PackagedModel)?.package, !arguments.has(only) {
            if report.foreignModel == nil {
                keep(report, in: package, console)
            } else {
                console.note(
                    "no report is kept in \(package.path), as a comparison with another model tells nothing of it")
            }
        }
        return try show(report, arguments, console)
    }

    /// Removes earlier reports of the paths that are written: they would speak for what cannot be verified at all.
    static func removeEarlierReports(_ arguments: Arguments) throws {
        for (option, kind) in [(report, OutputKind.parityReport), (html, OutputKind.parityPage)] {
            guard let path = arguments[option], Files.kindWithoutFollowing(path) == .file else { continue }
            try kind.requireReplaceable(path)
            try Files.removeTree(path)
        }
    }

    private static func subject(
        _ source: any ModelSource, of original: @autoclosure () throws -> (any ModelSource)?, _ arguments: Arguments,
        _ console: Console
    ) throws -> Subject {
        guard let runtime = arguments[runtime].flatMap(ModelRuntimes.named) else {
            source.deviations.forEach(console.note)
            return try Subject(source, of: original(), threads: console.threads)
        }
        let program = RuntimeProgram(
            folder: arguments[runtimes] ?? ProcessEnvironment.text("ACCELC_RUNTIMES"),
            python: arguments[python] ?? ProcessEnvironment.text("ACCELC_PYTHON") ?? "python3",
            seconds: arguments.seconds(runtimeTimeout) ?? 600)
        return .runtime(RuntimeSubject(source, runtime: runtime, driver: program))
    }

    /// Returns the limits of the command line; nil for none.
    private static func limits(_ arguments: Arguments, _ stages: Set<Stage>) throws -> Budget? {
        if let text = arguments[minimumSQNR] {
            guard let decibels = Double(text), decibels.isFinite else {
                throw arguments.usage("takes a number of dB such as 25 for --min-sqnr, found \"\(text)\"")
            }
            guard stages.contains(.outputs) else {
                throw arguments.usage("takes --min-sqnr with the stage outputs only, which --only leaves out")
            }
            return Budget(minimumSQNR: decibels)
        }
        return try arguments[budget].map { path in try FormatError.ofRequest { try Budget(path: path) } }
    }

    private static func stages(_ arguments: Arguments) throws -> Set<Stage> {
        let names = Stage.allCases.map(\.rawValue)
        let words = arguments.all(only).flatMap { $0.split(separator: ",") }
            .map { String($0.trimmingPrefix(" ").prefix { $0 != " " }) }
        let chosen = try words.map { word in
            let coded = Stage.allCases.first { $0.code.lowercased() == word.lowercased() }
            guard let stage = Stage(rawValue: word) ?? coded else {
                throw arguments.usage(
                    "takes \(names.joined(separator: ", ")) for --only, found \"\(word)\"",
                    nearest: nearestName(to: word, among: names))
            }
            return stage
        }
        // Whatever is compared is read from the package: a changed byte may be one that no limit sees.
        return chosen.isEmpty ? Set(Stage.allCases) : Set(chosen).union([.container])
    }

    static func show(_ report: ParityReport, _ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        if let path = arguments[Self.report] {
            try AtomicFile.write(report.json.text(pretty: true), to: path, as: .parityReport)
        }
        if let path = arguments[html] { try AtomicFile.write(report.html, to: path, as: .parityPage) }
        if arguments.has(CommonOptions.json) {
            console.print(report.json)
        } else if !console.isQuiet {
            let width = Console.columns(of: .output) ?? .max
            console.summary(String(report.terminal(width: width, colour: console.hasColours).dropLast()))
            return report.exitStatus
        }
        guard report.exitStatus != .success else { return report.exitStatus }
        // Of another model nearly all differs, and one line says why.
        let lines = report.foreignModel.map { [$0] } ?? report.failedLines
        (lines + [report.headline]).forEach(console.error)
        return report.exitStatus
    }

    /// - Parameter source: the model or package whose tokenizer makes samples of a text.
    static func inputSource(
        _ arguments: Arguments, for source: @autoclosure () throws -> any ModelSource
    ) throws -> InputSource {
        if let path = arguments[golden] { return .golden(try Golden(path)) }
        if let path = arguments[inputs] {
            return .file(try arguments.textSamples(path).map { try InputFile($0, for: source()) } ?? InputFile(path))
        }
        return .seeded(arguments[seed].flatMap { UInt64($0) } ?? InputSource.defaultSeed)
    }

    /// Keeps the report in the package's folder. A failure to write it is only noted, because the verification itself
    /// is complete.
    private static func keep(_ report: ParityReport, in package: AcceleratorPackage, _ console: Console) {
        do {
            try package.store(report: report.json)
        } catch {
            console.note("the report is not kept in the package: \(error)")
        }
    }
}
