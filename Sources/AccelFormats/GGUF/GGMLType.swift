import AccelTensors
import AccelWeightCompression

/// A type of tensors in GGUF files. Rows consist of whole blocks.
struct GGMLType: Equatable, Sendable {
    /// The elements or codec as which accelc reads a tensor of the type.
    enum Storage: Equatable, Sendable {
        case plain(ElementType)
        /// Weights that the codec of this name encodes to the same bytes, or to the same codes and scales in another order.
        case codec(String)
        /// Not read; its size is known, so that the file can be checked.
        case unread
    }

    /// The number in files.
    let id: UInt32
    /// The name in llama.cpp.
    let name: String
    /// Weights of a block.
    let elements: Int
    /// Bytes of a block.
    let bytes: Int
    let storage: Storage

    private init(_ id: UInt32, _ name: String, _ elements: Int, _ bytes: Int, _ storage: Storage = .unread) {
        (self.id, self.name, self.elements, self.bytes, self.storage) = (id, name, elements, bytes, storage)
    }

    private init(_ id: UInt32, _ name: String, _ type: ElementType) {
        self.init(id, name, 1, type.byteCount, .plain(type))
    }

    /// A type whose blocks a codec writes; the codec's name is that of the type in small letters.
    private init(_ format: GGMLFormat) {
        self.init(format.number, format.name.uppercased(), format.elements, format.bytes, .codec(format.name))
    }

    /// Every type that files may have. Numbers that are missing were given up.
    static let all: [GGMLType] =
        [
            GGMLType(0, "F32", .float32), GGMLType(1, "F16", .float16), GGMLType(30, "BF16", .bfloat16),
            GGMLType(28, "F64", .float64), GGMLType(24, "I8", .int8), GGMLType(25, "I16", .int16),
            GGMLType(26, "I32", .int32), GGMLType(27, "I64", .int64),
        ] + GGMLFormat.all.map { GGMLType($0) }
        + [
            GGMLType(9, "Q8_1", 32, 36), GGMLType(15, "Q8_K", 256, 292), GGMLType(19, "IQ1_S", 256, 50),
            GGMLType(29, "IQ1_M", 256, 56),
            GGMLType(39, "MXFP4", 32, 17, .codec(MXFP4Codec.name)), GGMLType(40, "NVFP4", 64, 36),
        ]

    private static let numbered = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })

    /// Returns the type of a number in files; nil for an unknown one.
    static func numbered(_ id: UInt32) -> GGMLType? { numbered[id] }
    /// Returns the type of plain elements; nil if there is none.
    static func plain(_ type: ElementType) -> GGMLType? { all.first { $0.storage == .plain(type) } }
    /// Returns the type that has a codec's weights as they are: its own type, or one that its codes and scales fit. Nil if there is
    /// none.
    static func holding(_ codec: any WeightCodec, _ shape: Shape) -> GGMLType? {
        coded(by: codec) ?? GGMLRepacking(of: codec, shape)?.type
    }

    /// Returns the type whose blocks a codec writes; nil if there is none.
    static func coded(by codec: any WeightCodec) -> GGMLType? { all.first { $0.storage == .codec(codec.name) } }

    /// Returns the type of this name; nil if there is none.
    static func named(_ name: String) -> GGMLType? { all.first { $0.name == name } }

    static let float32 = GGMLType(0, "F32", .float32)
    static let float16 = GGMLType(1, "F16", .float16)

    /// Returns the bytes of a tensor; nil if its rows are not whole blocks, or the number overflows.
    func byteCount(_ shape: Shape) -> Int? {
        guard (shape.dimensions.last ?? 1) % elements == 0, let count = shape.checkedCount else { return nil }
        let (total, overflow) = (count / elements).multipliedReportingOverflow(by: bytes)
        return overflow ? nil : total
    }
}
