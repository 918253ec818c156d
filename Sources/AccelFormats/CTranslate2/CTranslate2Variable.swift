import AccelByteIO
import AccelTensors

/// A variable of a CTranslate2 model, before its type is chosen.
struct CTranslate2Variable: Sendable {
    /// A run of elements of a tensor, or of zeros.
    struct Part: Sendable {
        /// The tensor; nil for zeros.
        let tensor: StoredTensor?
        /// The elements in row-major order.
        let elements: Range<Int>
    }
    enum Content: Sendable {
        case scalar(CTranslate2Scalar)
        /// Parts one after the other.
        case tensor([Part])
    }

    /// e.g. `decoder/layer_0/ffn/linear_0/weight`
    let name: String
    let shape: Shape
    let content: Content

    init(_ name: String, _ scalar: CTranslate2Scalar) {
        (self.name, shape, content) = (name, [], .scalar(scalar))
    }

    init(_ name: String, _ shape: Shape, _ parts: [Part]) {
        (self.name, self.shape, content) = (name, shape, .tensor(parts))
    }

    /// Whether integers may stand for the elements: the weight of a linear layer, a convolution or an embedding.
    var isWeight: Bool { name.hasSuffix("/weight") }
    /// Whether the variable was computed, so that it does not have the type of the loaded model.
    var isComputed: Bool { Self.computed.contains(name.split(separator: "/").last.map(String.init) ?? "") }
    /// The names of computed variables, which CTranslate2 does not replace by an equal one.
    private static let computed: Set<String> = ["rotary_scaling_long_factor", "rotary_scaling_short_factor"]

    var parts: [Part] {
        if case .tensor(let parts) = content { parts } else { [] }
    }

    /// Returns an error about an element, in the file of the model.
    /// - Parameter quantization: the types of models that hold the values.
    func error(_ reason: String, index: Int? = nil, quantization: [String] = []) -> FormatError {
        let file = parts.compactMap { $0.tensor?.file }.first ?? "memory"
        return FormatError(
            file: file, location: .tensor(name, index: index), reason: reason,
            code: quantization.isEmpty ? nil : .unsupportedByFormat,
            candidates: quantization.map(CTranslate2Exporter.quantization.candidate))
    }
}

/// A number of a CTranslate2 model.
enum CTranslate2Scalar: Sendable {
    case int8(Int8)
    case int16(Int16)
    case int32(Int32)
    case float32(Float)

    static func flag(_ isSet: Bool) -> CTranslate2Scalar { .int8(isSet ? 1 : 0) }

    var elementType: ElementType {
        switch self {
        case .int8: .int8
        case .int16: .int16
        case .int32: .int32
        case .float32: .float32
        }
    }

    var bytes: ByteView {
        switch self {
        case .int8(let number): ByteView([number])
        case .int16(let number): ByteView([number.littleEndian])
        case .int32(let number): ByteView([number.littleEndian])
        case .float32(let number): ByteView([number.bitPattern.littleEndian])
        }
    }
}
