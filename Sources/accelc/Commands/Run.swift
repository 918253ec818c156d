import Accel
import AccelAudio
import AccelByteIO
import AccelCPURuntime
import AccelFrontEnds
import AccelPackages
import AccelPrograms
import AccelTensors

enum RunCommand: Command {
    static let name = "run"
    static let summary = "run a model on a prompt, a conversation, texts, images, a sound, or tensors"
    static let package = Positional(
        "MODEL", "a package, or a model as convert takes it. A model is converted first, into the cache",
        takes: PathKind.models)
    static let inputs = Option(
        "inputs", .input("FILE"), in: .input,
        "a safetensors file of inputs, named NAME or in.NAME. Its rows are samples; they run one after the other, as many at a "
            + "time as the function takes. Tokens of a further file are appended, and its other tensors replace those of the same name",
        isCommon: true, isRepeatable: true, takes: [.tensors])
    static let outputs = Option(
        "outputs", .output("FILE") { _ in TensorFileKind.outputs.output }, in: .output,
        "the safetensors file to write the outputs to", isCommon: true, needs: tensors)
    static let generate = Option(
        "generate", .integer(1...1_000_000), in: .generation,
        "generate at most N tokens (default for text: 1024). After --inputs, a row of a batch that has ended repeats its stop "
            + "token", isCommon: true, excludes: ["text", "image", "audio", "phonemes"])
    static let stop = Option(
        "stop-token", .text("N,.."), in: .generation,
        "the tokens that end the generation (default: the model's eos_token_id). none generates until --generate is reached",
        isRepeatable: true, needs: TextOptions.generating)
    static let states = Option(
        "save-states", .output("FILE") { _ in TensorFileKind.states.output }, in: .output,
        "the safetensors file to write the states to. Those of a decoder have the position too, and after --generate the last "
            + "token, so that a later run continues with this file as --inputs", needs: tensors)
    static let function = Option(
        "function", .text("NAME"), in: .execution,
        "the function to run (default: the one whose inputs fit). The beginning of its name is enough; of a decoder it is the "
            + "function of the first block", needs: tensors)
    static let backend = Option(
        "backend", .words(Backends.standard.all.map(\.id.rawValue)), in: .execution,
        "the backend that runs the functions. reference computes each operator by its definition; it is slow",
        default: BackendID.cpu.rawValue)
    static let packed = Option(
        "packed-weights", .flag, in: .execution,
        "store the weights in the cache as this processor's kernels pack them. Later runs map them instead of packing",
        needs: tensors)
    static let times = Option(
        "repeat", .integer(1...1_000_000), in: .measurement, "run N times, each from the initial states", default: "1",
        excludes: modes.map(\.name), needs: [.option("time"), .option("json")])
    static let time = Option(
        "time", .flag, in: .measurement,
        "print times, tokens per second and memory. Times are those of loading, preparing and running; the prompt and the "
            + "generation have their own; memory is the peak and that of the session",
        isCommon: true, excludes: ["json"], needs: tensors)
    static let unchecked = Option(
        "no-check", .flag, in: .execution,
        "do not compare the package with its digests before the run. \"accelc inspect --check\" does only that",
        excludes: ["packed-weights"], needs: tensors)
    static let profile = Option(
        "profile", .flag, in: .measurement,
        "print each kernel call with its time. Its share of all time is printed, and its share of the machine's limits",
        needs: tensors)
    static let trace = Option(
        "trace", .output("FILE") { _ in .trace }, in: .measurement,
        "the file to write the kernel calls to, for viewers such as Perfetto", needs: tensors)
    /// The options that say what the model runs on beside tensors.
    private static let modes = TextOptions.modes + [ImageOptions.image, SpeechOptions.audio, PhonemeOptions.phonemes]
    private static let tensors: [Option.Need] = [.option("inputs")]
    static let subjects = ["states", "steps", "decoders"]
    static let details = """
        A model is converted first, as "accelc convert MODEL" does it. The next run finds the package in the
        cache.

        Before a run every byte of the package is compared with its digest. The printed times do not include
        this check, but the peak memory does. --no-check leaves it out; with --packed-weights it is done
        once, when the weights are packed.

        If FILE has no attention mask, it is 1 everywhere; if it has no token types, they are 0.

        States: a tensor of FILE with the name of a state is the state's initial value. Without one the
        initial value is the package's. To continue a run, with more tokens if there are some:
          accelc run PACKAGE --inputs prompt.safetensors --generate 20 --save-states end.safetensors
          accelc run PACKAGE --inputs end.safetensors --inputs more.safetensors --generate 20

        Steps: tensors NAME.0, NAME.1, ... are the inputs of steps. The function runs once for each number,
        in order, and its states continue from step to step.

        Decoders: a decoder takes a sequence of tokens, I64 or I32 [batch,tokens], in blocks that share one
        cache. The longest function that the tokens fill runs first, then shorter ones, such as decode steps
        of one token. If the remaining tokens would take many steps, they run as one long block, which
        computes some tokens again or is padded. Other inputs are the same for each block. "position" is the
        index of the first token; it is 0 by default, and required if FILE has caches. An encoder whose
        inputs are in FILE runs first. Outputs have the rows of all tokens. --generate adds the output
        "generated" I64[batch,N].
        """
    static let examples = [
        "accelc run smollm2.gguf --prompt 'Why is the sky blue?'",
        "accelc run all-MiniLM-L6-v2 --text sentences.txt",
        "accelc run all-MiniLM-L6-v2 --text 'how to install it' --search manual.txt",
        "accelc run Qwen3-0.6B --chat --system 'Answer in one sentence.' --temperature 0.7",
        "accelc run vit-base-patch16-224 --image cat.png",
        "accelc run whisper-base --audio talk.wav --format srt",
        "accelc run whisper-base --audio - --vad silero-vad",
        "accelc run kokoro.accelpkg --phonemes 'həlˈoʊ' --voice heart.safetensors --audio-output hi.wav",
        "accelc run orpheus.accelpkg --prompt 'tara: Hello.' --vocoder snac.accelpkg --audio-output hi.wav",
        "accelc run minilm.accelpkg --inputs in.safetensors --outputs out.safetensors",
        "accelc run llama.accelpkg --inputs prompt.safetensors --generate 64 --time",
        "accelc run whisper.accelpkg --inputs mel.safetensors --function encoder --outputs out.safetensors",
    ]
    static let positionals = [package]
    static let options =
        TextOptions.all + [ImageOptions.image] + SpeechOptions.all + PhonemeOptions.all + [
            VocoderOptions.vocoder, inputs, outputs, generate, stop, states, function, backend, times, time, profile,
            trace, packed, unchecked,
            RunnablePackage.compress, CacheChoice.folder, CommonOptions.json,
        ]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        guard arguments.has(inputs) || modes.contains(where: arguments.has) else {
            throw arguments.usage(
                "needs \((modes + [inputs]).map { "--\($0.name)" }.joined(separator: " or "))")
        }
        // A file that is no sound, image or voice is rejected before a model is converted.
        let sound = try arguments[SpeechOptions.audio].map(SpokenInput.init)
        let images = try ImageEncodings(arguments)
        let speech = try PhonemeRun(arguments)
        let vocoder = try VocoderRun(arguments)
        let runnable = try RunnablePackage(arguments, console)
        guard arguments.has(inputs) else {
            if !runnable.isChecked { try console.check(runnable.package, includesReport: false) }
            let model = try model(runnable.package, arguments, console)
            if let sound {
                try SpeechRun(model, sound, arguments, console).run()
            } else if let speech {
                try speech.run(model, arguments, console)
            } else if let vocoder {
                try vocoder.run(model, arguments, console)
            } else if !images.isEmpty {
                try images.run(model, arguments, console)
            } else {
                try runText(model, arguments, console)
            }
            return .success
        }
        let inputFiles = arguments.all(inputs)
        let inputs = try inputFiles.map { path in
            FunctionInputs(try SafetensorsFile(path).tensors, file: path)
        }

