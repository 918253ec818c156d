import AccelByteIO
import AccelCPURuntime
import AccelPrograms
public import AccelTensors

/// Inputs and outputs of the framework that a model comes from: a safetensors file with `in.NAME`, `out.NAME`, and
/// optionally `ref64.NAME` (the same forward pass in float64) and `labels` (the right class for each row of `logits`).
/// An optional `case.json` beside it states the framework's noise. A file whose inputs and outputs all end in a number
/// (`in.frame.0`, `out.prob.0`, `in.frame.1`, ...) holds that many samples.
public struct Golden: Sendable {
    struct Noise: Sendable {
        var maximumError: Double
        var referenceRMS: Double
    }

    /// The file's name without its folder, as reports show it.
    public let name: String
    let path: String
    /// By the input's name.
    public private(set) var inputs: [String: StoredTensor]
    /// By the output's name.
    public private(set) var outputs: [String: StoredTensor]
    private(set) var exact: [String: StoredTensor]
    private(set) var noise: [String: Noise]
    /// The tensor `labels`: for each row of `logits` the right class.
    let labels: StoredTensor?
    /// The file holds the outputs of a decoder (see `NamedTensors`).
    let isDecoding: Bool
    /// The number of tokens of the prefill; nil if there are no outputs of one.
    let prefillLength: Int?
    /// The suffix removed from the names: empty, or the number of the sample, e.g. `.0`.
    private(set) var suffix = ""

    /// Reads a golden file.
    /// - Throws: `FormatError` for a corrupt file; `RequestError` (exit status 3) if it holds no `in.` or no `out.`
    ///   tensor.
    public init(_ path: String) throws {
        self.path = path
        name = Files.name(of: path)
        let tensors = NamedTensors(try SafetensorsFile(path).tensors, file: path)
        inputs = tensors.isGolden ? tensors.inputs : [:]
        outputs = tensors.outputs
        exact = tensors.exactOutputs
        labels = tensors.labels
        isDecoding = tensors.isDecoding
        prefillLength = tensors.prefillLength
        if inputs.isEmpty || outputs.isEmpty {
            throw RequestError(
                "\(path) is no golden file: it holds \(inputs.isEmpty ? "no in.NAME" : "no out.NAME") tensor",
                status: .unavailable, code: .notGolden)
        }
        noise = try Self.noise(beside: path)
    }

    private static func noise(beside path: String) throws -> [String: Noise] {
        let beside = "\(Files.parentFolder(of: path) ?? ".")/case.json"
        guard Files.kind(of: beside) != nil else { return [:] }
        let document = JSONField(try JSON.read(beside), file: beside)["fp32_noise"]
        guard document.exists else { return [:] }
        var noise: [String: Noise] = [:]
        for (name, field) in try document.members() {
            let (error, rms) = (field["max_abs_fp32_vs_64"], field["ref_rms"])
            // Some cases state a bare number for an output.
            noise[name] =
                error.exists
                ? Noise(maximumError: try error.double(), referenceRMS: rms.exists ? try rms.double() : 0)
                : Noise(maximumError: try field.double(), referenceRMS: 0)
        }
        return noise
    }

    /// The samples in the order of their numbers; the golden itself if its names have no numbers.
    var samples: [Golden] {
        // A number on inputs alone is part of their names (`codes.0`, `codes.1`).
        let numbers = Set((Array(inputs.keys) + outputs.keys).map(\.sampleNumber))
        guard suffix.isEmpty, !numbers.contains(nil) else { return [self] }
        return numbers.compactMap(\.self).sorted().map { sample in
            var golden = self
            golden.suffix = ".\(sample)"
            golden.inputs = golden.ofSample(inputs)
            golden.outputs = golden.ofSample(outputs)
            golden.exact = golden.ofSample(exact)
            golden.noise = golden.ofSample(noise)
            return golden
        }
    }

