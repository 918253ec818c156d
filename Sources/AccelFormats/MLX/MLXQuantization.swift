import AccelByteIO

/// The `quantization` block of config.json: the scheme of most layers, and those of the others by name.
struct MLXQuantization: Sendable {
    /// The member of config.json.
    static let key = "quantization"
    /// The name under which mlx-lm repeats the block, for the Hugging Face hub.
    static let copyKey = "quantization_config"

    let usual: MLXScheme
    /// The schemes of layers that differ; nil for a layer that stays plain.
    private let others: [String: MLXScheme?]

    /// Returns the scheme of one layer by the block; nil if it is plain.
    /// - Throws: as `MLXScheme`.
    static func scheme(of layer: String, in block: JSONField) throws -> MLXScheme? {
        switch block[layer].value {
        case .object?: try MLXScheme(parsing: block[layer])
        case .bool(false)?: nil
        // `true` means the usual scheme; other tools add words of their own.
        default: try MLXScheme(parsing: block)
        }
    }

    /// The block of layers with the given schemes; nil if none is quantized. The usual scheme is that of most layers.
    init?(of layers: [(name: String, scheme: MLXScheme?)]) {
        var counts: [MLXScheme: Int] = [:]
        for layer in layers { if let scheme = layer.scheme { counts[scheme, default: 0] += 1 } }
        let order = counts.sorted {
            ($1.value, $0.key.bits, $0.key.group, $0.key.mode.rawValue)
                < ($0.value, $1.key.bits, $1.key.group, $1.key.mode.rawValue)
        }
        guard let usual = order.first?.key else { return nil }
        self.usual = usual
        others = Dictionary(layers.filter { $0.scheme != usual }.map { ($0.name, $0.scheme) }) { first, _ in first }
    }

    /// The layers that differ, sorted by name.
    var exceptions: [(name: String, scheme: MLXScheme?)] {
        others.sorted { $0.key < $1.key }.map { (name: $0.key, scheme: $0.value) }
    }

    var json: JSON {
        guard case .object(let members) = usual.json else { return usual.json }
        return .object(members + exceptions.map { JSON.Member($0.name, $0.scheme?.json ?? false) })
    }
}
