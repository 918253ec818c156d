import AccelByteIO
import AccelPrograms
import AccelTensors

/// The graph of a BERT encoder with its head, also for descendants with other names and positions.
struct BertGraph {
    private(set) var config: BertConfiguration
    var layers: LayerBuilder
    /// The number of texts: `batch`, or that of all choices.
    let texts: Dimension
    /// The attention mask, I64[texts, sequence].
    let mask: Value
    private let tokens: Value
    private let segments: Value?
    static let words = "embeddings.word_embeddings.weight"

    /// - Parameter longest: the most tokens of a text that the model is meant for, where its files say so.
    init(config: BertConfiguration, head: BertHead, longest: Int? = nil, names: TensorNames) throws {
        let meant = min(longest ?? .max, config.longest)
        let usual = Set([min(128, meant), meant]).sorted()
        let ports = TextPorts(
            choices: head == .multipleChoice, sequence: .init("sequence", usual: usual, maximum: config.longest))
        layers = LayerBuilder(
            builder: ProgramBuilder(name: "model", dimensions: ports.dimensions, role: head.role), names: names)
        texts = ports.texts
        tokens = try ports.input("input_ids", .tokens(vocabulary: config.vocabulary), in: &layers)
        mask = try ports.input("attention_mask", .attentionMask(.onesCount), in: &layers)
        segments =
            config.takesSegments
            ? try ports.input("token_type_ids", .tokenTypes(count: config.segments), in: &layers) : nil
        self.config = config
        self.config.encoder.batch = texts
    }

    /// Builds the embeddings and all layers.
    /// - Parameter bias: returns the bias of the attention scores.
    /// - Returns: F32[texts, sequence, width]
    mutating func encoder(bias: (inout LayerBuilder) throws -> Value?) throws -> Value {
        var x = try layers.in("embeddings") { [self] in try embeddings(in: &$0) }
        let bias = try bias(&layers)
        let seen = try layers.in("mask") { [mask, texts] layers in
            let flags = try layers.apply(Cast(to: .bool), mask)
            var additive = try layers.additiveMask(flags, batch: texts)
            if let bias { additive = try layers.apply(Add(), additive, bias) }
            let largest = try layers.apply(Reduce(.max, axes: [1]), try layers.apply(Cast(to: .float32), flags))
            let any = try layers.apply(Reshape(to: [texts, 1, 1]), largest)
            return EncoderLayers.Seen(additive: additive, any: any)
        }
        for index in 0..<config.layers {
            x = try config.encoder.layer("\(config.layerName).\(index)", x, seen, in: &layers)
        }
        return x
    }

    private func embeddings(in layers: inout LayerBuilder) throws -> Value {
        let width = config.width
        let words = try layers.weight(Self.words, [config.vocabulary, width])
        let types =
            config.segments > 0
            ? try layers.weight("embeddings.token_type_embeddings.weight", [config.segments, width]) : nil
        let table = try layers.weight("embeddings.position_embeddings.weight", [config.positions, width])
        let word = try layers.in("word_embeddings") { [tokens] in try $0.apply(Gather(), words, tokens) }
        // Without segments as an input, every token belongs to segment 0.
        let type = try types.map { types in
            try layers.in("token_type_embeddings") { [segments] layers in
                guard let segments else {
                    return try layers.apply(Slice(begin: [0, 0], sizes: [1, .fixed(width)]), types)
                }
                return try layers.apply(Gather(), types, segments)
            }
        }
        let position = try layers.in("position_embeddings") { try positions(table, in: &$0) }
        let typed = try type.map { try layers.apply(Add(), word, $0) } ?? word
        let sum = try layers.apply(Add(), typed, position)
        let weight = try layers.weight("embeddings.LayerNorm.weight", [width])
        let bias = try layers.weight("embeddings.LayerNorm.bias", [width])
        return try layers.apply(LayerNorm(epsilon: config.epsilon), sum, weight, bias)
    }

    /// Returns the rows of the table of positions: the first ones, or those counted over tokens that are not padding.
    private func positions(_ table: Value, in layers: inout LayerBuilder) throws -> Value {
        guard let padding = config.padding else {
            return try layers.apply(Slice(begin: [0, 0], sizes: ["sequence", .fixed(config.width)]), table)
        }
        let token = layers.builder.literal(HostTensor([Int64(padding)], [1]), name: "padding_token")
        let isText = try layers.apply(
            Cast(to: .float32), try layers.apply(Compare(.notEqual), tokens, token))
        let counted = try layers.apply(Multiply(), try layers.apply(CumulativeSum(axis: 1), isText), isText)
        let position = try layers.apply(Add(), counted, layers.builder.literal(Float(padding)))
        return try layers.apply(Gather(), table, try layers.apply(Cast(to: .int64), position))
    }

