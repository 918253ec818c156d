/// The tensors of a safetensors file by what they stand for: a function's inputs, and a framework's outputs for them.
///
/// | tensor | stands for |
/// |---|---|
/// | `in.NAME`; in a file without any, `NAME` | an input, or a state's initial value |
/// | `out.NAME` | an output |
/// | `ref64.NAME` | an output, computed in float64 and rounded |
/// | `labels` I64 | the right class for each row of the output `logits` |
/// | `out.NAME_full` | an output of a decoder for all tokens at once |
/// | `out.prefill_NAME`, `out.step0_NAME`, ... | an output of the prefill, and of the decode steps after it |
/// | `out.kv_prefill.STATE`, `out.kv_final.STATE` | a state after the prefill, and after the last step |
///
/// Names that all end in a number (`in.frame.0`, `out.prob.0`, `in.frame.1`, ...) make as many samples.
public struct NamedTensors: Sendable {
    /// The file as errors name it.
    public let file: String
    /// By the input's name, each tensor renamed to it.
    public let inputs: [String: StoredTensor]
    /// By the output's name.
    public let outputs: [String: StoredTensor]
    /// The outputs in float64 precision, by the output's name.
    public let exactOutputs: [String: StoredTensor]
    /// The right class for each row of `logits`; nil if the file has none.
    public let labels: StoredTensor?
    /// The file has tensors `in.NAME`.
    public let isGolden: Bool

    /// Sorts tensors by their names.
    /// - Parameter file: the file's path, for errors.
    public init(_ tensors: [StoredTensor], file: String) {
        func named(_ prefix: String, _ tensors: [StoredTensor]) -> [String: StoredTensor] {
            let found = tensors.filter { $0.name.hasPrefix(prefix) }.map {
                let name = String($0.name.dropFirst(prefix.count))
                return (name, $0.renamed(name))
            }
            return Dictionary(found) { first, _ in first }
        }
        self.file = file
        outputs = named("out.", tensors)
        exactOutputs = named("ref64.", tensors)
        labels = tensors.first { $0.name == "labels" && $0.elementType == .int64 }
        isGolden = tensors.contains { $0.name.hasPrefix("in.") }
        let others = tensors.filter { !$0.name.hasPrefix("out.") && !$0.name.hasPrefix("ref64.") }
        inputs = named(isGolden ? "in." : "", others)
    }

    /// The input of this name, or its first sample; nil if the file has neither.
    public func input(_ name: String) -> StoredTensor? { inputs[name] ?? inputs["\(name).0"] }

    /// A state after the last step; nil if the file has none.
    public func finalState(_ name: String) -> StoredTensor? { outputs["kv_final.\(name)"] }

    /// The number of tokens of the prefill; nil if the file has no outputs of one.
    public var prefillLength: Int? {
        outputs.filter { $0.key.hasPrefix("prefill_") }.min { $0.key < $1.key }?.value.shape.dimensions.dropFirst()
            .first
    }

    /// The file has outputs of decode steps.
    public var hasDecodeSteps: Bool { outputs.keys.contains { $0.hasPrefix("step0_") } }

    /// The file has outputs of a decoder: for all tokens at once, or for a prefill and its decode steps.
    public var isDecoding: Bool { outputs.keys.contains { $0.hasSuffix("_full") || $0.hasPrefix("prefill_") } }
}

extension String {
    /// The number behind the last point, which numbers samples: 0 for `frame.0`; nil for other names.
    package var sampleNumber: Int? {
        split(separator: ".").dropFirst().last.flatMap { text in
            Int(text).flatMap { "\($0)" == text && $0 >= 0 ? $0 : nil }
        }
    }
}
