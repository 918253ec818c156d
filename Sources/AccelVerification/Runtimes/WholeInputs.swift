import AccelByteIO
import AccelCalibration
import AccelPrograms
import AccelTensors

/// The runs of runtimes that take whole inputs: each text by itself without padding, from an empty cache; features of audio as
/// they are.
struct WholeInputs {
    let programs: [Program]
    private(set) var runs: [RuntimeRun] = []
    private(set) var notCompared: [NotCompared] = []

    /// The lengths of drawn texts.
    private static let lengths = [16, 7]

    /// - Throws: `RequestError` if a file has no inputs of the model.
    init(_ programs: [Program], on source: InputSource) throws {
        self.programs = programs
        let (given, golden): ([String: StoredTensor]?, Golden?)
        switch source {
        case .seeded: (given, golden) = (nil, nil)
        case .file(let file):
            (given, golden) = (try InputMatcher(file, for: programs.map(\.interface)).tensors, nil)
        case .golden(let file): (given, golden) = (file.inputs, file)
        }
        for program in programs {
            guard let leading = Self.leadingInput(of: program) else {
                skip(
                    program.name,
                    "it takes what another part makes, and the runtime's program computes encoders, and decoders that need none"
                )
                continue
            }
            guard let given else {
                try draw(program, leading, seed: source.samplingSeed)
                continue
            }
            guard let tensor = given[leading.name], tensor.shape.rank == program.type(of: leading.value).rank else {
                skip(program.name, "\(source.summary) holds no \"\(leading.name)\" for it")
                continue
            }
            try take(program, leading, given.mapValues { HostTensor($0) }, golden)
        }
        guard runs.isEmpty, let given else { return }
        let wanted = programs.compactMap { Self.leadingInput(of: $0)?.name }
        throw RequestError(
            "\(source.summary) holds no input that the runtime takes: expected \(wanted.joined(separator: " or ")), found "
                + given.keys.sorted().joined(separator: ", "), status: .unavailable)
    }

    private mutating func skip(_ name: String, _ reason: String) {
        notCompared.append(.init(stage: .outputs, name: name, reason: reason))
    }

    /// Returns the input whose rows are the texts, or the features; nil if the runtimes do not take the part's inputs.
    private static func leadingInput(of program: Program) -> Program.Input? {
        let kinds: Set<RoleKind> = [.tokens, .position, .attentionMask, .tokenTypes]
        let roles = program.inputs.map { program.interface.role(of: $0.name, .input).kind }
        if roles == [.melFeatures] { return program.inputs.first }
        let states = program.states.map { program.interface.role(of: $0.name, .state).kind }
        guard Set(roles).isSubset(of: kinds), states.allSatisfy({ $0 == .keyValueCache }) else { return nil }
        return program.input(.tokens)
    }

    /// Returns the function for one text of a length, with a cache of that length; for features, of their shape.
    private static func frozen(_ program: Program, _ leading: Program.Input, _ sizes: [Int?]) throws -> FrozenProgram {
        var numbers: [String: Int] = [:]
        for (dimension, size) in zip(program.type(of: leading.value).dimensions, sizes) {
            if let name = dimension.name, let size { numbers[name] = size }
        }
        for state in program.states {
            let role = program.interface.role(of: state.name, .state)
            let dimensions = program.type(of: state.value).dimensions
            guard let axis = role.integer("axis"), dimensions.indices.contains(axis), let length = sizes.last else {
                continue
            }
            if let name = dimensions[axis].name { numbers[name] = length }
        }
        for dimension in program.dimensions where numbers[dimension.name] == nil {
            numbers[dimension.name] = dimension.usual.first ?? 1
        }
        return try program.freezing(ShapeBindings(numbers))
    }

    private mutating func draw(_ program: Program, _ leading: Program.Input, seed: UInt64) throws {
        let isText = program.interface.inputs[leading.name]?.kind == .tokens
        let largest = program.dimensions.compactMap(\.maximum).min() ?? .max
        for length in isText ? Self.lengths.filter({ $0 <= largest }) : [0] {
            let frozen = try Self.frozen(program, leading, isText ? [1, length] : [1, nil, nil])
            try frozen.requireMemoryForInputs()
            var inputs = SeededInputs(seed: seed).inputs(for: frozen)
            for input in frozen.inputs {
                switch frozen.program.interface.role(of: input.name, .input).kind {
                case .attentionMask: inputs[input.name] = Self.filled(1, input.shape)
                // Some runtimes take texts of one segment only.
                case .tokenTypes where length == Self.lengths[0]: inputs[input.name] = Self.filled(0, input.shape)
                default: break
                }
            }
            runs.append(
                RuntimeRun(function: program.name, model: frozen, sequence: runs.count, FeedCall(inputs: inputs)))
        }
    }