    /// Applies a dense layer to the first token.
    /// - Returns: F32[texts, width]
    mutating func pooler(
        _ hidden: Value, _ name: String = "pooler.dense", activation: any Operator = Tanh()
    ) throws -> Value {
        let scope = name.split(separator: ".").first.map(String.init) ?? name
        let first = try layers.in(scope) { [config, texts] in
            try $0.firstToken(hidden, width: config.width, batch: texts)
        }
        let dense = try layers.linear(name, first, from: config.width, to: config.width)
        return try layers.in(scope) { try $0.apply(activation, dense) }
    }

    /// Returns vocabulary scores F32[batch, sequence, vocabulary]: a dense layer, an activation, a norm and the
    /// decoder.
    mutating func words(_ hidden: Value, _ head: BertNames.Words) throws -> Value {
        let width = config.width
        let wide = try layers.linear(head.dense, hidden, from: width, to: width)
        let scope = head.dense.split(separator: ".").dropLast().joined(separator: ".")
        let active = try layers.in(scope.isEmpty ? head.dense : scope) { [config] in
            try $0.apply(head.activation ?? config.activation, wide)
        }
        let normal = try layers.layerNorm(head.norm, active, width: width, epsilon: config.epsilon)
        let name = layers.names.head("\(head.decoder).weight", words: Self.words, isTied: config.tiesHead)
        let weight = try layers.weight(name, [config.vocabulary, width])
        var bias = "\(head.decoder).bias"
        if let otherBias = head.otherBias {
            if layers.names.find(bias) == nil { bias = otherBias }
            layers.names.explain("the decoder has a bias of its own") { $0 == otherBias }
            if bias != otherBias, let own = layers.names.find(bias), let other = layers.names.find(otherBias),
                other.isCopy(of: own)
            {
                layers.names.leaveOut(other, equalTo: own)
            }
        }
        let offsets = try layers.weight(bias, [config.vocabulary])
        return try layers.in(head.decoder) { try $0.apply(Linear(), normal, weight, offsets) }
    }

    /// Returns class scores F32[batch, labels] of the first token.
    mutating func labels(_ hidden: Value, _ head: BertNames.Labels) throws -> Value {
        let pooled = try pooler(hidden, head.dense, activation: head.activation)
        return try layers.linear(head.output, pooled, from: config.width, to: config.labels)
    }

    /// Returns a score for each of the choices, F32[batch, choices].
    mutating func choices(_ hidden: Value, _ head: BertNames.Labels) throws -> Value {
        let pooled = try pooler(hidden, head.dense, activation: head.activation)
        let scores = try layers.linear(head.output, pooled, from: config.width, to: 1)
        return try layers.in(head.output) { try $0.apply(Reshape(to: ["batch", "choices"]), scores) }
    }

    /// Returns class scores F32[batch, sequence, labels] of each token.
    mutating func tokenLabels(_ hidden: Value) throws -> Value {
        try layers.linear("classifier", hidden, from: config.width, to: config.labels)
    }

    /// Returns the scores of each token as the first one of an answer, and as the last one, both F32[batch, sequence].
    mutating func answer(_ hidden: Value) throws -> [Value] {
        let scores = try layers.linear("qa_outputs", hidden, from: config.width, to: 2)
        return try layers.in("qa_outputs") { try $0.columns(of: scores, count: 2) }
    }

    /// Returns scores F32[batch, 2] for whether a second text follows the first one.
    mutating func nextSentence(_ hidden: Value) throws -> Value {
        try layers.linear("cls.seq_relationship", try pooler(hidden), from: config.width, to: 2)
    }

    /// Adds the outputs of a bare model.
    mutating func outputModel(_ hidden: Value, _ pooling: SentencePooling?) throws {
        layers.builder.output("last_hidden_state", hidden, .hiddenStates)
        if layers.names.find("pooler.dense.weight") != nil {
            layers.builder.output("pooler_output", try pooler(hidden), .pooled)
        }
        let embedding = try (pooling ?? .mean).apply(to: hidden, mask: mask, positions: config.longest, in: &layers)
        layers.builder.output("sentence_embedding", embedding, .embedding)
    }
}
