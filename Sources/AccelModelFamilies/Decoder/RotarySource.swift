package import AccelByteIO

/// The fields of a configuration that describe a rotary embedding, read as the model's class in transformers reads
/// them.
package struct RotarySource {
    /// The location of `original_max_position_embeddings`, the number of positions in pretraining.
    enum Original {
        /// Beside the objects, or else in one of them.
        case anywhere
        case inObjects
        /// Beside the objects, or else this number.
        case beside(default: Int)
    }
    /// The objects that describe it; any may be missing. The first that has a field counts.
    var objects: [JSONField]
    /// The whole configuration.
    let config: JSONField
    /// The name of the base in `config`.
    var thetaField = "rope_theta"
    /// The default of the base.
    var theta = 10_000.0
    /// Other names of kinds.
    var aliases: [String: String] = [:]
    var kinds = RotaryEmbedding.kinds
    /// The family applies `partial_rotary_factor` to the plain kind. Other families rotate whole heads.
    var rotatesParts = false
    /// The default of `partial_rotary_factor`.
    var usualShare = 1.0
    var original = Original.anywhere
    /// The field that says whether YaRN rounds its bounds to whole pairs; nil for the one in the objects.
    var truncation: JSONField?

    /// The rotary embedding of all layers of a language model.
    package static func ofLayers(_ config: JSONField) -> RotarySource {
        RotarySource(objects: objects(config), config: config)
    }

    /// The rotary embedding of Phi-3.
    package static func ofPhi3(_ config: JSONField) -> RotarySource {
        RotarySource(
            objects: objects(config), config: config, aliases: ["su": "longrope", "yarn": "longrope"],
            kinds: ["default", "longrope"], rotatesParts: true, original: .beside(default: 4096))
    }

    /// Returns the objects of language models in either dialect: `rope_scaling` precedes `rope_parameters` unless it is
    /// empty.
    static func objects(_ config: JSONField) -> [JSONField] {
        let (old, new) = (config["rope_scaling"], config["rope_parameters"])
        guard old.exists, old.value != [:] else { return [new] }
        config.disregard("rope_parameters")
        return [old]
    }

    /// The field of the first object that has it.
    package subscript(name: String) -> JSONField {
        // All objects are read, so that a field without effect does not count as unknown.
        let fields = objects.map { $0[name] }
        return fields.first { $0.exists } ?? fields.first ?? JSONField(nil, file: config.file, path: name)
    }

    /// Returns the kind, its name in the configuration, and the field with this name.
    package func kind() throws -> (kind: String, name: String, field: JSONField) {
        let (new, old) = (self["rope_type"], self["type"])
        let field = new.exists ? new : old
        let name = try field.string(default: "default")
        return (aliases[name] ?? name, name, field)
    }

    /// Returns whether YaRN rounds its bounds to whole pairs.
    func truncates() throws -> Bool {
        let own = self["truncate"]
        return try (truncation ?? own).bool(default: true)
    }

    package func base() throws -> Double {
        let (inside, outside) = (self["rope_theta"], config[thetaField])
        return try Self.positive(inside.exists ? inside : outside, default: theta)
    }

    /// Returns the share of each head that is rotated.
    package func share(_ kind: String) throws -> Double {
        let (inside, outside) = (self["partial_rotary_factor"], config["partial_rotary_factor"])
        let field = inside.exists ? inside : outside
        let share = try Self.positive(field, default: usualShare)
        if rotatesParts || kind == "proportional" { return share }
        // In transformers the plain rotation ignores the field, and the other kinds fail.
        guard kind == "default" || share == 1 else {
            throw field.error("the model rotates whole heads, and cannot rotate \(share) of each by \"\(kind)\"")
        }
        return 1
    }

    package func originalPositions(default other: Int) throws -> Int {
        let name = "original_max_position_embeddings"
        let inside = self[name]
        switch original {
        case .inObjects: return try inside.int(in: 1...1 << 30, default: other)
        case .anywhere:
            let outside = config[name]
            return try (outside.exists ? outside : inside).int(in: 1...1 << 30, default: other)
        case .beside(let usual):
            let outside = config[name]
            guard try outside.exists || inside.int(in: 1...1 << 30, default: usual) == usual else {
                throw inside.error("the framework takes \(usual), unless \(name) stands outside too")
            }
            return try outside.int(in: 1...1 << 30, default: usual)
        }
    }

    /// Returns a positive number.
    /// - Parameter other: the default; nil if the field is required.
    package func positive(_ name: String, default other: Double? = nil) throws -> Double {
        try Self.positive(self[name], default: other)
    }

    private static func positive(_ field: JSONField, default other: Double?) throws -> Double {
        if let other, !field.exists { return other }
        let number = try field.double()
        guard number > 0, number <= 1e12 else { throw field.error("\(number) is outside of 0...1e12") }
        return number
    }

    package func factors(_ name: String, count: Int) throws -> [Float] {
        let elements = try self[name].array()
        guard elements.count == count else {
            throw self[name].error("expected \(count) numbers, one a pair of elements, found \(elements.count)")
        }
        return try elements.map { Float(try Self.positive($0, default: nil)) }
    }
}