        var timing = Timing()
        let (package, program, plans) = try timing.load {
            let package = runnable.package
            let program = try package.graph.planned()
            let options = TextOptions.generation(
                try GenerationDefaults(package.assetFiles.document("generation_config.json")),
                maxTokens: arguments.integer(generate) ?? 0,
                stopTokens: try stopTokens(of: package, program, arguments), arguments)
            let plans = try RunPlan.plans(
                program, try FunctionInputs(joining: inputs, for: program), function: arguments[function],
                generating: options)
            return (package, program, plans)
        }
        if plans.count > 1, arguments.has(states) {
            throw RequestError(
                "--\(states.name): \(inputFiles[0]) has \(Wording.count(plans.count, "sample")), each with states of its own: give one"
            )
        }
        // Nothing is computed with damaged weights. Packed ones are made of sections that match their digests. The times leave this out.
        if !runnable.isChecked, !arguments.has(unchecked), !arguments.has(packed) {
            try console.check(package, includesReport: false)
        }
        if program.functions.allSatisfy(\.states.isEmpty) {
            try arguments.reject([states], "\(package.path) has no states", for: "packages with states")
        }
        let chosen = try Backends.standard.backend(named: arguments[backend] ?? BackendID.cpu.rawValue)
        if chosen.id != .cpu {
            try arguments.reject(
                [profile, trace, packed], "\(chosen.id.rawValue) runs no kernels", for: "the backend cpu")
        }
        let recorder = arguments.has(profile) || arguments.has(trace) ? RunProfile() : nil
        let session = try timing.prepare {
            guard chosen.id == .cpu else {
                return try PlanSession(chosen, package, threads: console.threads)
            }
            let packed = try arguments.has(packed) ? packedWeights(of: package, program, arguments, console) : nil
            return try PlanSession(
                program, functions: Set(plans.flatMap(\.steps).map(\.function)), packed: packed,
                threads: console.threads,
                profile: recorder)
        }
        var result = RunPlan.Result()
        var made = RunOutputs(.shapes)
        let times = arguments.integer(times) ?? 1
        var fastest = result.runs
        let progress = console.progress("running", total: times * plans.reduce(0) { $0 + $1.runs })
        for number in 1...times {
            session.reset()
            recorder?.begin()
            // The outputs of the last run are written as they come, to a file beside theirs.
            let path = number == times ? arguments[outputs] : nil
            made = RunOutputs(try path.map { .file(try ScratchFile(in: Files.parentFolder(of: $0) ?? ".")) } ?? .shapes)
            result = try timing.run {
                let results = try plans.enumerated().map { index, plan in
                    if index > 0 { session.reset() }
                    return try plan.run(into: made, progress: { progress.step("run \($0)") }) {
                        try session.run($0, $1, $2)
                    }
                }
                return RunPlan.Result(joining: results)
            }
            recorder?.end()
            if timing.runs.last == timing.best { fastest = result.runs }
        }
        result.runs = fastest
        if let path = arguments[outputs] {
            try made.write(to: path, as: .outputs, with: result.generated.map { [$0] } ?? [])
        }
        if let path = arguments[states] {
            try SafetensorsWriter.write(session.states() + result.next, to: path, as: .states)
        }

