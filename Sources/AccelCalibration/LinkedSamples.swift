public import AccelPrograms
public import AccelTensors

extension CalibrationSamples {
    /// Returns samples of all parts that a file has inputs for, or whose inputs other parts make: an encoder's output is what the keys
    /// and values of the decoder's cross attention are made from, and these are states of the decoder.
    /// - Parameter memory: the most bytes of values of samples in memory, beyond which a file has them; nil for a quarter of the
    ///   machine's, at most 512 MiB.
    /// - Throws: `RequestError` if tensors do not fit the inputs, or if one is missing.
    public static func all(
        _ tensors: [StoredTensor], for parts: [Program], file: String, memory: Int? = nil, threads: Int
    ) throws -> [CalibrationSamples] {
        let memory = SampleMemory(limit: memory ?? SampleMemory.defaultLimit)
        guard parts.contains(where: { !$0.interface.links.isEmpty || !$0.encoderStates.isEmpty }) else {
            return try parts.compactMap { part in
                var samples = try CalibrationSamples(tensors, for: part, file: file)
                samples?.share(memory)
                return samples
            }
        }
        let prefix = NamedTensors(tensors, file: file).isGolden ? "in." : ""
        var shared: [String: Int] = [:]
        for part in parts {
            shared.merge(try ShapeBindings(fitting: tensors, to: part, file: file).numbers) { first, _ in first }
        }
        var (tensors, found, links) = (tensors, [CalibrationSamples](), LinkedValues(parts))
        let given = Set(tensors.map(\.name))
        for part in parts {
            let wanted = part.interface.links.map(\.input) + part.encoderStates.map(\.name)
            let made = wanted.filter { !given.contains(prefix + $0) && links[$0] != nil }
            tensors += made.compactMap { name in links[name]?.stored(name: prefix + name) }
            guard var samples = try CalibrationSamples(tensors, for: part, file: file, shared: shared) else { continue }
            samples.linked = Set(made)
            samples.share(memory)
            found.append(samples)
            guard links.wants(anythingOf: part) else { continue }
            let run = try SampleRun(samples, threads: threads)
            links.add(try run.outputs(named: links.outputs(of: part)), of: part)
        }
        return found
    }
}

/// The values that parts make for other parts over all samples, by the names of the inputs and states that take them.
struct LinkedValues {
    private let links: [Interface.Link]
    private var values: [String: HostTensor] = [:]

    init(_ parts: [Program]) { links = parts.flatMap(\.interface.links) }

    subscript(name: String) -> HostTensor? { values[name] }

    /// The names by which other parts read a part's outputs, and the outputs.
    private func linked(outputsOf part: Program) -> [(name: String, output: String)] {
        links.filter { $0.part == part.name }.map { ($0.input, $0.output) }
            + (part.interface.role == .crossKeysAndValues
                ? part.states(.crossAttention).map { ($0.name, $0.name) } : [])
    }

    func wants(anythingOf part: Program) -> Bool { !linked(outputsOf: part).isEmpty }

    /// The names of a part's outputs that others take.
    func outputs(of part: Program) -> Set<String> { Set(linked(outputsOf: part).map(\.output)) }

    /// Takes the outputs of a part's run.
    mutating func add(_ outputs: [String: HostTensor], of part: Program) {
        for (name, output) in linked(outputsOf: part) { values[name] = outputs[output] }
    }
}
