import AccelByteIO
import AccelPrograms
import AccelTensors

/// The parts with the ports of the static engine of apple/coreai-models (CoreAIStaticShapeEngine.swift), for a batch of one sequence.
///
/// A run has a number of tokens for which there is a function, and starts at a multiple of it. The engine takes the function of
/// the smallest cache that holds the sequence, and copies the caches when it goes to a longer one.
extension DecoderGraph {
    private static let (load, gather, extend, prompt) = (
        "load_embeddings", "gather_embeddings", "extend", "prompt_opt"
    )
    /// The names of the parts, which are the first words of the names of the functions.
    static let staticParts = [load, gather, extend, prompt]
    private static let shortestCache = 256
    private static let longestCache = 4096

    /// Builds the parts of a decoder: `decoder`, and those of the static engine.
    static func programs(
        _ config: DecoderConfiguration, of checkpoint: Checkpoint, parts: [String], names: inout TensorNames
    ) throws -> [Program] {
        let requested = parts.filter(staticParts.contains)
        guard !requested.isEmpty else { return [try program(config, of: checkpoint, names: &names)] }
        let others = parts.contains { !staticParts.contains($0) }
        // The part that applications of accelc use comes first, and declares the names of tensors too.
        var programs = others ? [try program(config, of: checkpoint, names: &names)] : []
        try requireStatic(config, of: checkpoint)
        names.prefixes = ["model."]
        names.tie(head: head, words: words, isTied: config.tiesHead)
        explain(requested, in: &names)
        for part in requested {
            var layers = LayerBuilder(
                builder: ProgramBuilder(name: part, dimensions: try dimensions(of: part, config), role: .block),
                names: names)
            switch part {
            case load: try loadEmbeddings(config, in: &layers)
            case gather: try gatherEmbeddings(config, in: &layers)
            default: layers = try transformer(config, givesLogits: part == extend, layers)
            }
            names = layers.names
            programs.append(try layers.builder.finish())
        }
        return programs
    }

    /// Rejects models that the engine does not run.
    private static func requireStatic(_ config: DecoderConfiguration, of checkpoint: Checkpoint) throws {
        func reject(_ reason: String) -> RequestError {
            RequestError("\(checkpoint.configuration.file): \(reason)", status: .unavailable)
        }
        let pooling = try SentencePooling.read(of: checkpoint, width: config.width, generates: config.head == .words)
        guard config.head == .words, config.attendsToLater == nil, pooling == nil else {
            throw reject("the static engine of coreai-models is for models that generate text")
        }
        let longest = try cacheLengths(config).last ?? 0
        for layer in config.layers {
            let bound: Int? =
                switch layer.rotary.growth {
                case .none: nil
                case .switching(_, let beyond), .stretching(_, let beyond): beyond
                }
            guard let bound, bound < longest else { continue }
            throw reject(
                "its rotary embeddings change with caches of more than \(bound) positions, and the static engine of coreai-models "
                    + "copies keys from a shorter cache to one of \(longest)")
        }
    }

    private static func explain(_ parts: [String], in names: inout TensorNames) {
        names.explain("rotary embeddings follow from the configuration") { name in
            ["inv_freq", "original_inv_freq", "cos_cached", "sin_cached"].contains {
                name == "rotary_emb.\($0)" || name.hasSuffix(".rotary_emb.\($0)")
            }
        }
        if !parts.contains(load) {
            names.explain("read by the part \(load) only", isExpected: true) { $0 == words }
        }
        if !parts.contains(extend) {
            names.explain("read by the part \(extend) only", isExpected: true) { $0 == head }
        }
        if !parts.contains(extend), !parts.contains(prompt) {
            names.explain("read by the parts \(extend) and \(prompt) only", isExpected: true) {
                $0 == "norm.weight" || $0.hasPrefix("layers.")
            }
        }
    }

    /// The lengths of caches, each twice the one before: from 256 positions to as many as the model has, at most 4096. A shorter
    /// model has one length, the largest power of two.
    private static func cacheLengths(_ config: DecoderConfiguration) throws -> [Int] {
        guard config.positions >= 8 else {
            throw RequestError(
                "the static engine of coreai-models takes blocks of 8 tokens, and the model has \(config.positions) positions"
            )
        }
        var lengths: [Int] = []
        var length = 8
        while length <= min(config.positions, longestCache) {
            if length >= shortestCache || length * 2 > config.positions { lengths.append(length) }
            length *= 2
        }
        return lengths
    }

    private static func dimensions(
        of part: String, _ config: DecoderConfiguration
    ) throws -> [Program.FreeDimension] {
        if part == load { return [] }
        let lengths = try cacheLengths(config)
        let blocks = [8, 16, 64].filter { $0 <= lengths[0] }
        let tokens = Program.FreeDimension("tokens", usual: blocks, defaults: blocks, maximum: lengths.last)
        if part == gather { return [tokens] }
        return [Program.FreeDimension("cache", usual: lengths, defaults: lengths, maximum: 1 << 24), tokens]
    }

