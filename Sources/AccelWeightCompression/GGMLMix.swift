import AccelByteIO

/// A mix of ggml's types, as llama.cpp's quantizer makes them: one type for most matrices, and others for the modules that suffer most.
/// The rules are those of `llama_tensor_get_type_impl` for models without experts.
package struct GGMLMix: Sendable {
    /// The name in requests: llama.cpp's in small letters, with `_mix` behind those that are names of types too.
    package let name: String
    /// The scheme of most matrices.
    package let base: String
    /// llama.cpp's number, for `general.file_type`.
    package let fileType: UInt32
    /// The scheme of the head, where its rows are whole blocks.
    private let head: String
    private let exceptions: [Exception]

    private init(
        _ name: String, of base: String, _ fileType: UInt32, head: String = "q6_k", _ exceptions: [Exception] = []
    ) {
        (self.name, self.base, self.fileType, self.exceptions) = (name, base, fileType, exceptions)
        self.head = head
    }

    /// Every mix. Of those with the same base the first stands for files whose types are no mix.
    package static let all: [GGMLMix] = [
        GGMLMix("q4_0_mix", of: "q4_0", 2, [down("q4_1", .first(8), ifWeighted: true)]),
        GGMLMix("q4_1_mix", of: "q4_1", 3),
        GGMLMix("q8_0_mix", of: "q8_0", 7, head: "q8_0"),
        GGMLMix("q5_0_mix", of: "q5_0", 8, [down("q5_1", .first(8), ifWeighted: true)]),
        GGMLMix("q5_1_mix", of: "q5_1", 9),
        GGMLMix(
            "q2_k_mix", of: "q2_k", 10, [values("q4_k", ifShared: true), values("q3_k"), down("q3_k"), output("q3_k")]),
        GGMLMix("q3_k_s", of: "q3_k", 11),
        GGMLMix(
            "q3_k_m", of: "q3_k", 12,
            [values("q5_k", .below(2)), values("q4_k"), down("q5_k", .first(16)), down("q4_k"), output("q4_k")]),
        GGMLMix("q3_k_l", of: "q3_k", 13, [values("q5_k"), down("q5_k"), output("q5_k")]),
        GGMLMix("q4_k_s", of: "q4_k", 14, [values("q5_k", .below(4)), down("q5_k", .first(8))]),
        GGMLMix("q4_k_m", of: "q4_k", 15, [values("q6_k", .spread), down("q6_k", .spread)]),
        GGMLMix("q5_k_s", of: "q5_k", 16),
        GGMLMix("q5_k_m", of: "q5_k", 17, [values("q6_k", .spread), down("q6_k", .spread)]),
        GGMLMix("q6_k_mix", of: "q6_k", 18),
        small("iq2_xxs_mix", of: "iq2_xxs", 19, raised: "q2_k"),
        small("iq2_xs_mix", of: "iq2_xs", 20, raised: "q2_k"),
        GGMLMix("q2_k_s", of: "q2_k", 21, [values("q4_k", ifShared: true), down("q4_k", .first(8))]),
        GGMLMix("iq3_s_mix", of: "iq3_s", 26, [values("q4_k", ifShared: true)]),
        GGMLMix(
            "iq3_xs", of: "iq3_s", 22,
            [values("q4_k", ifShared: true), inputs("iq3_xxs"), gates("iq3_xxs", .middle)]),
        GGMLMix(
            "iq3_xxs_mix", of: "iq3_xxs", 23, head: "q5_k",
            [
                words("iq3_s"), values("q4_k", ifShared: true), values("iq3_s", ifWeighted: false), inputs("iq2_s"),
                down("q4_k", .first(8), ifWeighted: false), down("q3_k", ifWeighted: false), output("iq3_s"),
            ]),
        GGMLMix("iq3_m", of: "iq3_s", 27, [values("q4_k"), down("q4_k", .first(8)), output("q4_k")]),
        small("iq2_m", of: "iq2_s", 29, raised: "iq3_s", [output("iq3_s")]),
        small("iq2_s_mix", of: "iq2_xs", 28, raised: "iq3_s", [output("iq3_s")]),
        GGMLMix(
            "iq4_nl_mix", of: "iq4_nl", 25,
            [values("q5_k", ifShared: true), down("q5_k", .first(8), ifWeighted: false)]),
        GGMLMix(
            "iq4_xs_mix", of: "iq4_xs", 30,
            [values("q5_k", ifShared: true), down("q5_k", .first(8), ifWeighted: false)]),
        GGMLMix("tq1_0_mix", of: "tq1_0", 36, [words("q4_k")]),
        GGMLMix("tq2_0_mix", of: "tq2_0", 37, [words("q4_k")]),
    ]

    /// A mix of types with little more than two bits.
    private static func small(
        _ name: String, of base: String, _ fileType: UInt32, raised type: String, _ exceptions: [Exception] = []
    ) -> GGMLMix {
        GGMLMix(
            name, of: base, fileType, head: "q5_k",
            [words(type), values("q4_k", ifShared: true), values(type), down(type, .first(8))] + exceptions)
    }

    // MARK: - Rules

    /// Layers of a model.
    private enum Layers {
        case all
        /// The layers before this one.
        case below(Int)
        /// One of so many parts, at the start.
        case first(Int)
        /// Without the first and the last eighth.
        case middle
        /// The first and the last eighth, and every third layer between them.
        case spread

        func contains(_ layer: Int, of count: Int) -> Bool {
            switch self {
            case .all: true
            case .below(let end): layer < end
            case .first(let parts): layer < count / parts
            case .middle: layer >= count / 8 && layer < 7 * count / 8
            case .spread: layer < count / 8 || layer >= 7 * count / 8 || (layer - count / 8) % 3 == 2
            }
        }
    }

    /// Matrices of another type. The first exception that fits decides.
    private struct Exception {
        /// Names of modules in GGUF files.
        let modules: Set<String>
        let type: String
        let layers: Layers
        /// Four or more heads read the same keys and values.
        var ifShared: Bool?
        /// The types are fitted with an importance matrix.
        var ifWeighted: Bool?

        func fits(_ module: String, _ layer: Int, _ model: Model) -> Bool {
            modules.contains(module) && layers.contains(layer, of: model.layers)
                && (ifShared ?? (model.headsPerKey >= 4)) == (model.headsPerKey >= 4)
                && (ifWeighted ?? model.isWeighted) == model.isWeighted
        }
    }

    private static let valueModules: Set<String> = ["attn_v", "attn_qkv"]

    private static func values(
        _ type: String, _ layers: Layers = .all, ifShared: Bool? = nil, ifWeighted: Bool? = nil
    ) -> Exception {
        Exception(modules: valueModules, type: type, layers: layers, ifShared: ifShared, ifWeighted: ifWeighted)
    }
    private static func inputs(_ type: String) -> Exception {
        Exception(modules: ["attn_q", "attn_k"], type: type, layers: .all)
    }
    private static func gates(_ type: String, _ layers: Layers) -> Exception {
        Exception(modules: ["ffn_gate", "ffn_up"], type: type, layers: layers)
    }
    private static func down(_ type: String, _ layers: Layers = .all, ifWeighted: Bool? = nil) -> Exception {
        Exception(modules: ["ffn_down"], type: type, layers: layers, ifWeighted: ifWeighted)
    }
    private static func output(_ type: String) -> Exception {
        Exception(modules: ["attn_output"], type: type, layers: .all)
    }
    private static func words(_ type: String) -> Exception {
        Exception(modules: ["token_embd"], type: type, layers: .all)
    }

    /// The properties of a model that the rules depend on.
    package struct Model: Sendable {
        /// The number of layers.
        let layers: Int
        /// Query heads for a head of keys and values.
        let headsPerKey: Int
        /// The word embeddings are the head too.
        let isTied: Bool
        /// llama.cpp's models "70B", with few and therefore small value matrices.
        let isLarge: Bool
        /// The types are fitted with an importance matrix.
        let isWeighted: Bool

        package init(layers: Int, headsPerKey: Int, isTied: Bool, isLarge: Bool, isWeighted: Bool) {
            (self.layers, self.headsPerKey, self.isTied) = (layers, headsPerKey, isTied)
            (self.isLarge, self.isWeighted) = (isLarge, isWeighted)
        }
    }

    /// Returns the scheme of a matrix.
    /// - Parameters:
    ///   - module: its name in GGUF files, such as `ffn_down`.
    ///   - layer: its layer; 0 outside of layers.
    ///   - columns: the length of its rows.
    package func scheme(of module: String, layer: Int, columns: Int, in model: Model) -> String {
        GGMLFormat.fitting(wanted(module, layer, columns, model), columns: columns)
    }

    private func wanted(_ module: String, _ layer: Int, _ columns: Int, _ model: Model) -> String {
        if module == "output" || model.isTied && module == "token_embd" {
            return GGMLFormat.fits(base, columns: columns) ? head : "q8_0"
        }
        let type = exceptions.first { $0.fits(module, layer, model) }?.type ?? base
        let isRaised = model.isLarge && Self.valueModules.contains(module) && ["q3_k", "q4_k"].contains(type)
        return isRaised ? "q5_k" : type
    }

    // MARK: - Requests

    /// Reads a request such as `q4_k_m`, with the options of its types after a colon.
    /// - Returns: nil if it does not start with the name of a mix.
    /// - Throws: `RequestError` for an option that the mix's base does not have.
    static func parsing(_ request: String) throws -> (mix: GGMLMix, base: any WeightCodec)? {
        let name = request.prefix { $0 != ":" }
        guard let mix = all.first(where: { $0.name == name }) else { return nil }
        return (mix, try Codecs.codec(mix.base + request.dropFirst(name.count)))
    }

    /// Returns the codec of a scheme, with those options of the mix's base that it has too.
    package func codec(_ scheme: String, like base: any WeightCodec) throws -> any WeightCodec {
        if scheme == self.base { return base }
        let plain = try Codecs.codec(scheme)
        let shared = plain.values.options.filter { option in
            !option.isFilledIn
                && base.values.options.contains {
                    $0.name == option.name && option.allowed.contains(base.values[$0.name])
                }
        }
        return try Codecs.codec(shared.reduce(plain.values) { $0.replacing($1.name, by: base.values[$1.name]) })
    }
}

extension GGMLFormat {
    /// Whether rows of this length are whole blocks of a scheme.
    package static func fits(_ scheme: String, columns: Int) -> Bool {
        let block =
            all.first { $0.name == scheme }?.elements ?? (scheme == MXFP4Codec.name ? MXFP4Codec.block : 1)
        return columns % block == 0
    }

    /// Returns the scheme, or the one that llama.cpp takes instead if rows of this length are not whole blocks.
    package static func fitting(_ scheme: String, columns: Int) -> String {
        guard !fits(scheme, columns: columns) else { return scheme }
        let other =
            scheme.hasPrefix("iq")
            ? "iq4_nl" : ["q4_k": "q5_0", "q5_k": "q5_1", "q6_k": "q8_0"][scheme] ?? "q4_0"
        return fits(other, columns: columns) ? other : "float16"
    }
}

extension Recipe {
    /// The recipe of a request such as `--compress`: a scheme for all weights, or a mix of ggml's types.
    /// - Throws: `RequestError` for an unknown scheme or option.
    package init(scheme: String) throws {
        guard let (mix, base) = try GGMLMix.parsing(scheme) else {
            self.init(default: try Codecs.codec(scheme))
            return
        }
        self.init(default: base)
        self.mix = mix
    }
}