    /// Returns the golden with another name for an output.
    func renaming(_ output: String, to name: String) -> Golden {
        var golden = self
        golden.outputs[name] = golden.outputs.removeValue(forKey: output)
        golden.exact[name] = golden.exact.removeValue(forKey: output)
        golden.noise[name] = golden.noise.removeValue(forKey: output)
        return golden
    }

    /// Why an output is not compared.
    /// - Parameter input: what its function lacks, where that is known.
    static func lacksInputs(_ input: String?) -> String {
        "the golden does not have the inputs of the function that computes it" + (input.map { ": \($0)" } ?? "")
    }

    private func ofSample<Element>(_ all: [String: Element]) -> [String: Element] {
        let mine = all.filter { $0.key.hasSuffix(suffix) }
        return Dictionary(mine.map { (String($0.key.dropLast(suffix.count)), $0.value) }) { first, _ in first }
    }

    /// Returns the expected values of an output; nil if the golden has none.
    /// - Parameter role: of the output. Where it has values for the last position only, so has the result.
    func output(_ name: String, as role: Role?) -> HostTensor? {
        outputs[name].map { HostTensor($0).positions(of: role) }
    }

    /// Returns the expected values of all outputs.
    /// - Parameter roles: of the outputs, by name.
    func outputs(as roles: [String: Role]) -> [String: HostTensor] {
        Dictionary(uniqueKeysWithValues: outputs.map { ($0, HostTensor($1).positions(of: roles[$0])) })
    }

    /// Returns the limit for an output of a package whose weights are lossless: the framework's noise, over all
    /// positions; nil if it is not stated, or is more than noise.
    func tolerance(for output: String) -> Tolerance? {
        if let noise = noise[output] {
            guard noise.referenceRMS == 0 || noise.maximumError <= Tolerance.mostNoise * noise.referenceRMS else {
                return nil
            }
            return .noise(noise.maximumError, rms: noise.referenceRMS, origin: "case.json")
        }
        guard let stored = outputs[output], let exact = exact[output], exact.shape == stored.shape else { return nil }
        return .noise(of: stored, against: exact, origin: "ref64.\(output)")
    }
}

extension HostTensor {
    /// The tensor, or its last index on axis 1 if the role has a row for the last position only.
    fileprivate func positions(of role: Role?) -> HostTensor {
        guard role?.positions == .last, shape.rank == 3, shape.dimensions[1] > 1 else { return self }
        var last = shape.dimensions
        last[1] = 1
        let first = [0, shape.dimensions[1] - 1, 0]
        let slice = Slice(begin: first.map { .fixed($0) }, sizes: last.map { .fixed($0) })
        return (try? slice.evaluate([self]).first) ?? self
    }
}

extension FunctionPlan {
    /// Returns the first of the inputs that a golden lacks, or has in another shape. Integers other than tokens are 0 where they are not given.
    func unfitting(in golden: Golden) -> String? {
        inputs.lazy.compactMap { input in
            guard let found = golden.inputs[input.name] else {
                let isNeeded = input.elementType.isFloatingPoint || input.name == self.input(.tokens)?.name
                return isNeeded ? "in.\(input.name) is missing" : nil
            }
            return found.shape == input.shape ? nil : "in.\(input.name) is \(found.shape), expected \(input.shape)"
        }.first
    }

    /// A sentence on a golden with more tokens than the function takes at once, whose outputs have names of other texts; nil for others.
    func longerTokens(in golden: Golden) -> String? {
        guard let port = input(.tokens), let tokens = golden.inputs[port.name], tokens.shape.rank == 2,
            port.shape.rank == 2,
            input(.position) != nil, tokens.shape.dimensions[1] > port.shape.dimensions[1]
        else { return nil }
        return
            "in.\(port.name) is \(tokens.shape), and the function takes \(port.shape): the outputs of longer texts are named by blocks "
            + "(out.prefill_NAME, out.step0_NAME and so on, or out.NAME_full)"
    }
}
