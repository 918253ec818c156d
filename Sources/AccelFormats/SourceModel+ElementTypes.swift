import AccelByteIO
import AccelPrograms
package import AccelTensors
import AccelWeightCompression

extension SourceModel {
    /// The element types of the programs' weights, by name.
    package var weightTypes: [String: ElementType] {
        let weights = programs.flatMap(\.constants).filter(\.isWeight)
        return Dictionary(weights.compactMap { constant in constant.tensor.map { (constant.name, $0.elementType) } }) {
            first, _ in first
        }
    }

    /// Returns the model with the element types of another one, of which its files are an export, as a package has them: numbers of 16
    /// bits, and float32 that 16 bits hold, are encodings of the other type in these bits.
    /// - Throws: `RequestError` if the decoded weights need more memory than the machine has.
    package func stating(_ types: [String: ElementType]) throws -> SourceModel {
        var (stated, encoded) = ([String: StoredTensor](), encoded)
        let weights = programs.flatMap(\.constants).filter(\.isWeight).compactMap(\.tensor)
            .filter { encoded[$0.name] == nil && types[$0.name]?.isFloatingPoint == true }
        try MachineMemory.require(
            MachineMemory.sum(weights.filter { $0.elementType != types[$0.name] }.map { $0.shape.count * 4 }),
            for: "the decoded weights of the export")
        for tensor in weights where stated[tensor.name] == nil && encoded[tensor.name] == nil {
            guard let type = types[tensor.name], Self.codec(of: type) != nil, Self.codec(of: tensor.elementType) != nil
            else {
                continue
            }
            if tensor.elementType != .float32 {
                guard type != tensor.elementType else { continue }
                encoded[tensor.name] = try Self.encoding(of: tensor, in: tensor.elementType, as: type)
            } else if let half = Self.halves.first(where: { Self.holds(tensor, in: $0) }) {
                encoded[tensor.name] = try Self.encoding(of: tensor, in: half, as: type)
            }
            guard type != tensor.elementType, encoded[tensor.name] != nil else { continue }
            stated[tensor.name] = StoredTensor(
                name: tensor.name, elementType: type, shape: tensor.shape,
                bytes: try Self.encoding(of: tensor, in: type, as: type).sections[0], file: tensor.file)
        }
        return try replacing(stated, encoded: encoded)
    }

    private static let halves: [ElementType] = [.bfloat16, .float16]

    /// Returns whether elements of a type hold all values of a tensor.
    private static func holds(_ tensor: StoredTensor, in type: ElementType) -> Bool {
        (try? encoding(of: tensor, in: type, as: .float32))?.floats() == tensor.floats()
    }

    /// Returns a tensor in elements of `stored`, of a weight with elements of `type`.
    private static func encoding(
        of tensor: StoredTensor, in stored: ElementType, as type: ElementType
    ) throws -> CompressedTensor {
        guard let codec = codec(of: stored) else { throw tensor.error("has elements that no codec stores") }
        return try CompressedTensor.compressing(tensor, with: codec, threads: 1).tensor.stated(as: type)
    }

    /// Returns the codec that stores numbers of a type as they are; nil for types that are no codec's.
    private static func codec(of type: ElementType) -> (any WeightCodec)? {
        let names: [ElementType: String] = [.float32: "float32", .float16: "float16", .bfloat16: "bfloat16"]
        return names[type].flatMap { try? Codecs.codec($0) }
    }
}
