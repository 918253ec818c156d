import AccelByteIO
import AccelPrograms

extension EncoderLayers {
    /// Reads layers with norms before attention, as in image encoders and CLIP's text encoder. The defaults are the
    /// sizes of the base model.
    init(
        preNorm config: JSONField, width: Int = 768, heads: Int = 12, intermediate: Int = 3072, epsilon: Double,
        activation: String, length: Dimension, batch: Dimension = "batch"
    ) throws {
        let width = try config["hidden_size"].int(in: 1...1 << 16, default: width)
        let heads = try config["num_attention_heads"].int(in: 1...1 << 16, default: heads)
        guard width % heads == 0 else {
            throw config["num_attention_heads"].error("\(heads) heads do not divide hidden_size \(width)")
        }
        self.init(
            width: width, heads: heads,
            intermediate: try config["intermediate_size"].int(in: 1...1 << 20, default: intermediate),
            epsilon: try config.epsilon("layer_norm_eps", default: epsilon),
            activation: try HiddenActivation.read(config["hidden_act"], default: activation), normsFirst: true,
            length: length, batch: batch)
    }
}

extension JSONField {
    /// Returns the epsilon of a norm.
    func epsilon(_ name: String, default other: Double) throws -> Double {
        let epsilon = self[name].exists ? try self[name].double() : other
        guard epsilon >= 0, epsilon < 1 else { throw self[name].error("\(epsilon) is outside of 0..<1") }
        return epsilon
    }

    /// Returns the number of classes, which is the number of their names if there are any.
    func labelCount() throws -> Int {
        self["id2label"].exists
            ? try self["id2label"].members().count : try self["num_labels"].int(in: 1...1 << 20, default: 2)
    }
}
