import AccelByteIO
import AccelPrograms
import AccelTensors

/// The files by which a runtime's program is asked for outputs: `request.json` and `inputs.safetensors`; it writes
/// `outputs.safetensors` and `answer.json` beside them. `scripts/runtimes/README.md` describes them.
struct RuntimeRequest {
    let runtime: ModelRuntime
    /// The path of the exported model.
    let model: String
    let runs: [RuntimeRun]
    let threads: Int
    /// Activations are to be kept in float32 where the runtime can do that.
    let keepsActivations: Bool

    private static let (request, inputs) = ("request.json", "inputs.safetensors")
    private static let (answer, outputs) = ("answer.json", "outputs.safetensors")

    /// Writes the request into a folder.
    func write(to folder: String) throws {
        var tensors: [StoredTensor] = []
        for (number, run) in runs.enumerated() {
            tensors += run.inputs.sorted { $0.key < $1.key }.map { $0.value.stored(name: "\(number).\($0.key)") }
            tensors += run.call.states.sorted { $0.key < $1.key }.map {
                $0.value.stored(name: "\(number).state.\($0.key)")
            }
        }
        try SafetensorsWriter.write(tensors, to: "\(folder)/\(Self.inputs)", as: .part)
        let document: JSON = [
            "version": 1, "runtime": .string(runtime.name), "model": .string(model),
            "threads": .integer(Int64(threads)), "activations": keepsActivations ? "float32" : "native",
            "runs": .array(runs.map(json)),
        ]
        try AtomicFile.write(document.text(pretty: true), to: "\(folder)/\(Self.request)", as: .internal)
    }

    private func json(_ run: RuntimeRun) -> JSON {
        let interface = run.model.program.interface
        func port(_ name: String, _ side: RoleRule.Side) -> [JSON.Member] {
            [.init("name", .string(name)), .init("kind", .string(interface.role(of: name, side).kind.rawValue))]
        }
        return [
            "function": .string(run.function), "sequence": .integer(Int64(run.sequence)),
            "inputs": .array(
                run.model.program.inputs.map { input in
                    .object(
                        port(input.name, .input)
                            + (run.call.carried[input.name].map { [.init("from", .string($0))] } ?? []))
                }),
            "states": .array(run.call.states.keys.sorted().map(JSON.string)),
            "outputs": .array(run.model.program.outputs.map { .object(port($0.name, .output)) }),
            "changedStates": .array(run.changedStates.map(JSON.string)),
        ]
    }

    /// The outputs of a runtime.
    struct Answer {
        /// The runtime with its version.
        let runtime: String
        /// By `RUN.NAME`.
        let outputs: [String: StoredTensor]
        /// The reasons for the outputs that the runtime cannot give, by `RUN.NAME`.
        let missing: [String: String]

        /// Returns the name of a result of a run.
        static func name(_ run: Int, _ name: String, isState: Bool) -> String {
            isState ? "\(run).state.\(name)" : "\(run).\(name)"
        }
    }

    /// Reads what the program has written.
    /// - Throws: `FormatError` if it is not complete.
    func answer(in folder: String) throws -> Answer {
        let document = JSONField(try JSON.read("\(folder)/\(Self.answer)"), file: Self.answer)
        let tensors = try SafetensorsFile("\(folder)/\(Self.outputs)").tensors
        return Answer(
            runtime: try document["runtime"].string(),
            outputs: Dictionary(tensors.map { ($0.name, $0) }) { first, _ in first },
            missing: document["missing"].exists
                ? try document["missing"].members().reduce(into: [:]) { $0[$1.key] = try $1.field.string() } : [:])
    }
}