    /// The table of word embeddings. Output: `embedding_table` F32[vocabulary, 1, width].
    private static func loadEmbeddings(_ config: DecoderConfiguration, in layers: inout LayerBuilder) throws {
        let table = try layers.weight(words, [config.vocabulary, config.width])
        let output = try layers.in("embed_tokens") {
            try $0.apply(Reshape(to: [.fixed(config.vocabulary), 1, .fixed(config.width)]), table)
        }
        layers.builder.output("embedding_table", output)
    }

    /// Adds the input `embedding_table`, F32[vocabulary, 1, width].
    private static func tableInput(_ config: DecoderConfiguration, in layers: inout LayerBuilder) -> Value {
        layers.builder.input(
            "embedding_table", TensorType(.float32, [.fixed(config.vocabulary), 1, .fixed(config.width)]))
    }

    /// The embeddings of tokens. Inputs: `in_new_token_ids` I64[1, tokens], `embedding_table`. Output: `gathered_embeddings`
    /// F32[1, tokens, 1, width].
    private static func gatherEmbeddings(_ config: DecoderConfiguration, in layers: inout LayerBuilder) throws {
        let tokens = layers.builder.input("in_new_token_ids", TensorType(.int64, [1, "tokens"]))
        let table = tableInput(config, in: &layers)
        layers.builder.output("gathered_embeddings", try embedded(tokens, by: table, config, in: &layers))
    }

    /// The layers.
    ///
    /// - Inputs: `transformer_input` F32[1, tokens, 1, width]; `position_ids` I64[1, tokens]; `in_step` I64[1], the position of the
    ///   first token; `causal_mask` F32[1, cache, 1, tokens], which is added to scores; and if the head is that table, `embedding_table`.
    /// - States: `key_cache` and `value_cache`. See `StackedCaches`.
    /// - Output: `out_logits`, F32[1, 1, tokens, vocabulary]; without a head F32[1], a sum that depends on both caches.
    private static func transformer(
        _ config: DecoderConfiguration, givesLogits: Bool, _ builder: LayerBuilder
    ) throws -> LayerBuilder {
        var layers = builder
        let width = Dimension(config.width)
        let input = layers.builder.input("transformer_input", TensorType(.float32, [1, "tokens", 1, width]))
        let positions = layers.builder.input("position_ids", TensorType(.int64, [1, "tokens"]))
        let step = layers.builder.input("in_step", TensorType(.int64, [1]))
        let mask = layers.builder.input("causal_mask", TensorType(.float32, [1, "cache", 1, "tokens"]))
        let isTable = givesLogits && layers.names.head(head, words: words, isTied: config.tiesHead) == words
        let table = isTable ? tableInput(config, in: &layers) : nil
        let caches = StackedCaches(config, at: step, in: &layers)
        var graph = try DecoderGraph(config, layers, batch: 1, length: "tokens", stackedCaches: caches) {
            try DecoderPositions(listed: positions, mask: mask, in: &$0)
        }
        let rows = try graph.layers.in("ports") { try $0.apply(Reshape(to: [1, "tokens", width]), input) }
        let hidden = try graph.hidden(ofEmbedded: rows)
        let states = try graph.stackedCaches?.update(in: &graph.layers) ?? []
        let output = givesLogits ? try graph.rowLogits(of: hidden, by: table) : try graph.sumOfFirst(of: states)
        graph.layers.builder.output("out_logits", output)
        return graph.layers
    }

    /// Returns logits F32[1, 1, tokens, vocabulary] of hidden states F32[1, tokens, width].
    /// - Parameter table: the word embeddings F32[vocabulary, 1, width], if they are the head.
    private mutating func rowLogits(of hidden: Value, by table: Value?) throws -> Value {
        let width = Dimension(config.width)
        let rows = try layers.in("ports") { try $0.apply(Reshape(to: [1, 1, "tokens", width]), hidden) }
        guard let table else { return try logits(of: rows) }
        let product = try layers.in("lm_head") { [config] layers in
            let columns = try layers.apply(
                Transpose([1, 0]),
                try layers.apply(Reshape(to: [.fixed(config.vocabulary), width]), table))
            return try layers.apply(MatMul(), rows, columns)
        }
        return try capped(product)
    }

    /// Returns the sum F32[1] of the first elements of caches, so that a run without logits has an output that needs them.
    private mutating func sumOfFirst(of caches: [Value]) throws -> Value {
        try layers.in("ports") { layers in
            let elements = try caches.map { cache in
                try layers.apply(
                    Reshape(to: [1]),
                    try layers.apply(Slice(begin: [0, 0, 0, 0, 0], sizes: [1, 1, 1, 1, 1]), cache))
            }
            guard let first = elements.first else { return layers.builder.literal(0) }
            return try elements.dropFirst().reduce(first) { try layers.apply(Add(), $0, $1) }
        }
    }
}