    private static func filled(_ number: Int64, _ shape: Shape) -> HostTensor {
        HostTensor([Int64](repeating: number, count: shape.count), shape)
    }

    /// Adds a run for each row of a file's inputs.
    private mutating func take(
        _ program: Program, _ leading: Program.Input, _ given: [String: HostTensor], _ golden: Golden?
    ) throws {
        guard let whole = given[leading.name], let rows = whole.shape.dimensions.first else { return }
        let isText = program.interface.inputs[leading.name]?.kind == .tokens
        let isDecoder = program.input(.position) != nil
        let maskName = program.input(.attentionMask)?.name ?? (isDecoder ? SampleInputs.maskName : nil)
        let masks = maskName.flatMap { given[$0] }
        let length = whole.shape.dimensions.last ?? 0
        for row in 0..<rows {
            var count = length
            if isText, let mask = masks?.row(row, first: length)?.flags {
                count = mask.firstIndex(of: false) ?? length
                guard count > 0, !mask[count...].contains(true) else {
                    skip(
                        "\(program.name) row \(row)",
                        "it has padding in front of tokens, which the runtime does not take")
                    continue
                }
            }
            let sizes: [Int?] = isText ? [1, count] : [1] + whole.shape.dimensions.dropFirst().map { .some($0) }
            let frozen = try Self.frozen(program, leading, sizes)
            var inputs: [String: HostTensor] = [:]
            for input in frozen.inputs {
                switch frozen.program.interface.role(of: input.name, .input).kind {
                case .attentionMask: inputs[input.name] = Self.filled(1, input.shape)
                case .position: inputs[input.name] = Self.filled(0, input.shape)
                case .tokenTypes where given[input.name] == nil: inputs[input.name] = Self.filled(0, input.shape)
                default: inputs[input.name] = given[input.name]?.row(row, first: isText ? count : nil)
                }
            }
            guard frozen.inputs.allSatisfy({ inputs[$0.name]?.shape == $0.shape }) else {
                skip("\(program.name) row \(row)", "the file has not all of its inputs")
                continue
            }
            let suffix = rows > 1 ? ".\(row)" : ""
            var call = FeedCall(inputs: inputs)
            call.outputName = { $0 + suffix }
            var run = RuntimeRun(function: program.name, model: frozen, sequence: runs.count, call)
            for output in frozen.outputs {
                run.expected[output.name] = golden?.whole(output.name, of: frozen.program)?.row(
                    row, first: isText && output.shape.rank > 2 ? count : nil)
            }
            runs.append(run)
        }
    }
}

extension Golden {
    /// Returns the values of an output for the whole of the inputs: a decoder's for all tokens at once.
    fileprivate func whole(_ name: String, of program: Program) -> HostTensor? {
        let role = program.interface.outputs[name]
        let isEncoder = program.interface.role == .encode && role?.kind == .hiddenStates
        return [name, "\(name)_full"].lazy.compactMap { self.output($0, as: role) }.first
            ?? (isEncoder ? output("encoder_hidden", as: role) : nil)
    }
}

extension HostTensor {
    /// Returns one row as a tensor of one row.
    /// - Parameter count: the number of elements of the second axis that are kept, from its start; nil for all.
    /// - Returns: nil if the tensor has no such row, or a shorter second axis.
    func row(_ row: Int, first count: Int?) -> HostTensor? {
        guard shape.rank > 0, row < shape.dimensions[0] else { return nil }
        var sizes = shape.dimensions
        sizes[0] = 1
        if let count, shape.rank > 1 {
            guard count <= sizes[1] else { return nil }
            sizes[1] = count
        }
        let start = [row] + [Int](repeating: 0, count: shape.rank - 1)
        let slice = Slice(begin: start.map { .fixed($0) }, sizes: sizes.map { .fixed($0) })
        return try? slice.evaluate([self]).first
    }
}
