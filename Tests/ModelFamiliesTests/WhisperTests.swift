import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@Suite("Whisper against the original framework")
struct WhisperTests {
    static let cases = ParityCase.all(["whisper_"])

    @Test(
        "encoder, cross keys and values, full forward, prefill, steps and caches are within 4 times the framework's noise",
        arguments: cases, DecoderCase.Way.allCases)
    func parity(subject: ParityCase, way: DecoderCase.Way) throws {
        let outputs = try WhisperRun.outputs(of: try subject.model().programs, subject, by: way)
        #expect(Set(outputs.keys) == Set(try subject.facts()["outputs"].members().map(\.key)))
        for deviation in try DecoderCase(files: subject).deviations(of: outputs) {
            #expect(deviation.inNoise <= 4, "\(deviation)")
        }
    }

    @Test("every tensor is used or listed as unused with a reason, for all parts and for one", arguments: cases)
    func accounting(subject: ParityCase) throws {
        #expect(try subject.model().unused.isEmpty)
        for part in ["encoder", "cross_kv", "decoder", "aligner"] {
            let model = try subject.model(parts: [part])
            try subject.expectAccount(of: model)
            #expect(model.unused.allSatisfy { $0.reason.hasPrefix("read by the part") })
        }
    }

    /// A change of the programs that parity has to notice.
    enum Mutation: CaseIterable {
        case otherGelu, droppedBias, swappedQueryAndKey, unmasked

        func apply(_ node: Program.Node, _ inputs: [Value], _ builder: inout ProgramBuilder) throws -> [Value]? {
            switch self {
            case .otherGelu where node.operation is Gelu: [try builder.apply(Gelu(.tanh), inputs)]
            case .droppedBias where node.label.hasPrefix("decoder.layers.0.encoder_attn.v_proj.linear"):
                [try builder.apply(node.operation, Array(inputs[..<2]))]
            case .swappedQueryAndKey where node.label.hasPrefix("encoder.layers.0.self_attn.attention"):
                [try builder.apply(node.operation, [inputs[1], inputs[0], inputs[2]])]
            case .unmasked where node.operation is Attention && inputs.count == 4:
                [try builder.apply(node.operation, Array(inputs[..<3]))]
            default: nil
            }
        }
    }

    @Test("a mutated program fails", arguments: Mutation.allCases)
    func mutationsAreCaught(mutation: Mutation) throws {
        let subject = try #require(Self.cases.first)
        let programs = try subject.model().programs.map { try $0.rewriting(mutation.apply) }
        let outputs = try WhisperRun.outputs(of: programs, subject, by: .executor)
        #expect(try DecoderCase(files: subject).deviations(of: outputs).contains { $0.inNoise > 40 })
    }

    @Test("a window of another length is rejected with what is expected and what was given")
    func window() throws {
        let subject = try #require(Self.cases.first)
        let encoder = try #require(try subject.model(parts: ["encoder"]).programs.first)
        let features = try #require(try subject.golden()["in.input_features"])
        let (mels, frames) = (features.shape.dimensions[1], features.shape.dimensions[2])
        #expect(throws: RequestError.self) {
            try encoder.freezing(ShapeBindings(["batch": 1, "frames": frames + 1]))
        }
        let frozen = try encoder.freezing(ShapeBindings(["batch": 1, "frames": frames]))
        let executor = try Executor(try CompressedProgram(functions: [frozen], weights: []).planned())
        let wrong = HostTensor([Float](repeating: 0, count: mels * (frames + 20)), [1, mels, frames + 20])
        let rejection = #expect(throws: RequestError.self) {
            try executor.run(["input_features": wrong.stored(name: "input_features")])
        }
        let message = rejection.map { "\($0)" } ?? ""
        #expect(
            message.contains("[1,\(mels),\(frames)]") && message.contains("[1,\(mels),\(frames + 20)]"), "\(message)")
    }

    @Test("a shorter window is the encoder with the first of its positions")
    func shorterWindow() throws {
        var shorter = try ChangedCheckpoint("whisper_small")
        let whole = try shorter.model()
        shorter.set("max_source_positions", 8)
        shorter.tensors = shorter.tensors.map { tensor in
            guard tensor.name == "model.encoder.embed_positions.weight" else { return tensor }
            let width = tensor.shape.dimensions[1]
            return StoredTensor(name: tensor.name, floats: Array(tensor.floats()[..<(8 * width)]), shape: [8, width])
        }
        let outputs = try [whole, try shorter.model()].map { model in
            let features = HostTensor((0..<160).map { Float($0 % 7) - 3 }, [1, 10, 16])
            return try #require(model.programs.first).freezing(ShapeBindings(["batch": 1, "frames": 16]))
                .evaluate(["input_features": features])[0].tensor
        }
        #expect(outputs[0].shape.dimensions[1] == 8)
        #expect(outputs[0] == outputs[1])
    }
}

