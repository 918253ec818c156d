import AccelByteIO

extension CTranslate2Whisper {
    func read(_ reader: inout CTranslate2Reader, _ settings: CTranslate2Settings) throws -> CTranslate2Checkpoint {
        var checkpoint = CTranslate2Checkpoint("whisper", "WhisperForConditionalGeneration")
        reader.prefix = prefixes[0]
        try reader.requireScalars()
        try reader.require("decoder/scale_embeddings", .flag(false))
        for side in ["encoder", "decoder"] { try reader.require("\(side)/activation", .int8(3)) }
        guard try settings.epsilon(default: 1e-5) == 1e-5 else {
            throw reader.unsupported("layer_norm_epsilon of config.json is not that of Whisper, 1e-05")
        }
        let convolution = try reader.sizes(of: "encoder/conv1/weight", rank: 3)
        let words = try reader.sizes(of: "decoder/embeddings/weight", rank: 2)
        checkpoint.set("activation_function", "gelu")
        checkpoint.set("vocab_size", count: words[0])
        checkpoint.set("d_model", count: words[1])
        checkpoint.set("num_mel_bins", count: convolution[1])
        for (stack, limit) in zip(Self.layout.stacks, ["max_source_positions", "max_target_positions"]) {
            let side = stack.modules.prefix { $0 != "." }
            guard let heads = try reader.count("\(side)/num_heads", in: 1...1 << 12) else {
                throw reader.unsupported("it has no variable \"\(side)/num_heads\"")
            }
            checkpoint.set(limit, count: try reader.sizes(of: "\(side)/position_encodings/encodings", rank: 2)[0])
            checkpoint.set("\(side)_layers", count: reader.layerCount(of: stack))
            checkpoint.set("\(side)_attention_heads", count: heads)
            checkpoint.set(
                "\(side)_ffn_dim",
                count: try reader.sizes(of: "\(stack.names(0).variables)ffn/linear_0/weight", rank: 2)[0])
        }
        try reader.add(Self.layout)
        try reader.addWords(Self.words, head: Self.head, to: &checkpoint)
        try addTokens(settings, to: &checkpoint)
        return checkpoint
    }

    /// Adds the numbers of tokens, and what config.json states about languages, suppressed tokens and alignment heads.
    private func addTokens(_ settings: CTranslate2Settings, to checkpoint: inout CTranslate2Checkpoint) throws {
        func number(_ token: String) -> JSON? { settings.number(of: token).map { .integer(Int64($0)) } }
        let (start, end) = (number("<|startoftranscript|>"), number("<|endoftext|>"))
        let special = [
            ("bos_token_id", end), ("eos_token_id", end), ("pad_token_id", end), ("decoder_start_token_id", start),
        ].compactMap { name, value in value.map { JSON.Member(name, $0) } }
        checkpoint.set(special)
        let field = settings.configuration
        guard field.exists else { return }
        var members = special
        for (name, own) in [
            ("alignment_heads", "alignment_heads"), ("suppress_tokens", "suppress_ids"),
            ("begin_suppress_tokens", "suppress_ids_begin"),
        ] {
            if let value = field[own].value, value != .null { members.append(JSON.Member(name, value)) }
        }
        if field["lang_ids"].exists {
            let languages = try field["lang_ids"].array().map { id in
                let number = try id.int(in: 0...1 << 24)
                let name = settings.tokens.indices.contains(number) ? settings.tokens[number] : "\(number)"
                return JSON.Member(name, .integer(Int64(number)))
            }
            members.append(JSON.Member("lang_to_id", .object(languages)))
        }
        let tasks = ["transcribe", "translate"].compactMap { task in
            number("<|\(task)|>").map { JSON.Member(task, $0) }
        }
        if !tasks.isEmpty { members.append(JSON.Member("task_to_id", .object(tasks))) }
        if let silent = number("<|notimestamps|>") { members.append(JSON.Member("no_timestamps_token_id", silent)) }
        checkpoint.generation = members
    }
}

extension CTranslate2Reader {
    /// Adds the table of words, and the head where it is another matrix.
    /// - Parameters:
    ///   - words: the name in the checkpoint, without the prefix.
    ///   - head: the whole name in the checkpoint.
    mutating func addWords(_ words: String, head: String, to checkpoint: inout CTranslate2Checkpoint) throws {
        let (table, projection) = ("decoder/embeddings/weight", "decoder/projection/weight")
        try add(table, as: prefix + words, rank: 2)
        let isTied = areSame(table, projection)
        if isTied { skip(projection) } else { try add(projection, as: head, rank: 2) }
        checkpoint.set("tie_word_embeddings", .bool(isTied))
    }

    /// Reads the numbers that all decoders have in common. Those of the alignment change no output.
    mutating func requireScalars() throws {
        for (name, value) in CTranslate2Decoder.scalars {
            if name.hasPrefix("alignment") { skip("decoder/\(name)") } else { try require("decoder/\(name)", value) }
        }
    }

    /// Reads a number that a family's models have in common.
    mutating func require(_ name: String, _ wanted: CTranslate2Scalar) throws {
        let number: Double =
            switch wanted {
            case .int8(let value): Double(value)
            case .int16(let value): Double(value)
            case .int32(let value): Double(value)
            case .float32(let value): Double(value)
            }
        try require(name, number)
    }
}
