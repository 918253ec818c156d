public import ByteIO
public import Tensors

/// A weight in its stored form.
public struct CompressedTensor: Sendable {
    /// The checkpoint's name for it.
    public let name: String
    /// The element type in the checkpoint.
    public let elementType: ElementType
    public let shape: Shape
    public let codec: any WeightCodec
    /// As `codec.sections(elementType:shape:)` lays them out.
    public let sections: [ByteView]

    /// - Throws: `FormatError` when the sections are not those of the codec for this shape.
    public init(name: String, elementType: ElementType, shape: Shape, codec: any WeightCodec, sections: [ByteView], file: String) throws {
        fatalError("helper")
    }

    /// Compresses `source` on up to `threads` threads; the bytes do not depend on how many.
    public static func compressing(_ source: StoredTensor, with codec: any WeightCodec, threads: Int) throws -> (tensor: CompressedTensor, distortion: Distortion) {
        fatalError("helper")
    }

    /// Decoded as float32, row-major.
    public func floats() -> [Float] { fatalError("helper") }
    public var byteCount: Int { sections.reduce(0) { $0 + $1.count } }
    /// Bits a weight, tables included.
    public var bitsPerWeight: Double { shape.count == 0 ? 0 : Double(byteCount * 8) / Double(shape.count) }
}
