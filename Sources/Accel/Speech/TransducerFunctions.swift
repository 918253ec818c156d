import AccelPrograms

/// The functions of a transducer: an encoder of a sound, a predictor that reads the emitted tokens, and the function that joins a state of each.
struct TransducerFunctions: Sendable {
    typealias Port = FunctionDescription.Port

    struct Encoder: Sendable {
        let name: String
        let ports: SoundPorts
        /// F32[1, states, width]
        let states: Port
        var stateCount: Int { states.shape.dimensions[1] }
    }
    /// From the shortest sounds to the longest.
    let encoders: [Encoder]
    /// The longest encoder.
    let longest: Encoder
    let predictor, joint: FunctionDescription
    /// The predictor's token I64[1, 1] and its result F32[1, 1, width].
    let token, read: Port
    /// The encoder's state among the inputs of the joint function, F32[1, 1, width].
    let heard: Port
    /// F32[1, 1, vocabulary]
    let logits: Port
    /// F32[1, 1, durations]; nil for a model that goes on by one frame.
    let durations: Port?

    /// Nil for a model of another kind.
    init?(_ model: AccelModel) {
        guard let predictor = model.functions.first(where: { $0.role == .predict && $0.inputs.count == 1 }),
            let token = predictor.input(.tokens), token.shape.dimensions == [1, 1], token.elementType == .int64,
            let read = predictor.output(.hiddenStates), read.shape.rank == 3, read.shape.count > 0,
            let joint = model.functions.first(where: { $0.role == .join && $0.inputs.count == 2 }),
            joint.inputs.allSatisfy({ $0.shape == read.shape && $0.elementType == .float32 }),
            joint.inputs.contains(where: { $0.name == read.name }),
            let heard = joint.inputs.first(where: { $0.name != read.name }),
            let logits = Self.scores(.vocabulary, of: joint)
        else { return nil }
        let width = read.shape.dimensions[2]
        encoders = model.functions.compactMap { function in
            guard function.role == .encode, function.states.isEmpty, let ports = SoundPorts(function),
                let states = function.output(.hiddenStates), states.shape.rank == 3, states.elementType == .float32,
                states.shape.dimensions[0] == 1, states.shape.dimensions[1] > 0, states.shape.dimensions[2] == width
            else { return nil }
            return Encoder(name: function.name, ports: ports, states: states)
        }.sorted { $0.ports.sampleCount < $1.ports.sampleCount }
        guard let longest = encoders.last else { return nil }
        (self.longest, self.predictor, self.joint, self.token, self.read) = (longest, predictor, joint, token, read)
        (self.heard, self.logits, durations) = (heard, logits, Self.scores(.durations, of: joint))
    }

    private static func scores(_ classes: Role.Classes, of joint: FunctionDescription) -> Port? {
        joint.outputs.first { port in
            port.role.kind == .logits && port.role.word("over") == classes.rawValue && port.elementType == .float32
                && port.shape.rank == 3 && port.shape.count == port.shape.dimensions[2] && port.shape.count > 0
        }
    }

    /// Returns the encoder of the shortest sound that takes so many samples; the longest one if none does.
    func encoder(for samples: Int) -> Encoder { encoders.first { $0.ports.sampleCount >= samples } ?? longest }
}
