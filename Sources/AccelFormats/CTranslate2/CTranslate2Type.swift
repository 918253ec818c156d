import AccelTensors

/// A type of CTranslate2 models, by its name in CTranslate2's converters: how weights and all other tensors are stored.
struct CTranslate2Type: Sendable {
    /// The integers that stand for the weights of linear layers, convolutions and embeddings.
    enum Codes: Sendable {
        /// None: weights are floats.
        case none
        /// 8 bits, with a factor for each row.
        case int8
        /// 16 bits, of which 11 are used, with a factor for each matrix.
        case int16
    }

    let name: String
    var codes = Codes.none
    /// The element type of all floats; nil for the type in which the model is loaded.
    var floats: ElementType?
    /// The type in which CTranslate2's converter loads the model, whatever `config.json` says; nil for that type.
    var loaded: ElementType?

    /// The types of `ct2-transformers-converter --quantization`.
    static let all = [
        CTranslate2Type(name: "float32", floats: .float32),
        CTranslate2Type(name: "float16", floats: .float16, loaded: .float16),
        CTranslate2Type(name: "bfloat16", floats: .bfloat16),
        CTranslate2Type(name: "int8", codes: .int8),
        CTranslate2Type(name: "int8_float32", codes: .int8, floats: .float32),
        CTranslate2Type(name: "int8_float16", codes: .int8, floats: .float16, loaded: .float16),
        CTranslate2Type(name: "int8_bfloat16", codes: .int8, floats: .bfloat16),
        CTranslate2Type(name: "int16", codes: .int16, floats: .float32),
    ]

    /// The type of a model that is left as it is loaded: the converter's result without `--quantization`.
    static let stored = CTranslate2Type(name: "own")

    /// Returns the type of a name; `stored` for any other.
    static func named(_ name: String) -> CTranslate2Type { all.first { $0.name == name } ?? stored }

    /// The name of the nearest type for weights of a codec that CTranslate2 does not have.
    /// - Parameter isFloat: the codec stores floats, such as those that are not zero.
    static func nearest(isFloat: Bool) -> String { isFloat ? "float16" : "int8" }
}

extension ElementType {
    /// The number that stands for the type in a model file; nil for a type that CTranslate2 does not have.
    var ctranslate2Code: UInt8? {
        switch self {
        case .float32: 0
        case .int8: 1
        case .int16: 2
        case .int32: 3
        case .float16: 4
        case .bfloat16: 5
        default: nil
        }
    }

    /// The type of a number in a model file; nil for an unknown number.
    init?(ctranslate2Code code: UInt8) {
        let types: [ElementType] = [.float32, .int8, .int16, .int32, .float16, .bfloat16]
        guard types.indices.contains(Int(code)) else { return nil }
        self = types[Int(code)]
    }
}