        if let path = arguments[trace], let recorder {
            try AtomicFile.write(recorder.trace(program).text() + "\n", to: path, as: .trace)
        }
        let limits = arguments.has(profile) ? try MachineLimits(measuring: console.threads) : nil
        if arguments.has(CommonOptions.json) {
            let calls = limits.flatMap { recorder?.document(program, $0) }
            console.print(document(package, result, made.entries, timing, session.memory(), profile: calls))
        } else {
            console.summary(text(program, result, made.entries, arguments.has(time) ? timing : nil, session.memory()))
            if let recorder, let limits { console.summary(recorder.text(program, limits)) }
        }
        return .success
    }

    /// Opens a package on the chosen backend.
    static func model(
        _ package: AcceleratorPackage, _ arguments: Arguments, _ console: Console
    ) throws -> AccelModel {
        var configuration = Configuration.automatic
        configuration.threads = console.threads
        let chosen = try Backends.standard.backend(named: arguments[backend] ?? BackendID.cpu.rawValue)
        (configuration.backends, configuration.fallback) = (.only(chosen.id), .never)
        let settings = configuration
        return try waiting { try await AccelModel(opened: package, configuration: settings) }
    }

    /// Runs a model on text.
    private static func runText(_ model: AccelModel, _ arguments: Arguments, _ console: Console) throws {
        if arguments.has(TextOptions.text) {
            try TextEncodings(model: model, arguments: arguments, console: console).run()
            return
        }
        let frontEnd = try model.text()
        let options = TextOptions.generation(
            frontEnd.generation, maxTokens: arguments.integer(generate),
            stopTokens: arguments.has(stop)
                ? try stopTokens(arguments, vocabulary: frontEnd.vocabularySize) : nil, arguments)
        try TextGeneration(
            model: model, frontEnd: frontEnd, options: options, arguments: arguments, console: console
        ).run()
    }

    private static func stopTokens(
        of package: AcceleratorPackage, _ program: ModelPlan, _ arguments: Arguments
    ) throws -> Set<Int64> {
        guard arguments.has(generate) else { return [] }
        guard arguments.has(stop) else { return try package.stopTokens() }
        return try stopTokens(
            arguments,
            vocabulary: program.functions.compactMap { function in
                function.input(.tokens).flatMap { function.interface.inputs[$0.name]?.integer("vocabulary") }
            }.first)
    }

    private static func stopTokens(_ arguments: Arguments, vocabulary: Int?) throws -> Set<Int64> {
        let words = arguments.all(stop).flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        if words == ["none"] { return [] }
        return Set(
            try words.map { word -> Int64 in
                guard let token = Int64(word), token >= 0 else {
                    throw arguments.usage(
                        word == "none"
                            ? "takes none for --stop-token alone, without numbers of tokens"
                            : "takes numbers of tokens for --stop-token, as in 2,32000, or none; found \"\(word)\"")
                }
                if let vocabulary, token >= vocabulary {
                    throw RequestError(
                        "--stop-token \(token): the model has \(vocabulary) tokens, 0 to \(vocabulary - 1)")
                }
                return token
            })
    }

    private static func packedWeights(
        of package: AcceleratorPackage, _ program: ModelPlan, _ arguments: Arguments, _ console: Console
    ) throws -> PackedWeights? {
        guard let cache = try CacheChoice.cache(arguments, console) else { return nil }
        defer { cache.finish() }
        return try .kept(in: cache, for: package, program, threads: console.threads)
    }

    private static func text(
        _ program: ModelPlan, _ result: RunPlan.Result, _ outputs: [SafetensorsWriter.Entry], _ timing: Timing?,
        _ memory: SessionMemory?
    ) -> String {
        var lines: [String] = []
        for group in result.runs.chunked(by: \.function) {
            let name = program.functions[group[0].function].name
            lines.append(group.count == 1 ? name : "\(name), \(group.count) times")
        }
        let parts = parts(program, result)
        let groups = FoldedNames.all(outputs, name: \.name) {
            "\(parts[$0.name] ?? "") \($0.elementType.rawValue)\($0.shape)"
        }
        lines += groups.flatMap { group in
            group.elements.prefix(1).map {
                "  out  \(parts[$0.name] ?? "")\(group.name) \($0.elementType.rawValue)\($0.shape)"
            }
        }
        if let generated = result.generated {
            let (width, tokens) = (generated.shape.dimensions[1], generated.integers())
            for row in 0..<generated.shape.dimensions[0] {
                let text = tokens[row * width..<(row + 1) * width].map { "\($0)" }.joined(separator: " ")
                lines.append("  generated  \(text)")
            }
            for (row, end) in result.stops.enumerated() {
                guard let end else { continue }
                let whose = result.stops.count > 1 ? "row \(row) " : ""
                let rest = end < width ? ", which it repeats" : ""
                lines.append("  \(whose)ended by a stop token after \(Wording.count(end, "token"))\(rest)")
            }
        }
        if let timing {
            lines.append(timing.text)
            if let memory { lines.append(memory.text) }
            lines += timing.lines(of: result, names: program.functions.map(\.name))
        }
        return lines.joined(separator: "\n")
    }

    /// The part of the model that made each output last, with a colon, by the output's name; empty where one part ran.
    private static func parts(_ program: ModelPlan, _ result: RunPlan.Result) -> [String: String] {
        let functions = result.runs.map { program.functions[$0.function] }
        guard Set(functions.map(\.part)).count > 1 else { return [:] }
        return functions.reduce(into: [:]) { parts, function in
            for output in function.outputs { parts[output.name] = "\(function.part): " }
        }
    }

    private static func document(
        _ package: AcceleratorPackage, _ result: RunPlan.Result, _ outputs: [SafetensorsWriter.Entry],
        _ timing: Timing, _ memory: SessionMemory?, profile: JSON?
    ) -> JSON {
        [
            "package": .string(package.path), "digest": .string(package.digest.description),
            "functions": .array(
                result.runs.chunked(by: \.function).map { group in
                    [
                        "name": .string(package.graph.functions[group[0].function].functionName),
                        "runs": .int(group.count),
                    ]
                }),
            "outputs": .array(
                outputs.map { .tensor($0.name, $0.elementType.rawValue, $0.shape.dimensions) }),
            "generated": result.generated.map { generated in
                let width = max(generated.shape.dimensions[1], 1)
                let tokens = generated.integers().map { JSON.integer($0) }
                return .array(
                    stride(from: 0, to: tokens.count, by: width).map { .array(Array(tokens[$0..<$0 + width])) })
            } ?? .null,
            "stopped": .bool(result.isStopped),
            "stopped_after": .array(result.stops.map { .int($0) }),
            "prompt": Timing.speed(result.prompt), "generation": Timing.speed(result.generation),
            "runs": .int(timing.runs.count),
            "load_ms": .number(timing.milliseconds(timing.loading)),
            "prepare_ms": .number(timing.milliseconds(timing.preparing)),
            "best_ms": .number(timing.milliseconds(timing.best)),
            "median_ms": .number(timing.milliseconds(timing.median)),
            "block_ms": .array(
                result.runs.filter { $0.positions != nil }.map { .number(timing.milliseconds($0.duration)) }),
            "peak_memory_bytes": .int(timing.peakMemory),
            "memory": memory?.json ?? .null,
            "profile": profile ?? .null,
        ]
    }
}

extension Array {
    /// Returns groups of neighbouring elements with equal keys.
    fileprivate func chunked<Key: Equatable>(by key: (Element) -> Key) -> [[Element]] {
        reduce(into: []) { groups, element in
            if let last = groups.last?.last, key(last) == key(element) {
                groups[groups.count - 1].append(element)
            } else {
                groups.append([element])
            }
        }
    }
}
