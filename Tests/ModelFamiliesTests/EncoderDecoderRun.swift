import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

/// The parts of a speech model, frozen and run one after the other over shared states.
enum EncoderDecoderRun {
    /// - Parameter padding: samples that follow those of a golden sound, for an encoder that takes their number.
    static func outputs(
        of programs: [Program], _ subject: ParityCase, by way: DecoderCase.Way, padding: Int = 0
    ) throws -> [String: HostTensor] {
        let (facts, golden) = (try subject.facts(), try subject.golden())
        let tokens = HostTensor(try #require(golden["in.decoder_input_ids"]))
        let (batch, count) = (tokens.shape.dimensions[0], tokens.shape.dimensions[1])
        let (prefill, cache) = (try facts["prefill"].int(), try facts["kv_len"].int())
        let sound = try Sound(golden, padding: padding)
        let bindings = [(count, count), (prefill, cache), (1, cache)].map { block, cache in
            ShapeBindings(sound.numbers.merging(["batch": batch, "tokens": block, "cache": cache]) { $1 })
        }
        let run = try FunctionsRun(try programs.freezing(bindings), by: way)
        var results: [String: HostTensor] = [:]
        let hidden = try #require(try run(0, sound.inputs)["last_hidden_state"])
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

    /// The inputs of an encoder, and the numbers of its free dimensions.
    private struct Sound {
        let inputs: [String: HostTensor]
        let numbers: [String: Int]

        init(_ golden: SafetensorsFile, padding: Int) throws {
            if let features = golden["in.input_features"] {
                inputs = ["input_features": HostTensor(features)]
                numbers = ["frames": features.shape.dimensions[2]]
                return
            }
            let sound = HostTensor(try #require(golden["in.input_values"]))
            let (batch, count) = (sound.shape.dimensions[0], sound.shape.dimensions[1])
            let padded = (0..<batch).flatMap { row in
                sound.floats[row * count..<(row + 1) * count] + [Float](repeating: 0.5, count: padding)
            }
            inputs = [
                "input_values": HostTensor(padded, [batch, count + padding]),
                "length": HostTensor(try #require(golden["in.length"])),
            ]
            numbers = ["samples": count + padding]
        }
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