/// Whisper's parts, frozen and run one after the other over shared states.
private enum WhisperRun {
    static func outputs(
        of programs: [Program], _ subject: ParityCase, by way: DecoderCase.Way
    ) throws -> [String: HostTensor] {
        let (facts, golden) = (try subject.facts(), try subject.golden())
        let features = HostTensor(try #require(golden["in.input_features"]))
        let tokens = HostTensor(try #require(golden["in.decoder_input_ids"]))
        let (batch, count) = (tokens.shape.dimensions[0], tokens.shape.dimensions[1])
        let (prefill, cache) = (try facts["prefill"].int(), try facts["kv_len"].int())
        let bindings = [(count, count), (prefill, cache), (1, cache)].map { block, cache in
            ShapeBindings([
                "batch": batch, "frames": features.shape.dimensions[2], "tokens": block, "cache": cache,
            ])
        }
        let run = try FunctionsRun(try programs.freezing(bindings), by: way)
        var results: [String: HostTensor] = [:]
        let hidden = try #require(try run(0, ["input_features": features])["last_hidden_state"])
        results["encoder_hidden"] = hidden
        results.merge(try run(1, ["encoder_hidden_states": hidden])) { first, _ in first }

        func logits(_ function: Int, _ range: Range<Int>) throws -> HostTensor? {
            let position = HostTensor([Int64(range.lowerBound)], [1])
            return try run(function, ["decoder_input_ids": tokens.columns(range), "position": position])["logits"]
        }
        func keep(_ name: String) {
            for (state, tensor) in run.states where state.hasPrefix("self_") && tensor.shape.dimensions[2] == cache {
                results["\(name).\(state)"] = tensor
            }
        }
        results["logits_full"] = try logits(2, 0..<count)
        results["prefill_logits"] = try logits(3, 0..<prefill)
        keep("kv_prefill")
        for place in prefill..<count { results["step\(place - prefill)_logits"] = try logits(4, place..<place + 1) }
        keep("kv_final")
        return results
    }
}

/// Functions that share their states, run by one way or the other.
private final class FunctionsRun {
    private let functions: [FrozenProgram]
    private let executors: [Executor]
    private let memory: StateMemory?
    /// By function where states of one name differ in length.
    private var references: [TensorType: [String: HostTensor]] = [:]

    init(_ functions: [FrozenProgram], by way: DecoderCase.Way) throws {
        self.functions = functions
        guard way == .executor else {
            (executors, memory) = ([], nil)
            return
        }
        let planned = try CompressedProgram(functions: functions, weights: []).planned()
        let memory = try StateMemory(planned)
        self.memory = memory
        executors = try functions.indices.map { try Executor(planned, function: $0, states: memory) }
    }

    func callAsFunction(_ index: Int, _ inputs: [String: HostTensor]) throws -> [String: HostTensor] {
        if !executors.isEmpty {
            let stored = inputs.reduce(into: [:]) { $0[$1.key] = $1.value.stored(name: $1.key) }
            return try executors[index].run(stored).reduce(into: [:]) { $0[$1.name] = HostTensor($1) }
        }
        let program = functions[index].program
        var states: [String: HostTensor] = [:]
        for state in program.states { states[state.name] = references[program.type(of: state.value)]?[state.name] }
        let outputs = try functions[index].evaluate(inputs, states: &states)
        for (name, tensor) in states { references[tensor.type, default: [:]][name] = tensor }
        return outputs.reduce(into: [:]) { $0[$1.name] = $1.tensor }
    }

    var states: [(String, HostTensor)] {
        if let memory { return memory.copy().map { ($0.name, HostTensor($0)) } }
        return references.values.flatMap { $0.map { ($0.key, $0.value) } }
    }
}
